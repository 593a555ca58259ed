"""YAML with positions: what is understood, what is refused, and where the caret stands."""

from __future__ import annotations

import math
from typing import Annotated

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sentinel.documents import (
    MAX_BYTES,
    Document,
    DocumentError,
    Place,
    fields_at,
    problems_from_pydantic,
    read_document,
)
from sentinel.errors import Problem


def faults(text: bytes | str) -> list[Problem]:
    with pytest.raises(DocumentError) as caught:
        read_document(text, "x.yaml")
    return caught.value.problems


def fault(text: bytes | str) -> Problem:
    (problem,) = faults(text)
    return problem


def marked(place: Place) -> str:
    """What the carets stand under."""
    return place.excerpt[place.column - 1 : place.column - 1 + place.width]


def test_scalars_follow_the_core_schema_of_yaml_1_2() -> None:
    text = (
        "a: true\nb: False\nc: on\nd: yes\ne: off\nf: No\ng: 12\nh: -0.5\ni: 1e3\nj: .inf\nk: ~\nl:\n"
        "m: 0x10\nn: 0o17\no: '12'\np: \"true\"\nq: 1_000\nr: 12:30:00\ns: 2026-01-01\nt: 0755\n"
    )
    assert read_document(text, "x").value == {
        "a": True,
        "b": False,
        "c": "on",
        "d": "yes",
        "e": "off",
        "f": "No",
        "g": 12,
        "h": -0.5,
        "i": 1000.0,
        "j": math.inf,
        "k": None,
        "l": None,
        "m": 16,
        "n": 15,
        "o": "12",
        "p": "true",
        "q": "1_000",
        "r": "12:30:00",
        "s": "2026-01-01",
        "t": 755,
    }
    assert math.isnan(read_document("x: .nan", "x").value["x"])
    assert read_document("x: -.inf", "x").value["x"] == -math.inf


def test_keys_are_texts_whatever_they_look_like() -> None:
    assert read_document("on: 1\n5: 2\ntrue: 3\n", "x").value == {"on": 1, "5": 2, "true": 3}


def test_an_empty_file_is_nothing() -> None:
    assert read_document("", "x").value is None
    assert read_document("# only a comment\n", "x").value is None


