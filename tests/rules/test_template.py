"""Sentences with places for facts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.rules.template import DEFAULT_SUMMARY, KEYS, TemplateError, parse_template, render

FACTS = {
    "run": "grpo-7b",
    "alert": "kl-high",
    "severity": "critical",
    "step": 120,
    "value": 0.61234,
    "threshold": 0.5,
    "labels": {"gpu": "3"},
}


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("KL is {value:.3g}, {severity} above {threshold:.3g}", "KL is 0.612, critical above 0.5"),
        ("{value:.1%}", "61.2%"),
        ("{step:>6d}|{step:,}", "   120|120"),
        ("{{literal}} {run}", "{literal} grpo-7b"),
        ("{labels}", "gpu=3"),
        ("{metric} {unit} {onset_step:d}", "? ? ?"),
        ("", ""),
    ],
)
def test_facts_are_filled_in(template: str, sentence: str) -> None:
    assert parse_template(template).render(FACTS) == sentence
    assert render(template, FACTS) == sentence


def test_a_value_is_never_read_as_a_template() -> None:
    assert render("{run}", {"run": "{value} {{x}} {0.__class__}"}) == "{value} {{x}} {0.__class__}"


def test_a_fact_of_another_kind_is_shown_as_it_is() -> None:
    assert render("{value:.3g}", {"value": "n/a"}) == "n/a"
    assert render("{value:.3g}", {"value": float("nan")}) == "nan"
    assert render("{value:.3g}", {"value": None}) == "?"


@pytest.mark.parametrize(
    ("template", "code", "under"),
    [
        ("a {valu:.3g}", "unknown-template-key", "valu"),
        ("{}", "unknown-template-key", "{}"),
        ("{value.__class__}", "bad-template", "value.__class__"),
        ("{labels[gpu]}", "bad-template", "labels[gpu]"),
        ("{run!r}", "bad-template", "run!r"),
        ("{value:{step}}", "bad-format", "{step"),
        ("{value:100f}", "bad-format", "100f"),
        ("{value:.99999999999999f}", "bad-format", ".99999999999999f"),
        ("{value:d}", "bad-format", "d"),
        ("{run:.3f}", "bad-format", ".3f"),
        ("{value:q}", "bad-format", "q"),
        ("KL {{ $value }}", "bad-template", "{{ $value }}"),
        ("on {{ $labels.gpu }} {{ .Values }}", "bad-template", "{{ $labels.gpu }}"),
        ("open {value", "bad-template", "{"),
        ("close }", "bad-template", "}"),
    ],
)
def test_what_a_template_cannot_do_is_refused_at_its_place(template: str, code: str, under: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse_template(template)
    fault = caught.value.faults[0]
    assert (fault.code, template[fault.start : fault.end]) == (code, under)


def test_all_faults_of_a_template_come_together() -> None:
    with pytest.raises(TemplateError) as caught:
        parse_template("{a} {b} {value:d}")
    assert [fault.code for fault in caught.value.faults] == ["unknown-template-key"] * 2 + ["bad-format"]
    with pytest.raises(TemplateError):
        parse_template("x" * 501)


@given(
    st.text(max_size=60), st.dictionaries(st.sampled_from(sorted(KEYS)), st.one_of(st.none(), st.text(), st.floats()))
)
def test_no_text_raises_anything_but_its_own_error(text: str, facts: dict[str, object]) -> None:
    try:
        template = parse_template(text)
    except TemplateError as error:
        assert error.faults
    else:
        assert isinstance(template.render(facts), str)


@given(st.text(max_size=60))
def test_a_text_with_its_braces_doubled_is_itself(text: str) -> None:
    assert render(text.replace("{", "{{").replace("}", "}}"), {}) == text


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"value": 0.5, "threshold": 0.2, "unit": "ratio"}, "m is 50%, warning beyond 20%"),
        ({"value": 0.456, "threshold": 0.4, "unit": "fraction"}, "m is 45.6%, warning beyond 40%"),
        ({"value": 12.0, "threshold": 30.0, "unit": "percent"}, "m is 12%, warning beyond 30%"),
        ({"value": 0.5, "threshold": 0.2, "unit": "nats/token"}, "m is 0.5, warning beyond 0.2"),
        ({"value": None, "threshold": 0.2, "unit": "ratio"}, "m is ?%, warning beyond 20%"),
        ({"value": None, "threshold": None, "unit": ""}, "the condition for warning holds"),
    ],
)
def test_the_default_sentence_tells_numbers_as_their_unit_has_them(facts: dict[str, object], sentence: str) -> None:
    assert render(DEFAULT_SUMMARY, {"metric": "m", "severity": "warning", **facts}) == sentence
