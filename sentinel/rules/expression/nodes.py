"""The tree of an expression. Nodes are values: two that read alike are equal, wherever they stood.

`str(node)` is the canonical text: it is how statistics are shared between rules, how state survives a reload, and what
people are shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from sentinel.severity import Severity
from sentinel.stats import FUNCTIONS, Result
from sentinel.stats.window import Axis


@dataclass(frozen=True, slots=True)
class Span:
    """Where a node stands in its text: character offsets, the end not included."""

    start: int
    end: int


NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Number:
    """A plain number, or a percentage (`percent`: the value is already divided by 100)."""

    value: float
    percent: bool = False
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return _percent_text(self.value) if self.percent else repr(self.value)


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds."""

    seconds: float
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
            if self.seconds and self.seconds % size == 0:
                return f"{self.seconds / size:.0f}{unit}"
        # Never with an exponent: the language has none for durations.
        return f"{Decimal(repr(self.seconds)).normalize():f}s"


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of a window, or of a `for`: `10 steps`, `5 samples`, `5m`. `size` in steps, samples or seconds."""

    axis: Axis
    size: float
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        if self.axis is Axis.TIME:
            return str(Duration(self.size))
        word = self.axis.value if self.size != 1 else self.axis.value.removesuffix("s")
        return f"{self.size:.0f} {word}"


@dataclass(frozen=True, slots=True)
class Metric:
    """A series by name. `*` in a name matches any rest and makes one alert for each series that matches.

    `raw`: written in backticks, a trainer's own key. `labels` narrow it to the series that carry all of them.
    """

    name: str
    labels: tuple[tuple[str, str], ...] = ()
    raw: bool = False
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        name = f"`{self.name}`" if self.raw else self.name
        if not self.labels:
            return name
        inside = ",".join(f"{key}={_label_text(value)}" for key, value in self.labels)
        return f"{name}{{{inside}}}"

    @property
    def wild(self) -> bool:
        return "*" in self.name and not self.raw


@dataclass(frozen=True, slots=True)
class Context:
    """A fact about the run rather than a series: `step`, `progress`, `config.beta`."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class InPhase:
    """Whether the run is in a phase: `phase == late`; with `other`, whether it is in another: `phase != late`."""

    name: str
    other: bool = False
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        bare = _BARE_LABEL.fullmatch(self.name) and self.name not in ("and", "or", "not")
        name = self.name if bare else f'"{self.name}"'
        return f"phase {'!=' if self.other else '=='} {name}"


@dataclass(frozen=True, slots=True)
class Negative:
    operand: Node
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"-{_inner(self.operand)}"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left op right` with `op` one of `+ - * /`."""

    op: str
    left: Node
    right: Node
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{_inner(self.left)} {self.op} {_inner(self.right)}"


@dataclass(frozen=True, slots=True)
class Compare:
    """`left op right` with `op` one of `< <= > >= == !=`."""

    op: str
    left: Node
    right: Node
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{_inner(self.left)} {self.op} {_inner(self.right)}"


@dataclass(frozen=True, slots=True)
class Logic:
    """`and` or `or` over two or more parts."""

    op: str
    parts: tuple[Node, ...]
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f" {self.op} ".join(_inner(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Not:
    operand: Node
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"not {_inner(self.operand)}"


@dataclass(frozen=True, slots=True)
class Alert:
    """Another rule by its name, and the lowest severity of its alerts that counts; None: any."""

    name: str
    severity: Severity | None = None
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return self.name if self.severity is None else f"{self.name}, {self.severity}"


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the language over an expression, and over a window when it has one.

    `literal`: the number between the two, of functions that take one. `owner`: the rule instance that it belongs to, of
    functions that are not shared; empty until the rule is bound to a run's series.
    """

    function: str
    argument: Node
    window: Extent | None = None
    literal: Number | None = None
    owner: str = ""
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        given = (self.argument, self.literal, self.window)
        return f"{self.function}({', '.join(str(part) for part in given if part is not None)})"


Node = Number | Duration | Metric | Context | InPhase | Negative | Arithmetic | Compare | Logic | Not | Alert | Call


def _label_text(value: str) -> str:
    return value if _BARE_LABEL.fullmatch(value) else f'"{value}"'


_BARE_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*|[0-9]{1,15}")


def _percent_text(value: float) -> str:
    """The shortest text that reads back as exactly this number: a hundredth of a decimal is seldom a double."""
    percent = value * 100.0
    rounded = (float(f"{percent:.{digits}g}") for digits in range(1, 18))
    near = (math.nextafter(percent, math.inf), math.nextafter(percent, -math.inf))
    exact = next((x for x in (*rounded, *near) if x / 100.0 == value), percent)
    short = f"{exact:.12g}"
    return f"{short if float(short) == exact else repr(exact)}%"


_BRACKETED = Arithmetic | Compare | InPhase | Logic | Not | Negative


def _inner(node: Node) -> str:
    return f"({node})" if isinstance(node, _BRACKETED) else str(node)


def is_condition(node: Node) -> bool:
    """Whether an expression is true or false rather than a number."""
    if isinstance(node, Call):
        return FUNCTIONS[node.function].result is Result.TRUTH
    return isinstance(node, Compare | InPhase | Logic | Not)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, left to right."""
    match node:
        case Arithmetic(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case Logic(parts=parts):
            return parts
        case Negative(operand=operand) | Not(operand=operand):
            return (operand,)
        case Call(argument=argument):
            return (argument,)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first, left to right."""
    pending = [node]
    while pending:
        found = pending.pop()
        yield found
        pending.extend(reversed(children(found)))


def identity(node: Node) -> str:
    """What an expression remembers is kept under it: its text, and whose it is where it is not shared."""
    owner = next((found.owner for found in walk(node) if isinstance(found, Call) and found.owner), "")
    return f"{node} of {owner}" if owner else str(node)


def alerts_of(node: Node) -> list[Alert]:
    """The other rules that an expression asks about, in reading order, each once."""
    return list(dict.fromkeys(found for found in walk(node) if isinstance(found, Alert)))


def metrics_of(node: Node) -> list[Metric]:
    """The metrics that an expression names, in reading order, each once."""
    return list(dict.fromkeys(found for found in walk(node) if isinstance(found, Metric)))
