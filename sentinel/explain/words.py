"""Expressions in plain words: `median(kl.ref, 5 samples) > 0.1` → "the median of kl.ref over the last 5 logged values
is above 0.1 nats/token"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sentinel.engine.plan import higher_is_better
from sentinel.metrics import Dictionary
from sentinel.rules.expression.nodes import (
    Alert,
    Arithmetic,
    Call,
    Compare,
    Context,
    Duration,
    Extent,
    InPhase,
    Logic,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    is_condition,
    metrics_of,
    walk,
)
from sentinel.stats import FUNCTIONS, Result
from sentinel.stats.baseline import USUAL
from sentinel.stats.initial import WARM_UP
from sentinel.stats.window import Axis

COMPARISONS = {
    ">": "is above",
    ">=": "is at least",
    "<": "is below",
    "<=": "is at most",
    "==": "is equal to",
    "!=": "is other than",
}

MIRRORED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
"""The comparison read from its other side; `==` and `!=` read the same."""

FACTS = {
    "step": "the step",
    "progress": "the share of the planned steps that is done",
    "step_time": "the usual time of a step",
    "phase_step": "the number of steps since the phase began",
}

_OPERATIONS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}

_PLAIN_UNITS = ("-", "", "fraction", "ratio", "count", "any")
"""Units that say no more than the number does."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition as an outline: `words` are those of the whole, or what joins the `parts`. `code`: its own text."""

    words: str
    code: str
    parts: tuple[Clause, ...] = ()


