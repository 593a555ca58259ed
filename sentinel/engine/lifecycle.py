"""The life of an alert, from the first breach to its end. All rules of state are in this file.

An *episode* begins with the first evaluation at which a condition holds. Each severity has a clock of its own that
counts evaluations (or seconds) for which its condition has held; unknown (None) stops the clock without setting it
back, because missing data is evidence of nothing. When a clock has held for the rule's `for`, the episode fires with
that severity. It can rise later, never fall: a person who is told "critical" and looks later should find the word that
woke them.

A firing episode is *over* when its reset condition (`until`) is true and no condition holds, or without one when every
condition is known to be false. It resolves after being over for `keep_firing_for`.

    state      what happens                                    next      told as
    ---------  ----------------------------------------------  --------  ---------
    inactive   a condition holds                               pending   pending
    inactive   a condition holds and there is no `for`         firing    firing
    pending    a clock has held for `for`                      firing    firing
    pending    every condition is false                        inactive  (nothing)
    firing     a higher severity has held for `for`            firing    firing
    firing     over for `keep_firing_for`                      inactive  resolved
    firing     the data stopped, the run was rewound, ended,   inactive  stale, superseded,
               or the rule went away                                     ended, removed

The four last ends are not recovery and never say so.

`for: 3 steps` and `3 samples` count evaluations: steps that were skipped are not held against or for the rule. Two rows
of one step are one evaluation. `for: 5m` is measured between the first and the newest evaluation that held.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sentinel.rules.expression.nodes import Extent
from sentinel.severity import AlertState
from sentinel.stats.window import Axis

NEVER = -1


class Clock(msgspec.Struct):
    """How long one severity's condition has held: `count` evaluations since `step` and `time`.

    `sequence`: the newest of them, by the run's own count of evaluations.
    """

    count: int = 0
    step: int = NEVER
    time: float = 0.0
    sequence: int = NEVER

    def take(self, truth: bool | None, step: int, time: float, sequence: int) -> None:
        """One more evaluation. Unknown leaves the clock as it is; the rows of one step count once."""
        if truth:
            if not self.count:
                self.step, self.time = step, time
                self.count = 1
            elif sequence != self.sequence:
                self.count += 1
            self.sequence = sequence
        elif truth is False:
            self.count = 0

    def held(self, extent: Extent | None, time: float) -> bool:
        if not self.count:
            return False
        if extent is None:
            return True
        if extent.axis is Axis.TIME:
            # The same sum as the engine schedules by, so that it holds at that moment to the last bit.
            return time >= self.time + extent.size
        return self.count >= extent.size


class Record(msgspec.Struct):
    """One episode of one rule instance. Exists from the first breach to the end; plain data for the snapshot.

    `onset_step`, `onset_time`: the evaluation at which the breach began. `level`: index into the rule's conditions of
    the severity that fired, -1 while pending.
    """

    id: str
    state: AlertState
    onset_step: int
    onset_time: float | None
    clocks: list[Clock]
    level: int = -1
    over: Clock = msgspec.field(default_factory=Clock)
    fired_step: int = NEVER
    fired_time: float | None = None


def judge(
    record: Record,
    truths: Sequence[bool | None],
    until: bool | None,
    *,
    has_until: bool,
    hold: Extent | None,
    keep_firing: Extent | None,
    step: int,
    time: float,
    sequence: int,
) -> AlertState | None:
    """Take one evaluation into account.

    `truths`: one per severity, rising. Returns the state to tell (`pending`, `firing`, `resolved`) when it changed or
    its severity rose, `"inactive"`-like silence as None. A record whose state becomes `ended` without having
    fired is to be dropped.
    """
    for clock, truth in zip(record.clocks, truths, strict=True):
        clock.take(truth, step, time, sequence)
    # An unknown condition does not fire, even when the seconds of its `for` run out meanwhile.
    level = max((at for at, clock in enumerate(record.clocks) if truths[at] and clock.held(hold, time)), default=-1)
    if level > record.level:
        was_firing = record.level >= 0
        record.level = level
        record.state = "firing"
        record.over.count = 0
        if not was_firing:
            record.fired_step, record.fired_time = step, time
        return "firing"
    if record.level < 0:
        if all(not clock.count for clock in record.clocks):
            record.state = "ended"
        return None
    # What still holds is not over, whatever the reset condition says.
    over = until and not any(truths) if has_until else _over(truths)
    record.over.take(over, step, time, sequence)
    if over and record.over.held(keep_firing, time):
        record.state = "resolved"
        return "resolved"
    return None


def _over(truths: Sequence[bool | None]) -> bool | None:
    """Resolve only on evidence: over when all are known to be false."""
    if any(truths):
        return False
    return None if any(truth is None for truth in truths) else True