def test_a_byte_order_mark_is_passed_over() -> None:
    document = read_document(b"\xef\xbb\xbfa: b\n", "x")
    assert document.value == {"a": "b"}
    assert document.place(("a",)).column == 4


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("a: 1\nb: 2\na: 3\n", "duplicate-key", 3, 1),
        ("a: &x 1\n", "yaml-anchor", 1, 4),
        ("a: *x\n", "yaml-alias", 1, 4),
        ("a:\n  <<: {b: 1}\n", "yaml-merge", 2, 3),
        ("a: !!python/object/apply:os.system ['id']\n", "yaml-tag", 1, 4),
        ("a: !mine 5\n", "yaml-tag", 1, 4),
        ("a: !!str 5\n", "yaml-tag", 1, 4),
        ("[a]: 1\n", "bad-key", 1, 1),
        ("? {a: 1}\n: 2\n", "bad-key", 1, 3),
        ("?\n: 1\n", "bad-key", 1, 2),
        ("a: 1\n---\nb: 2\n", "second-document", 2, 1),
        ("a:\n\t- b\n", "yaml-syntax", 2, 1),
        ("a: 'x\nb: 1\n", "yaml-syntax", 1, 4),
        ("a: b: c\n", "yaml-syntax", 1, 5),
        ("a: `kl` > 5\n", "yaml-syntax", 1, 4),
        ("- a\nb: 1\n", "yaml-syntax", 2, 1),
        ("a: }\n", "yaml-syntax", 1, 4),
        ("a: \x07\n", "yaml-syntax", 1, 4),
        ('a: "\\q"\n', "yaml-syntax", 1, 4),
    ],
)
def test_what_can_surprise_is_refused_with_its_place(text: str, code: str, line: int, column: int) -> None:
    problem = fault(text)
    assert (problem.code, problem.line) == (code, line)
    # The two parsers differ by a character in where they see an escape that is none.
    assert abs(problem.column - column) <= (1 if "\\" in text else 0)
    assert problem.path == "x.yaml"
    assert problem.message


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
def test_both_parsers_say_the_same(loader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(yaml, loader):
        pytest.skip("PyYAML without libyaml")
    monkeypatch.setattr("sentinel.documents._Loader", getattr(yaml, loader))
    document = read_document("é🙂: [1, 'it''s', {k: \"\\u00e9 x\"}]\nlong: |\n  one\n   two\n", "x")
    assert document.value == {"é🙂": [1, "it's", {"k": "é x"}], "long": "one\n two\n"}
    assert marked(document.place_in(("é🙂", 1), 3, 4)) == "s"
    assert marked(document.place_in(("é🙂", 2, "k"), 2, 3)) == "x"
    assert marked(document.place(("é🙂", 2), key=False)).startswith("{k")
    assert [(p.code, p.line, p.column) for p in faults("a:\n\t- b\n")] == [("yaml-syntax", 2, 1)]
    assert [(p.code, p.line, p.column) for p in faults("é: 'x")] == [("yaml-syntax", 1, 4)]


def test_all_faults_are_found_at_once() -> None:
    found = faults("a: &x 1\na: *x\nb: !t 1\n<<: {}\n")
    assert [problem.code for problem in found] == [
        "yaml-anchor",
        "duplicate-key",
        "yaml-alias",
        "yaml-tag",
        "yaml-merge",
    ]


def test_the_second_of_two_equal_keys_names_the_first() -> None:
    assert fault("a: 1\nb: 2\na: 3\n").hint == "the first is in line 1: remove one"


def test_a_tab_is_called_a_tab() -> None:
    problem = fault("a:\n\tb: 1\n")
    assert (problem.line, problem.column, problem.hint) == (2, 1, "indent with spaces")


def test_bytes_that_are_not_utf8_are_refused_at_the_byte() -> None:
    problem = fault("a: b\nç: ".encode() + b"\xff\n")
    assert (problem.code, problem.line, problem.column) == ("not-utf8", 2, 4)
    assert "0xff" in problem.message
    assert "UTF-16" in fault("a: 1".encode("utf-16")).message
    assert fault("a: \ud800").code == "not-utf8"


def test_a_file_over_the_limit_is_refused_unread() -> None:
    assert fault(b"a: " + b"x" * MAX_BYTES).code == "too-large"
    assert fault("a: " + "x" * MAX_BYTES).code == "too-large"


@pytest.mark.parametrize("text", ["[" * 1000, "{a: " * 1000, "- " * 1000, "? " * 1000, "[" * 500_000])
def test_nesting_beyond_the_limit_is_refused(text: str) -> None:
    assert "too-deep" in {problem.code for problem in faults(text)}


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30))]
    assert {problem.code for problem in faults("\n".join(lines))} == {"yaml-anchor", "yaml-alias"}


def test_a_number_of_thousands_of_digits_stays_a_text() -> None:
    assert read_document("a: " + "9" * 5000, "x").value == {"a": "9" * 5000}


def test_places_of_keys_values_and_items() -> None:
    document = read_document("rules:\n  - alert: kl-high\n    for: 3 steps\n  - alert: b\n", "x")
    assert document.place(("rules", 0, "for")) == Place(3, 10, "    for: 3 steps", 7)
    assert document.place(("rules", 0, "for"), key=True) == Place(3, 5, "    for: 3 steps", 3)
    assert document.place(("rules", 1)).line == 4
    assert document.place(("rules", 0, "nowhere")).line == 2
    assert document.place(("nowhere",)).line == 1


@pytest.mark.parametrize(
    ("yaml_text", "line"),
    [
        ("a: one two three\n", 1),
        ("a: 'one two three'\n", 1),
        ('a: "one two three"\n', 1),
        ('a: "one\\x20\\u0074wo three"\n', 1),
        ("a: >\n  one\n  two\n  three\n", 3),
        ("a: |\n\n  one\n  two three\n", 4),
        ("a: one\n   two\n   three\n", 2),
        ("a: 'one\n\n   two\n   three'\n", 3),
        ('a: "one \\\n   two\n   three"\n', 2),
        ("a: >-\r\n  one\r\n  two\r\n  three\r\n", 3),
    ],
)
def test_the_caret_stands_under_a_word_whatever_the_quotes_and_folding(yaml_text: str, line: int) -> None:
    document = read_document(yaml_text, "x")
    value = document.value["a"]
    at = value.index("two")
    place = document.place_in(("a",), at, at + 3)
    assert place.line == line
    assert marked(place) in ("two", "\\u0074wo")


