"""Rules that ask about rules which there are not."""

from sentinel.rules.loader import load_rules, read_rules

ONE = """\
rules:
  - alert: kl-high
    symptom: kl-high
    warning: kl.ref > 0.1
"""

ASKS = """\
rules:
  - alert: asks
    symptom: kl-high
    warning: firing(kl-hihg) and pending(entropy-low, critical)
    until: "not firing(kl-high)"
"""


def told(*texts):
    reading = read_rules([(f"{index}.yaml", text) for index, text in enumerate(texts)])
    return [(problem.place, problem.code, problem.message, problem.hint) for problem in reading.problems]


def test_each_unknown_name_is_told_at_its_place_with_the_nearest():
    assert told(ASKS, ONE) == [
        ("0.yaml:4:21", "unknown-alert", "there is no rule 'kl-hihg'", "did you mean 'kl-high'?"),
        (
            "0.yaml:4:42",
            "unknown-alert",
            "there is no rule 'entropy-low'",
            "name a rule of the files that are in force together",
        ),
    ]


def test_a_rule_of_a_later_file_and_the_rule_itself_are_known():
    text = ONE.replace("kl-high", "early", 1).replace("kl.ref > 0.1", "firing(late) or firing(early)")
    assert len(load_rules([("a.yaml", text), ("b.yaml", ONE.replace("alert: kl-high", "alert: late"))])) == 2


def test_a_rule_with_a_fault_of_its_own_is_known_by_name():
    broken = ONE.replace("kl.ref > 0.1", "kl.ref >")
    assert [
        code for _, code, _, _ in told(ASKS.replace("kl-hihg", "kl-high").replace("entropy-low", "asks"), broken)
    ] == ["syntax"]


def test_problems_of_several_files_stay_in_file_order():
    places = [place for place, *_ in told(ASKS, ONE.replace("kl.ref > 0.1", "kl.rfe > 0.1"))]
    assert places == ["0.yaml:4:21", "0.yaml:4:42", "1.yaml:4:14"]
