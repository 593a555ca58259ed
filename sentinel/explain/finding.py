"""An expression with its present values: which parts are true, false or unknown, and why the unknown ones are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from sentinel.engine.evaluate import Reader
from sentinel.engine.plan import series_key
from sentinel.engine.run_state import Missing, RunState
from sentinel.explain.memory import Fill, remembered
from sentinel.explain.words import COMPARISONS, MIRRORED, Words
from sentinel.rules.expression.nodes import (
    Arithmetic,
    Call,
    Compare,
    Context,
    Duration,
    InPhase,
    Logic,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    children,
    is_condition,
)
from sentinel.stats import FUNCTIONS, Nonfinite, Reference, Result
from sentinel.stats.series import Series

LONGEST = 60
"""Characters of an expression that a sentence repeats."""

Kind = Literal["and", "or", "not", "comparison", "function", "metric", "fact", "arithmetic", "literal"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of an expression as it stands.

    - `text`: its canonical text. `truth`: of a condition, None for unknown; `value`: of a number, None for unknown.
    - `unit`: what stands behind the value. `note`: what is remembered for it, or why it is unknown.
    - `fill`: of a window function. `since_step`: when a best or a start was fixed, or a
      baseline frozen.
    - `op`, `left`, `right`: of a comparison, with the texts of its sides; a threshold stands on the right.
    - `percent`: its numbers read best as percentages.
    - `parts`: what it is made of, without the numbers that the text states.
    """

    kind: Kind
    text: str
    condition: bool
    truth: bool | None = None
    value: float | None = None
    unit: str = ""
    note: str = ""
    fill: Fill | None = None
    since_step: int | None = None
    op: str = ""
    left: float | None = None
    right: float | None = None
    percent: bool = False
    left_text: str = ""
    right_text: str = ""
    parts: tuple[Finding, ...] = ()

    @property
    def unknown(self) -> bool:
        return (self.truth if self.condition else self.value) is None


UNKNOWN_FACTS = {"step_time": "not known of this run yet", "phase_step": "no phase has begun"}
"""Why a fact is unknown that the configuration does not tell."""

_PARTS = Metric | Context | InPhase | Negative | Arithmetic | Compare | Logic | Not | Call
"""What has a value of its own that the text does not state."""


class Inspector:
    """Reads the parts of expressions over one run, through `reader`."""

    def __init__(self, run: RunState, reader: Reader, words: Words) -> None:
        self.run = run
        self.reader = reader
        self.words = words

    def find(self, node: Node) -> Finding:
        within = children(node)
        if isinstance(node, Call) and issubclass(FUNCTIONS[node.function], Reference):
            within = ()  # the metric of another run: this one's value has no part in it
        parts = tuple(self.find(child) for child in within if isinstance(child, _PARTS))
        if is_condition(node):
            return self._condition(node, parts)
        return self._number(node, parts)

    def _condition(self, node: Node, parts: tuple[Finding, ...]) -> Finding:
        truth = self.reader.truth(node)
        text = str(node)
        match node:
            case Compare(op=op, left=left, right=right):
                if isinstance(left, Number | Duration):
                    left, right, op = right, left, MIRRORED.get(op, op)
                a, b = _known(self.reader.number(left)), _known(self.reader.number(right))
                unit = self.words.unit(left) or self.words.unit(right)
                return Finding(
                    "comparison",
                    text,
                    True,
                    truth,
                    unit=unit,
                    op=op,
                    left=a,
                    right=b,
                    percent=isinstance(right, Number) and right.percent,
                    left_text=str(left),
                    right_text="" if isinstance(right, Number | Duration) else str(right),
                    parts=parts,
                )
            case InPhase():
                phase = self.reader.phase
                note = "not known of this run" if phase is None else f"it is {phase}"
                return Finding("fact", text, True, truth, note=note)
            case Logic(op=op):
                return Finding("and" if op == "and" else "or", text, True, truth, parts=parts)
            case Not():
                return Finding("not", text, True, truth, parts=parts)
            case Call() if issubclass(FUNCTIONS[node.function], Nonfinite):
                return Finding("function", text, True, truth, parts=parts)
            case Call():
                memory = remembered(node, self.run, self.reader.rel, self.reader.time)
                return Finding("function", text, True, truth, note=memory.note, fill=memory.fill, parts=parts)
            case _:
                return Finding("function", text, True, truth, parts=parts)

    def _number(self, node: Node, parts: tuple[Finding, ...]) -> Finding:
        value = _known(self.reader.number(node))
        text, unit = str(node), self.words.unit(node)
        match node:
            case Metric():
                return self._metric(node, value, unit)
            case Call():
                memory = remembered(node, self.run, self.reader.rel, self.reader.time)
                note = memory.note
                full = memory.fill is not None and memory.fill.full
                if value is None and full and not any(part.unknown for part in parts):
                    note = f"{note}, but undefined for them" if note else "undefined for what it has seen"
                return Finding(
                    "function",
                    text,
                    False,
                    None,
                    value,
                    unit,
                    note,
                    fill=memory.fill,
                    since_step=memory.since_step,
                    percent=FUNCTIONS[node.function].result in (Result.RATIO, Result.SHARE),
                    parts=parts,
                )
            case Context(name=name):
                unknown = UNKNOWN_FACTS.get(name, "the run's configuration does not say")
                return Finding("fact", text, False, None, value, unit, unknown if value is None else "")
            case Number() | Duration():
                return Finding("literal", text, False, None, value, unit)
            case _:
                undefined = value is None and not any(part.unknown for part in parts)
                note = "division by zero" if undefined else ""
                return Finding("arithmetic", text, False, None, value, unit, note, parts=parts)

    def _metric(self, metric: Metric, value: float | None, unit: str) -> Finding:
        """The newest value, and when it was logged if that was not just now; of a derived one what it is made of."""
        derived = next((one for one in self.run.derived if one.series.full == metric.name), None)
        parts: tuple[Finding, ...] = ()
        if derived is not None:
            made_of = (self.run.series[key].full for _, key in derived.needs)
            parts = tuple(self.find(replace(metric, name=name, labels=())) for name in made_of)
        series: Series | None = self.run.slots.get(series_key(metric))
        if series is None:
            # Nothing keeps a series that rules only ask about; the run's newest row may have it.
            value = self.run.value(metric.name)
            series_step = None
        else:
            series_step = series.step if series.step >= 0 else None
        note = ""
        if value is None:
            why = self.run.missing(metric.name)
            if why is Missing.NOT_THIS_STEP and (series is None or series_step is None):
                note = "not logged in this attempt yet" if series is not None else ""
            elif why is not None:
                note = why.value
        elif series_step is not None and series_step < self.run.rel:
            note = f"logged at step {self.run.first_step + series_step}"
        if derived is not None:
            note = f"derived: {derived.derivation.formula}" + (f", {note}" if note else "")
        return Finding("metric", str(metric), False, None, value, unit, note, parts=parts)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def shown(value: float | None, *, percent: bool = False) -> str:
    """A number as people are shown it: four digits, `unknown` for None."""
    if value is None:
        return "unknown"
    return f"{value * 100.0:.4g}%" if percent else f"{value:.4g}"


