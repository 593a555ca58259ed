"""A rule's sentence with places for facts: `KL is {value:.3g}, {severity} above {threshold:.3g}`.

A template is cut up once, when the rule is loaded, and filled in one pass: what is put in is never read as a
template again. It knows a fixed set of keys and Python's formats for numbers; there is no way from a key to anything
else (no attributes, no indices). `{{` and `}}` are literal braces, a fact that is not there reads `?`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sentinel.rules.expression.parse import Fault
from sentinel.suggestion import closest

DEFAULT_SUMMARY = "{metric} is {value:.3g}, {severity} beyond {threshold:.3g}"
"""The sentence of a rule that has none of its own."""

_DEFAULT_IN_PERCENT = "{metric} is {value:.3g}%, {severity} beyond {threshold:.3g}%"
_DEFAULT_WITHOUT_VALUE = "the condition for {severity} holds"

KEYS: dict[str, type] = {
    "run": str,
    "attempt": int,
    "alert": str,
    "symptom": str,
    "severity": str,
    "step": int,
    "onset_step": int,
    "value": float,
    "threshold": float,
    "metric": str,
    "unit": str,
    "labels": str,
}
"""What a template can speak of, and what kind of thing it is."""

MAX_WIDTH = 20
"""Characters a format may pad to, and digits it may show."""

MAX_LENGTH = 500
"""Characters of a template."""

MISSING = "?"

_FORMAT = re.compile(r"[<>^]?[-+ ]?0?(?P<width>[0-9]+)?[,_]?(\.(?P<precision>[0-9]+))?(?P<kind>[a-zA-Z%])?")
_FOREIGN = re.compile(r"\{\{-?\s*[$.|][^{}]*\}\}")
"""`{{ $value }}`, `{{ .Labels.instance }}`: nobody wants to read these as they stand."""

_KINDS = {str: "s", int: "deEfFgG", float: "eEfFgG%"}


class TemplateError(Exception):
    """A template cannot be used. `faults` are in reading order, with offsets into its text."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = list(faults)


@dataclass(frozen=True, slots=True)
class Template:
    """A template that was understood: literal texts, and (key, format) where facts go."""

    text: str
    parts: tuple[str | tuple[str, str], ...]

    def __str__(self) -> str:
        return self.text

    def render(self, values: Mapping[str, object]) -> str:
        """The sentence. Never raises: a fact that is missing or None is `?`, one of another kind is shown as it is."""
        return "".join(part if isinstance(part, str) else _fill(values.get(part[0]), part[1]) for part in self.parts)


@lru_cache(maxsize=4096)
def parse_template(text: str) -> Template:
    """Raises TemplateError with every fault: unknown keys, formats out of bounds, stray braces."""
    faults: list[Fault] = []
    parts: list[str | tuple[str, str]] = []
    if len(text) > MAX_LENGTH:
        message = f"the sentence has {len(text)} characters"
        raise TemplateError([Fault(MAX_LENGTH, len(text), "too-long", message, f"at most {MAX_LENGTH}")])
    at = 0
    while at < len(text):
        if foreign := _FOREIGN.match(text, at):
            hint = "write {labels}" if "abel" in foreign[0] else "write {value:.3g}"
            message = f"'{foreign[0]}' is another tool's template"
            faults.append(Fault(at, foreign.end(), "bad-template", message, hint))
            at = foreign.end()
        elif text.startswith(("{{", "}}"), at):
            parts.append(text[at])
            at += 2
        elif text[at] == "{":
            end = text.find("}", at)
            if end < 0:
                faults.append(Fault(at, at + 1, "bad-template", "this brace is never closed", "{{ is a literal brace"))
                break
            parts.append(_field(text, at + 1, end, faults))
            at = end + 1
        elif text[at] == "}":
            faults.append(Fault(at, at + 1, "bad-template", "this brace closes nothing", "}} is a literal brace"))
            at += 1
        else:
            stop = next((i for i in range(at, len(text)) if text[i] in "{}"), len(text))
            parts.append(text[at:stop])
            at = stop
    if faults:
        raise TemplateError(faults)
    return Template(text, tuple(parts))


def render(text: str, values: Mapping[str, object]) -> str:
    """`parse_template(text).render(values)`: for templates that were checked when their rule was loaded.

    The default sentence tells shares and relative changes in percent, and no number where nothing was compared.
    """
    if text == DEFAULT_SUMMARY:
        value, threshold, unit = values.get("value"), values.get("threshold"), str(values.get("unit") or "")
        if value is None and threshold is None:
            text = _DEFAULT_WITHOUT_VALUE
        elif unit in ("ratio", "fraction") or unit.startswith("percent"):
            text, scale = _DEFAULT_IN_PERCENT, 1.0 if unit.startswith("percent") else 100.0
            sides = {"value": value, "threshold": threshold}
            values = {**values, **{key: x * scale for key, x in sides.items() if isinstance(x, int | float)}}
    return parse_template(text).render(values)


def _field(text: str, start: int, end: int, faults: list[Fault]) -> tuple[str, str]:
    key, colon, spec = text[start:end].partition(":")
    kind = KEYS.get(key)
    if kind is None:
        known = f"known: {', '.join(KEYS)}"
        stop = start + len(key)
        if not key.strip():
            faults.append(Fault(start - 1, end + 1, "unknown-template-key", "a key is missing in the braces", known))
        elif re.search(r"[.\[!]", key):
            message = f"'{key}' reaches into a value, which templates cannot"
            faults.append(Fault(start, stop, "bad-template", message, known))
        else:
            message = f"there is no '{key}' to tell"
            faults.append(Fault(start, stop, "unknown-template-key", message, closest(key.strip(), set(KEYS)) or known))
        return key, ""
    if colon:
        fault = _format_fault(spec, kind)
        if fault:
            at = start + len(key) + 1
            hint = "write {value:.3g}" if kind is not str else f"write {{{key}}}"
            faults.append(Fault(at, max(end, at + 1), "bad-format", fault, hint))
    return key, spec


def _format_fault(spec: str, kind: type) -> str:
    match = _FORMAT.fullmatch(spec)
    if match is None:
        return f"'{spec}' is not a format"
    if any(int(digits[:9]) > MAX_WIDTH for digits in (match["width"], match["precision"]) if digits):
        return f"a format goes to {MAX_WIDTH} characters and digits at most"
    letter = match["kind"]
    if letter and letter not in _KINDS[kind]:
        return f"'{letter}' does not fit here: this is {'a text' if kind is str else 'a number'}"
    try:
        format(kind(), spec)
    except ValueError:
        return f"'{spec}' does not fit here: this is {'a text' if kind is str else 'a number'}"
    return ""


def _fill(value: object, spec: str) -> str:
    if value is None:
        return MISSING
    if isinstance(value, Mapping):
        value = ", ".join(f"{key}={inner}" for key, inner in value.items())
    try:
        return format(value, spec)
    except (ValueError, TypeError, OverflowError):
        return str(value)
