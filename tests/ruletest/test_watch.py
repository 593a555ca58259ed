"""Who looks on changes nothing: a test that is watched comes out as one that is not."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sentinel.resources import TEST_SUFFIX, pack_path
from sentinel.rules.loader import load_rules
from sentinel.ruletest import Coverage, Stage, parse_series, play, read_tests
from sentinel.ruletest.performance import perform
from sentinel.ruletest.script import RUN
from sentinel.ruletest.series import length
from sentinel.ruletest.watch import look

RULES = load_rules(
    [
        (
            "x.yaml",
            """\
rules:
  - alert: mean
    symptom: kl-high
    warning: mean(kl.ref, 3 steps) > 0.4 or median(kl.ref, 5 samples) > 0.3
    critical: max(kl.ref, 4 steps) > 0.8
    for: 2 steps
    until: mean(kl.ref, 2 steps) < 0.2
  - alert: change
    symptom: reward-drop
    warning: drop(reward.mean, 4 steps) > 50%
  - alert: silence
    symptom: missing-signal
    warning: age(kl.ref) > 1m or absent(reward.mean, 3 steps)
  - alert: broken
    symptom: nonfinite
    critical: nonfinite(*)
""",
        )
    ]
)

ITEM = st.sampled_from(["0.1x3", "0.6x4", "0.9", "0.2~0.1x5", "NaN", "null", "_x4"])
SERIES = st.lists(ITEM, min_size=3, max_size=12)


def look_at_all(played, now):
    if played.engine.runs[RUN].compiled is None:
        return
    for rule in RULES:
        look(played.engine, rule.name, {}, played.resolved, now=now)


@settings(max_examples=40)
@given(SERIES, SERIES, st.booleans())
def test_a_test_that_is_watched_comes_out_the_same(kl, reward, timed):
    text = "tests:\n  - name: a\n    steps: 1..60\n"
    text += "    seconds_per_step: 20\n" if timed else ""
    text += f"    series: {{kl.ref: {padded(kl)}, reward.mean: {padded(reward)}}}\n"
    file = read_tests("x", text)
    stage = Stage(file, RULES)
    plain = perform(file.tests[0], stage)
    watched = perform(file.tests[0], stage, [look_at_all, Coverage(RULES).begin(file.tests[0])])
    assert plain.changes() == watched.changes()
    assert [firing.resolved_at for firing in plain.firings] == [firing.resolved_at for firing in watched.firings]


def padded(items):
    text = " ".join(items)
    left = 60 - length(parse_series(text))
    return f"{text} 0.1x{left}" if left else text


def test_a_pack_that_is_watched_comes_out_the_same():
    path = pack_path("classic")
    file = read_tests("classic", path.with_name("classic" + TEST_SUFFIX).read_bytes())
    rules = load_rules([("classic.yaml", path.read_bytes())])
    stage, coverage = Stage(file, rules), Coverage(rules)
    for index in range(len(file.tests)):
        plain, watched = play(file, index, rules), play(file, index, rules, stage=stage, coverage=coverage)
        assert (plain.outcome, plain.changes) == (watched.outcome, watched.changes)
    assert all(found.fired and found.silent for found in coverage.rules)