def against(finding: Finding) -> tuple[str, str]:
    """The two numbers of a comparison, with enough digits to tell them apart."""
    value, other = finding.left, finding.right
    if value is None or other is None or value == other:
        return shown(value, percent=finding.percent), shown(other, percent=finding.percent)
    scale, sign = (100.0, "%") if finding.percent else (1.0, "")
    for digits in range(4, 17):
        pair = f"{value * scale:.{digits}g}{sign}", f"{other * scale:.{digits}g}{sign}"
        if pair[0] != pair[1]:
            return pair
    return repr(value), repr(other)


def blame(finding: Finding) -> list[str]:
    """The parts that make a condition false, or unknown, each as a clause; of an `and` that is false, the first."""
    if finding.truth is True:
        return []
    match finding.kind:
        case "and":
            if finding.truth is False:
                return blame(next(part for part in finding.parts if part.truth is False))
            return _each(part for part in finding.parts if part.truth is None)
        case "or":
            return _each(part for part in finding.parts if part.truth is finding.truth)
        case "comparison" if finding.truth is False:
            value, threshold = against(finding)
            said = COMPARISONS[finding.op].removeprefix("is ")
            unit = f" {finding.unit}" if finding.unit and not finding.percent else ""
            means = f" ({finding.right_text})" if 0 < len(finding.right_text) <= LONGEST else ""
            name = finding.left_text
            name = name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."
            return [f"{name} is {value}{unit}, not {said} {threshold}{means}"]
        case _ if finding.truth is None:
            return list(dict.fromkeys(_unknowns(finding))) or [f"{finding.text} is unknown"]
        case "not":
            return [f"{finding.parts[0].text} holds"]
        case "function" if finding.text.startswith(("firing(", "pending(")):
            return [finding.note]
        case "function" if finding.text.startswith("nonfinite("):
            return [f"{finding.parts[0].text} is a number"]
        case _:
            return [f"{finding.text} is false"]


def _each(parts: Iterator[Finding]) -> list[str]:
    return list(dict.fromkeys(clause for part in parts for clause in blame(part)))


def _unknowns(finding: Finding) -> Iterator[str]:
    """What is unknown and not because of something within it."""
    inner = [part for part in finding.parts if part.unknown]
    if inner:
        for part in inner:
            yield from _unknowns(part)
    elif finding.unknown:
        yield f"{finding.text} is unknown ({finding.note})" if finding.note else f"{finding.text} is unknown"
