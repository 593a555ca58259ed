"""`step_time`: how long one of the run's steps usually takes."""

from __future__ import annotations

import math
from array import array

LAST = 20
"""Steps that the usual time is taken from."""

LEAST = 3
"""Times below which nothing is usual."""


class StepTime:
    """The median of the last 20 times per step, known from the third on. One belongs to an attempt.

    `logged` holds what the trainer logs as `time.step_s`. Until it has logged three, the times between the events of
    steps stand in (`between`); of steps that were left out, each is given its share.
    """

    __slots__ = ("between", "logged", "step", "time", "value")

    def __init__(self) -> None:
        self.logged = array("d")
        self.between = array("d")
        self.step = -1
        self.time = math.nan
        self.value = math.nan

    def __repr__(self) -> str:
        return f"StepTime({self.value!r})"

    def update(self, step: int, time: float, logged: float | None) -> None:
        """An event of `step` (-1: of none yet) at `time` (NaN: unknown), with what it logs as its seconds."""
        if logged is not None and logged > 0.0:
            self._note(self.logged, logged)
            self._settle(self.logged)
        if step > self.step:
            between = (time - self.time) / (step - self.step)
            if self.step >= 0 and between > 0.0:
                self._note(self.between, between)
                if len(self.logged) < LEAST:
                    self._settle(self.between)
            self.step = step
            self.time = time

    @staticmethod
    def _note(times: array[float], seconds: float) -> None:
        if len(times) >= LAST:
            del times[0]
        times.append(seconds)

    def _settle(self, times: array[float]) -> None:
        held = sorted(times)
        half = len(held) >> 1
        if len(held) >= LEAST:
            self.value = held[half] if len(held) & 1 else (held[half - 1] + held[half]) / 2.0

    def clear(self) -> None:
        """Forget everything, as a new attempt does."""
        del self.logged[:]
        del self.between[:]
        self.step = -1
        self.time = math.nan
        self.value = math.nan
