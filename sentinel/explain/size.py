"""How much a rule keeps of each run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from sentinel.engine.plan import Plan, build
from sentinel.stats.best import MOST
from sentinel.stats.series import SLACK
from sentinel.stats.window import Axis

DOUBLE = 8
STEP = 4

RECORD = 600
"""Bytes of an open alert with its clocks."""


def state_bytes(plan: Plan, seconds_per_step: float) -> int:
    """About how many bytes the plan's slots take in one run once all windows are full.

    An upper bound: rules that look at the same metrics share most of it. `seconds_per_step` turns windows of time into
    numbers of values.
    """
    slots: Mapping[str, Any] = build(plan, {})
    held: dict[str, int] = {}
    total = RECORD * len(plan.instances)
    for key, window in plan.windows.items():
        size = window.extent.size / seconds_per_step if window.extent.axis is Axis.TIME else window.extent.size
        held[key] = int(size) + window.reach + 1
        total += sys.getsizeof(slots[key])
    for key, spec in plan.series.items():
        values = max([spec.keep, *(held[window.key] for window in spec.windows)])
        values += max(SLACK, values >> 4)
        total += sys.getsizeof(slots[key]) + values * (DOUBLE + STEP + (DOUBLE if spec.timed else 0))
    for key, (owner, _) in plan.parts.items():
        part = slots[key]
        ordered = any(hasattr(part, name) for name in ("ordered", "tails"))
        total += sys.getsizeof(part) + (held[owner] * DOUBLE if ordered else 0)
    for key, running in plan.running.items():
        total += sys.getsizeof(slots[key]) + max(running.samples or 0, MOST) * 2 * DOUBLE
    return total
