"""The paragraph on rules that could say nothing of replayed runs."""

from __future__ import annotations

import json

from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sentinel.cli.main import main
from sentinel.cli.speechless import MOST_LINES, text_of_speechless
from sentinel.metrics import default
from sentinel.resources import DEFAULT_PACKS, read_sources, recording_path
from sentinel.rules.loader import load_rules
from sentinel.rules.model import RuleSet

DEFAULT_RULES = load_rules(read_sources(DEFAULT_PACKS))


def rules_of(**files: str) -> RuleSet:
    """Rule files by name, each with the names of its rules."""
    sources = [
        (
            f"{file}.yaml",
            "rules:\n"
            + "".join(f"  - {{alert: {name}, symptom: kl-high, warning: kl.ref > 1}}\n" for name in names.split()),
        )
        for file, names in files.items()
    ]
    return load_rules([(path, text.encode()) for path, text in sources])


def told(rules: RuleSet, *runs: dict[str, list[str]], width: int = 100) -> list[str]:
    return text_of_speechless({f"run-{at}": lacks for at, lacks in enumerate(runs)}, rules, default(), width=width)


def test_nothing_is_said_where_every_rule_can_speak() -> None:
    assert told(rules_of(one="a b"), {}, {}) == []


def test_what_is_missing_is_said_with_the_rules_that_miss_it() -> None:
    lacks = {"a": ["gpu.util"], "b": ["kl.ref"], "c": ["kl.ref"], "d": ["entropy", "a reference run"]}
    assert told(rules_of(one="a b", two="c d e"), lacks) == [
        "4 of 5 rules can say nothing of this run, for want of",
        "  one.yaml: kl.ref (b), gpu.util (a)",
        "  two.yaml: kl.ref (c), entropy and a reference run (d)",
    ]


def test_in_how_many_runs_is_said_where_it_is_not_all() -> None:
    rules = rules_of(one="a b")
    assert told(rules, {"a": ["kl.ref"]}, {"a": ["kl.ref"]})[0] == (
        "1 of 2 rules can say nothing of these 2 runs, for want of"
    )
    assert told(rules, {"a": ["kl.ref"], "b": ["kl.ref"]}, {"a": ["kl.ref"]}, {"a": ["entropy"]}) == [
        "2 of 2 rules can say nothing of some of these 3 runs, for want of",
        "  one.yaml: kl.ref (a in 2 of 3 runs, b in 1 of 3 runs), entropy (a in 1 of 3 runs)",
    ]


def test_what_does_not_fit_is_counted() -> None:
    names = [f"rule-{number}" for number in range(60)]
    lines = told(rules_of(one=" ".join(names), two="b"), {name: [f"metric_{name}"] for name in [*names, "b"]}, width=60)
    assert lines[0] == "61 of 61 rules can say nothing of this run (--output json lists all), for want of"
    assert len(lines) == MOST_LINES
    assert lines[-2].endswith("more rules")
    assert lines[-1] == "  two.yaml: metric_b (b)"


def test_files_that_come_first_are_told_where_there_are_many() -> None:
    rules = rules_of(**{f"file{at}": f"a{at}" for at in range(9)})
    lines = told(rules, {rule.name: ["kl.ref"] for rule in rules})
    assert lines[0] == "9 of 9 rules can say nothing of this run (--output json lists all), for want of"
    assert lines[1:] == [f"  file{at}.yaml: kl.ref (a{at})" for at in range(5)]


@given(lacking=st.sets(st.sampled_from([rule.name for rule in DEFAULT_RULES])), width=st.integers(60, 200))
def test_it_stays_short_and_every_rule_is_named_or_counted(lacking: set[str], width: int) -> None:
    lines = told(DEFAULT_RULES, {name: ["loss.value"] for name in lacking}, width=width)
    assert len(lines) <= MOST_LINES
    assert all(len(line) <= width for line in lines[1:])
    assert bool(lines) == bool(lacking)
    if lines and "--output json" not in lines[0]:
        assert all(name in " ".join(lines) for name in lacking)


def test_the_json_has_all_that_the_text_counts() -> None:
    recording = str(recording_path("grpo-collapse.jsonl"))
    text = CliRunner().invoke(main, ["replay", recording]).stdout.splitlines()
    last = CliRunner().invoke(main, ["replay", recording, "--output", "json"]).stdout.splitlines()[-1]
    (lacks,) = json.loads(last)["summary"]["not_evaluable"].values()
    (heading,) = [line for line in text if " can say nothing of this run" in line]
    assert heading.startswith(f"{len(lacks)} of {len(DEFAULT_RULES)} rules")
    assert any(line.startswith("  rules/grpo.yaml: kl.ref (kl-high") for line in text)