def test_a_doubled_quote_shifts_what_follows_by_one() -> None:
    document = read_document("a: 'it''s here'\n", "x")
    assert marked(document.place_in(("a",), 5, 9)) == "here"


words = st.text(st.sampled_from("abé🙂'\"\\ {}:#-\t"), min_size=1, max_size=30)


@given(words, st.sampled_from(["'", '"', None]))
def test_offsets_in_a_line_map_back_to_the_same_characters(value: str, style: str | None) -> None:
    text = yaml.dump({"key": value}, default_style=style, allow_unicode=True, width=10_000)
    document = read_document(text, "x")
    inner = document.value["key"] if isinstance(document.value, dict) and "key" in document.value else value
    assert inner == value
    for at, character in enumerate(value):
        place = document.place_in(("key",), at, at + 1)
        if character not in "'\"\\\t" and not character.isspace():
            assert marked(place).startswith((character, "\\U", "\\u", "\\x"))


@given(st.text(max_size=200))
@example("a: &a [*a]")
@example("\u2028: 'x")
@example("a: \x85 b: c")
def test_no_text_raises_anything_but_its_own_error(text: str) -> None:
    try:
        document = read_document(text, "x")
    except DocumentError as error:
        lines = text.splitlines() or [""]
        assert all(0 <= problem.line <= len(lines) + 1 for problem in error.problems)
    else:
        assert isinstance(document, Document)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_their_own_error(data: bytes) -> None:
    try:
        read_document(data, "x")
    except DocumentError as error:
        assert error.problems


yaml_like = st.lists(
    st.sampled_from(
        ["a: ", "- ", "\n", "  ", "{", "}", "[", "]", "'", '"', ", ", "|", ">", "#", "&x ", "*x", "!t ", "?", "1"]
    ),
    max_size=30,
).map("".join)


@given(yaml_like)
def test_no_heap_of_yaml_signs_raises_anything_but_its_own_error(text: str) -> None:
    try:
        read_document(text, "x")
    except DocumentError as error:
        assert error.problems


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    port: int = 1
    on: bool = False


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str
    inner: Inner = Inner()
    many: list[Inner] = []
    by_name: dict[str, Inner] | None = None
    ratio: Annotated[float, Field(gt=0)] = 1.0
    hold: str = Field(default="", alias="for")


def validation_problems(text: str) -> list[Problem]:
    document = read_document(text, "c.yaml")
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(document.value)
    return problems_from_pydantic(caught.value, document, Outer)


def test_validation_errors_get_place_code_and_remedy() -> None:
    problems = validation_problems(
        "inner:\n  prot: 1\n  on: yes\nmany:\n  - port: x\n  - 3\nby_name:\n  a: {prt: 1}\nratio: 0\nfoor: x\n"
    )
    found = {(p.line, p.column): (p.code, p.message, p.hint) for p in problems}
    assert found[1, 1] == ("missing-key", "the key 'name' is missing", "")
    assert found[2, 3] == ("unknown-key", "there is no key 'prot' here", "did you mean 'port'?")
    assert found[3, 7] == (
        "wrong-type",
        "this must be true or false, not 'yes'",
        "YAML 1.2 has only true and false",
    )
    assert found[5, 11] == ("wrong-type", "this must be a whole number, not 'x'", "")
    assert found[6, 5] == ("wrong-type", "this must be a mapping, not 3", "")
    assert found[8, 7] == ("unknown-key", "there is no key 'prt' here", "did you mean 'port'?")
    assert found[9, 8][0] == "bad-value"
    assert found[10, 1][2] == "did you mean 'for'?"
    assert [p.line for p in problems] == sorted(p.line for p in problems)


def test_fields_are_found_through_lists_mappings_and_unions() -> None:
    assert list(fields_at(Outer, ())) == ["name", "inner", "many", "by_name", "ratio", "for"]
    assert list(fields_at(Outer, ("many", 3))) == ["port", "on"]
    assert list(fields_at(Outer, ("by_name", "x"))) == ["port", "on"]
    assert fields_at(Outer, ("name",)) == {}