class Words:
    """Speaks of expressions whose metrics `dictionary` knows."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self._calls: dict[str, Callable[[str, Call], str]] = {
            "abs": lambda x, call: f"the size of {x}, whatever its sign,",
            "absent": lambda x, call: f"{x} has not been logged for {spelled(_extent(call))}",
            "age": lambda x, call: f"the time since {x} was last logged",
            "baseline": lambda x, call: (
                f"the usual level of {x} (the median of its last {_usual(call)} values while the alert was quiet)"
            ),
            "best": self._best,
            "worst": self._best,
            "change": lambda x, call: _of("relative change", x, call),
            "count": lambda x, call: f"the number of values of {x} logged in {_over(call)}",
            "delta": lambda x, call: _of("change", x, call),
            "drop": lambda x, call: f"the fall of {x} from its highest value of {_over(call)}",
            "rise": lambda x, call: f"the rise of {x} from its lowest value of {_over(call)}",
            "ewma": lambda x, call: f"the exponential mean of {x} (N = {_extent(call).size:.0f} values)",
            "falling": lambda x, call: f"{x} falls over {_over(call)}, by more than its own noise",
            "rising": lambda x, call: f"{x} rises over {_over(call)}, by more than its own noise",
            "flat": lambda x, call: f"{x} neither rises nor falls over {_over(call)}, by more than its own noise",
            "firing": lambda x, call: f"{x} is firing",
            "first": lambda x, call: _of("oldest value", x, call, "in"),
            "last": lambda x, call: f"the newest number logged as {x} in {_over(call)}",
            "held": lambda x, call: f"at each time it was known in {_over(call)}, {x}",
            "initial": lambda x, call: f"the level at which {x} began (the median of its first {_first(call)} values)",
            "max": lambda x, call: _of("highest value", x, call, "in"),
            "min": lambda x, call: _of("lowest value", x, call, "in"),
            "mean": lambda x, call: _of("mean", x, call),
            "median": lambda x, call: _of("median", x, call),
            "nonfinite": lambda x, call: f"{x} is not a number",
            "pending": lambda x, call: f"{x} has begun and not fired",
            "quantile": lambda x, call: f"the value below which {call.literal} of {x} lie in {_over(call)}",
            "reference": lambda x, call: f"{x} of the reference run at this step",
            "seen": lambda x, call: f"{x} has been a number in this attempt",
            "share": lambda x, call: f"the share of times in {_over(call)} at which {x}",
            "slope": lambda x, call: _of("slope", x, call),
            "spikes": lambda x, call: f"the number of spikes of {x} (above 5 times the median) in {_over(call)}",
            "std": lambda x, call: _of("standard deviation", x, call),
            "sum": lambda x, call: _of("sum", x, call),
            "zscore": lambda x, call: (
                f"how far {x} stands from the others of {_over(call)}, in their robust deviations,"
            ),
        }

    # --- conditions -----------------------------------------------------------------------------------------

    def outline(self, node: Node) -> Clause:
        """The condition part by part."""
        if isinstance(node, Logic):
            joined = "all of these hold" if node.op == "and" else "any of these holds"
            return Clause(joined, str(node), tuple(self.outline(part) for part in node.parts))
        return Clause(self.condition(node), str(node))

    def condition(self, node: Node) -> str:
        """The condition as a clause of a sentence."""
        match node:
            case Compare(op=op, left=left, right=right):
                if isinstance(left, Number | Duration) and not isinstance(right, Number | Duration):
                    left, right, op = right, left, MIRRORED.get(op, op)
                return f"{self.quantity(left)} {COMPARISONS[op]} {self._threshold(right, left)}"
            case Logic(op=op, parts=parts):
                return f", {op} ".join(
                    f"({self.condition(part)})" if isinstance(part, Logic) else self.condition(part) for part in parts
                )
            case InPhase(name=name, other=other):
                return f"the run is {'not ' if other else ''}in the phase {name}"
            case Not(operand=Call(function="seen", argument=argument)):
                return f"{self.quantity(argument)} has not been a number yet in this attempt"
            case Not(operand=Call(function="firing", argument=argument)):
                return f"{self.quantity(argument)} is not firing"
            case Not(operand=operand):
                return f"it is not so that {self.condition(operand)}"
            case Call():
                return self._call(node)
            case _:
                return str(node)

    def _threshold(self, node: Node, beside: Node) -> str:
        text = self.quantity(node)
        if isinstance(node, Number) and not node.percent:
            unit = self.unit(beside)
            return f"{text}{unit}" if unit == "%" else f"{text} {unit}".rstrip()
        return text

    def unit(self, node: Node) -> str:
        """The unit of a quantity as it is written behind a number, empty where it has none worth saying."""
        calls = [FUNCTIONS[found.function] for found in walk(node) if isinstance(found, Call)]
        results = {function.result for function in calls}
        if results & {Result.RATIO, Result.SHARE, Result.PLAIN, Result.TRUTH} or any(
            isinstance(found, Arithmetic) and found.op in "*/" for found in walk(node)
        ):
            return ""
        if Result.SECONDS in results or any(found == Context("step_time") for found in walk(node)):
            return "s"
        metrics = metrics_of(node)
        info = self.dictionary.describe(metrics[0].name.partition("{")[0]) if len(metrics) == 1 else None
        if info is None or info.unit in _PLAIN_UNITS or info.unit.endswith(" units"):
            return ""
        unit = "%" if info.unit.startswith("percent") else info.unit
        if Result.RATE in results:
            timed = any(isinstance(n, Call) and n.window is not None and n.window.axis is Axis.TIME for n in walk(node))
            return f"{unit} per {'second' if timed else 'step'}"
        return unit

    # --- quantities -----------------------------------------------------------------------------------------

    def quantity(self, node: Node) -> str:
        """A number, or what stands for one, as a noun."""
        if is_condition(node):
            return self.condition(node)
        match node:
            case Number(value=value, percent=percent):
                return str(node) if percent else f"{value:g}"
            case Duration(seconds=seconds):
                return spelled(Extent(Axis.TIME, seconds))
            case Metric():
                return ("a metric" if node.name == "*" else f"one of {node}") if node.wild else str(node)
            case Alert(name=name, severity=severity):
                return f"the alert {name}" + ("" if severity is None else f" (at least {severity})")
            case Context(name=name):
                return FACTS.get(name, name)
            case Negative(operand=operand):
                return f"minus {self._inner(operand)}"
            case Arithmetic(op="*", left=left, right=right) if left == right:
                return f"the square of {self._inner(left)}"
            case Arithmetic(op="*", left=left, right=Number() as right):
                return f"{self.quantity(right)} times {self._inner(left)}"
            case Arithmetic(op=op, left=left, right=right):
                return f"{self._inner(left)} {_OPERATIONS[op]} {self._inner(right)}"
            case Call():
                return self._call(node)
            case _:
                return str(node)

    def _inner(self, node: Node) -> str:
        text = self.quantity(node)
        return f"({text})" if isinstance(node, Arithmetic | Negative) else text

    def _call(self, call: Call) -> str:
        say = self._calls.get(call.function)
        if say is None:
            # A function that this page has no words for speaks for itself.
            return f"{call} ({FUNCTIONS[call.function].summary})"
        return say(self._inner(call.argument), call)

    def _best(self, x: str, call: Call) -> str:
        higher = higher_is_better(call.argument, self.dictionary)
        if call.function == "worst":
            higher = not higher
        return f"the {call.function} so far (the {'highest' if higher else 'lowest'}) of {x}"


def _of(noun: str, x: str, call: Call, where: str = "over") -> str:
    """`the mean of kl.ref over the last 5 steps`; with more than a name in it, the window comes first."""
    if isinstance(call.argument, Metric):
        return f"the {noun} of {x} {where} {_over(call)}"
    return f"the {noun} {where} {_over(call)} of {x}"


def _extent(call: Call) -> Extent:
    return call.window if call.window is not None else Extent(Axis.SAMPLES, 1)


def _first(call: Call) -> int:
    return WARM_UP if call.window is None else int(call.window.size)


def _usual(call: Call) -> int:
    return USUAL if call.window is None else int(call.window.size)


def _over(call: Call) -> str:
    extent = _extent(call)
    if extent.axis is Axis.TIME:
        return f"the last {spelled(extent)}"
    noun = "step" if extent.axis is Axis.STEPS else "logged value"
    return f"the last {noun}" if extent.size == 1 else f"the last {extent.size:.0f} {noun}s"


def spelled(extent: Extent) -> str:
    """A length in words: `3 steps`, `5 logged values`, `5 minutes`."""
    if extent.axis is not Axis.TIME:
        noun = "step" if extent.axis is Axis.STEPS else "logged value"
        return f"{extent.size:.0f} {noun}" + ("" if extent.size == 1 else "s")
    return seconds_spelled(extent.size)


def seconds_spelled(seconds: float) -> str:
    """A length of time in the largest unit that divides it."""
    for size, noun in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds and seconds % size == 0:
            count = seconds / size
            return f"{count:.0f} {noun}" + ("" if count == 1 else "s")
    return f"{seconds:g} second" + ("" if seconds == 1 else "s")


def literals(node: Node) -> Iterator[float]:
    """The numbers that an expression states."""
    for found in walk(node):
        if isinstance(found, Number):
            yield found.value
        elif isinstance(found, Duration):
            yield found.seconds
