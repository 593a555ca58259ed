"""When a run must be looked at again though nothing is logged, as one Python function for all its rules.

    soonest(slots, records, bad, rel, step, time, origin, held, constants, phases, recorded, after) -> seconds

The moment at which the first of the silences that rules wait for has lasted long enough, of those that lie behind
`after`; infinity for none. The other parameters are those of the kernel (`sentinel.engine.compile`): it is asked at
every event, so it is generated like the kernel, and silences that several rules wait for are asked once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping

from sentinel.engine.expressions import Expressions, moves, windows_of
from sentinel.engine.plan import Plan, scale_extent, window_key
from sentinel.rules.expression.nodes import Node
from sentinel.stats import FUNCTIONS, WindowFunction

Silence = tuple[str, float | Node]
"""The slot key of a series, and how many seconds after its newest value somebody must look; those that hang on the
run's state are a tree."""

Soonest = Callable[..., float]

_NAME = re.compile(r"\w+")


def compile_silences(plan: Plan, keys: Mapping[str, str], silences: Iterable[Silence]) -> Soonest | None:
    """What says when the first of the silences is over; None when there are none to wait for.

    `keys`: series name → the trainer's own key, for series that the run logs.
    """
    waited: dict[str, list[float | Node]] = {}
    for series, wait in dict.fromkeys(silences):
        waited.setdefault(series, []).append(wait)
    if not waited:
        return None
    found = Expressions(plan, keys)
    out = found.out
    out.namespace["inf"] = math.inf
    out.put("due = inf")
    for series, waits in waited.items():
        slot = found.slot[series]
        out.put(f"since = {slot}.time if {slot}.time == {slot}.time else origin")
        for wait in waits:
            if not isinstance(wait, float | int):
                _catch_up(found, wait)
            out.put(f"at = since + {wait!r}" if isinstance(wait, float | int) else f"at = since + {found.number(wait)}")
            # What cannot be known is NaN: neither before nor after anything.
            out.put("if after < at < due:")
            out.put("    due = at")
    out.put("return due")
    parameters = "slots, records, bad, rel, step, time, origin, held, constants, phases, recorded, after"
    named = {name for line in out.lines for name in _NAME.findall(line)}
    head = [f"def soonest({parameters}):"]
    head += [f"    {name} = slots[{place}]" for place, name in enumerate(found.slot.values()) if name in named]
    head += [f"    {name} = rel - {size}" for size, name in found.behind.items()]
    soonest, _ = out.function("soonest", head)
    return soonest


def _catch_up(found: Expressions, node: Node) -> None:
    """Move the windows of an expression on to now."""
    for call in windows_of(node):
        function, extent = FUNCTIONS[call.function], call.window
        assert issubclass(function, WindowFunction) and extent is not None
        if moves(extent):
            found.out.put(f"{found.slot[window_key(call.argument, extent, reach=function.reach)]}.advance(rel, time)")
            if function.scaled:
                scale = window_key(call.argument, scale_extent(extent), reach=True)
                found.out.put(f"{found.slot[scale]}.advance(rel, time)")
