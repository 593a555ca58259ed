"""The data files as they ship: every row makes sense, and none contradicts another."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.metrics import default
from sentinel.metrics.keys import KeyRow
from sentinel.metrics.metric import AGGREGATIONS, LAYERS, STAGES
from sentinel.metrics.placeholders import fill, pattern
from sentinel.metrics.table import parse_table

DICTIONARY = default()
ROWS = [(source, row) for source in DICTIONARY.sources for row in DICTIONARY.table(source).rows]
PART = re.compile(r"<([a-z_]+)>")


def bare(row: KeyRow) -> str:
    assert row.name is not None
    return row.name.partition("{")[0]


def example(text: str) -> str:
    """A text with its placeholders filled as a trainer might."""
    return PART.sub(lambda match: f"x{match[1]}", text)


def where(source: str, row: KeyRow) -> str:
    return f"{source}: {row.key} → {row.name}"


def test_canonical_names_are_written_in_one_manner() -> None:
    manner = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*")
    assert [name for name in DICTIONARY.metrics if not manner.fullmatch(PART.sub("x", name))] == []


@pytest.mark.parametrize(
    ("column", "words"),
    [("layer", LAYERS), ("stage", STAGES), ("better", ("higher", "lower", "-")), ("aggregation", AGGREGATIONS)],
)
def test_closed_columns_hold_their_words_only(column: str, words: tuple[str, ...]) -> None:
    assert {getattr(info, column) for info in DICTIONARY.metrics.values()} <= set(words)


def test_fractions_are_0_to_1_and_percents_are_0_to_100() -> None:
    for info in DICTIONARY.metrics.values():
        if info.unit == "fraction":
            assert info.range == "0..1", info.name
        if info.unit == "percent" and info.name != "filter.pass_pct":
            assert info.range == "0..100", info.name
        if info.name.endswith("_frac"):
            assert info.unit == "fraction", info.name
        if info.name.endswith("_pct"):
            assert info.unit == "percent", info.name


def test_a_unit_in_a_name_is_the_unit() -> None:
    units = {"_bytes": "bytes", "_mib": "MiB", "_gib": "GiB", "_gb": "GB", "_mb": "MB", "_mw": "mW", "_w": "W"}
    for info in DICTIONARY.metrics.values():
        for ending, unit in units.items():
            if info.name.endswith(ending):
                assert info.unit == unit, info.name


def test_every_row_leads_to_a_described_metric() -> None:
    missing = [where(*one) for one in ROWS if one[1].name and DICTIONARY.describe(example(bare(one[1]))) is None]
    assert missing == []


def test_what_a_name_takes_from_its_key_is_in_the_key() -> None:
    for source, row in ROWS:
        assert set(PART.findall(row.name or "")) <= set(PART.findall(row.key)), where(source, row)


def test_a_row_without_a_name_says_why() -> None:
    assert [where(*one) for one in ROWS if one[1].name is None and not one[1].note] == []


def test_every_key_is_found_by_itself() -> None:
    for source, row in ROWS:
        found = DICTIONARY.table(source).candidates(example(row.key))
        assert row in [one.row for one in found], where(source, row)


def test_keys_carry_no_prefix_that_an_export_adds() -> None:
    for source, row in ROWS:
        assert not row.key.startswith(DICTIONARY.table(source).prefixes or ("\0",)), where(source, row)


def test_conditions_speak_of_keys_that_the_trainer_writes() -> None:
    for source, row in ROWS:
        for term in row.when:
            if not term.startswith("config."):
                assert DICTIONARY.table(source).knows(term.removeprefix("!")), where(source, row)


def test_a_row_that_can_never_be_reached_does_not_exist() -> None:
    for source in DICTIONARY.sources:
        seen: set[tuple[object, ...]] = set()
        for row in DICTIONARY.table(source).rows:
            same = (row.key, row.name, row.versions, row.when, row.algorithm, row.estimator, row.aggregation)
            assert same not in seen, where(source, row)
            seen.add(same)


def test_two_keys_for_one_name_have_an_order_and_a_reason() -> None:
    unexplained = []
    for source in DICTIONARY.sources:
        rows = [row for row in DICTIONARY.table(source).rows if row.name is not None]
        for first, second in itertools.combinations(rows, 2):
            if first.name != second.name or first.key == second.key or first.when != second.when:
                continue
            algorithms = [set(one.algorithm.split(", ")) for one in (first, second) if one.algorithm is not None]
            if len(algorithms) == 2 and not algorithms[0] & algorithms[1]:
                continue
            if first.versions.meet(second.versions) is None:
                continue
            if not any("after " in (one.note or "")[:6] for one in (first, second)):
                unexplained.append(f"{source}: {first.key} and {second.key} → {first.name}")
    assert unexplained == []


def test_a_row_that_comes_after_another_names_it() -> None:
    for source, row in ROWS:
        if (row.note or "").startswith("after "):
            other = re.match(r"after (.+?): .", row.note or "")
            assert other is not None, where(source, row)
            assert DICTIONARY.table(source).knows(example(other[1])), where(source, row)


def test_a_kl_says_its_estimator_and_the_other_policy_of_its_name() -> None:
    others = {"kl.ref": "ref", "kl.old": "old", "kl.step": "old", "kl.rollout": "rollout", "kl.teacher": "teacher"}
    for source, row in ROWS:
        if row.name is None or not bare(row).startswith(tuple(others)):
            continue
        stem = next(stem for stem in others if bare(row).startswith(stem))
        assert row.estimator is not None, where(source, row)
        assert others[stem] in row.estimator.rpartition("/")[2], where(source, row)
        if bare(row).endswith(".k1"):
            assert "k1" in row.estimator, where(source, row)


def test_rows_are_aggregated_in_known_ways() -> None:
    assert {row.aggregation or "-" for _, row in ROWS} <= set(AGGREGATIONS)


def test_derived_metrics_and_their_parts_are_described() -> None:
    for derivation in DICTIONARY.all_derivations():
        for name in (derivation.name, *derivation.needs):
            assert name in DICTIONARY.metrics, derivation


def test_every_metric_can_be_logged_or_derived() -> None:
    names = {bare(row) for _, row in ROWS if row.name is not None}
    derived = {derivation.name for derivation in DICTIONARY.all_derivations()}
    for name in DICTIONARY.metrics:
        filled = example(name)
        assert name in derived or any(pattern(one, r".+").fullmatch(filled) for one in names), name


@pytest.mark.parametrize("text", ["", "a\tb\n", "a\tb\nx\n", "a\tb\nx\ty\tz\n", "a\tb\nx\t\n", "b\ta\n1\t2\n"])
def test_a_table_that_is_not_as_its_format_says_is_refused(text: str) -> None:
    if text == "a\tb\n":
        assert parse_table(text, "t", ("a", "b")) == []
        return
    with pytest.raises(ValueError, match="t"):
        parse_table(text, "t", ("a", "b"))


def test_comments_and_empty_lines_say_nothing() -> None:
    assert parse_table("# c\n\na\tb\n\n1\t2\n# c\n", "t", ("a", "b")) == [["1", "2"]]


@given(st.text(max_size=40))
def test_a_filled_name_can_be_written_in_a_rule(value: str) -> None:
    filled = fill("reward.component.<name>", {"name": value})
    assert filled is None or re.fullmatch(r"reward\.component(\.[A-Za-z0-9_]+)+", filled)


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_pattern_gives_back_what_was_put_in(first: str, second: str) -> None:
    if not first or not second or "/" in first + second:
        return
    match = pattern("a/<x>/b/<y>").fullmatch(f"a/{first}/b/{second}")
    assert match is not None
    assert match.groupdict() == {"x": first, "y": second}
