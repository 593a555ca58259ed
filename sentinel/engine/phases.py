"""The phases of a run: what the trainer said of them, and what holds without a word from it.

A `phase` event begins a phase at a step; it holds from that step on, until the next one begins. A run whose trainer
has said nothing has three, by thirds of the planned steps: `early` below a third, `middle` from there, `late` from two
thirds on. They are what the guides mean by the phase of a run: its first steps are about exploration and the spread of
rewards, its middle about KL and the size of steps, its last about entropy and quality.
"""

from __future__ import annotations

import math

import msgspec

MOST_PHASES = 1000
"""Phases of one run that are remembered: a run that went back finds the one that held there."""


class Phases(msgspec.Struct):
    """What a trainer has said.

    `begun`: (step, name), steps rising. `announced`: what was said before an attempt's first step, in that order; None
    is that step.
    """

    begun: list[tuple[int, str]] = []
    announced: list[tuple[int | None, str]] = []

    def begin(self, name: str, step: int | None, newest: int) -> None:
        """A phase begins at `step`; None: now. `newest`: the run's newest step, -1 before an attempt's first.

        What was to begin there or later is replaced: the newest word counts.
        """
        if newest < 0:
            self.announced = [*self.announced, (step, name)][-MOST_PHASES:]
            return
        self._put(name, newest if step is None else step)

    def enter(self, step: int) -> None:
        """An attempt's first step: phases that began after it were another branch's."""
        self.begun = [(begun, name) for begun, name in self.begun if begun <= step]
        for begun_at, name in self.announced:
            if begun_at is not None:
                self._put(name, begun_at)
            elif self._name_at(step) != name:  # a resumed trainer says again where it is
                self._put(name, step)
        self.announced = []

    def at(self, step: int, planned: float) -> str | None:
        """The phase of a step; None when nobody can tell. `planned`: the steps planned, NaN when they are not known."""
        name = self._name_at(step)
        if name is not None:
            return name
        if math.isnan(planned) or step < 0:
            return None
        return "early" if 3 * step < planned else "middle" if 3 * step < 2 * planned else "late"

    def since(self, step: int) -> float:
        """Steps since the newest phase event; NaN without one."""
        for begun, _ in reversed(self.begun):
            if begun <= step:
                return float(step - begun)
        return math.nan

    def _name_at(self, step: int) -> str | None:
        return next((name for begun, name in reversed(self.begun) if begun <= step), None)

    def _put(self, name: str, step: int) -> None:
        self.begun = [entry for entry in self.begun if entry[0] < step][1 - MOST_PHASES :]
        self.begun.append((step, name))
