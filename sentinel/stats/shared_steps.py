"""One array of steps for the series of a run that always come together.

A trainer logs thirty numbers with each step. Thirty arrays of the same steps would be a third of a run's memory and a
good part of its time, so series whose steps are the same, value for value, hold one and the same array. It is an
economy and nothing else: a series that is not in an event in which the others are, or that must remember much longer,
takes a copy of its own and goes on alone. It may come back when the values around the gap have been dropped.
"""

from __future__ import annotations

from array import array
from collections.abc import Container, Mapping

from sentinel.stats.series import SLACK, Series

TURNS = 64
"""Events between two looks for series that could share."""


class SharedSteps:
    """`members`: the series that hold `steps`, each under the key that it is logged by. Empty at the beginning.

    While it is a member, a series is settled with the others, here; its own `limit` means nothing.
    """

    __slots__ = ("limit", "members", "steps", "turn")

    def __init__(self) -> None:
        self.members: dict[str, Series] = {}
        self.steps = array("I")
        self.limit = 0
        self.turn = 0

    def __repr__(self) -> str:
        return f"SharedSteps({len(self.members)} series, held={len(self.steps)})"

    def take(self, step: int) -> None:
        """All members have a value at `step`: make room if there is none, and note it once for all."""
        if len(self.steps) >= self.limit:
            self._settle()
        self.steps.append(step)

    def sort_out(self, present: Container[str]) -> bool:
        """Whether all members are among the keys `present`, after those that are in the minority have left.

        When some are there and some are not, the smaller half goes on alone.
        """
        here = [key for key in self.members if key in present]
        if not here or len(here) == len(self.members):
            return bool(here)
        most_are_here = 2 * len(here) > len(self.members)
        self._release([key for key in self.members if key not in present] if most_are_here else here)
        return most_are_here

    def gather(self, series: Mapping[str, Series]) -> None:
        """Take in those of `series`, by key, that stand at the steps held; the largest group when none are held."""
        alone = {key: each for key, each in series.items() if key not in self.members and each.values}
        if not self.members:
            groups: dict[bytes, list[str]] = {}
            for key, each in alone.items():
                groups.setdefault(each.steps.tobytes(), []).append(key)
            largest = max(groups.values(), key=len, default=[])
            if len(largest) < 2:
                return
            self.limit = 0
            self.join({key: alone[key] for key in largest})
        else:
            own, held = self.steps.tobytes(), len(self.steps)
            for key, each in alone.items():
                extra = len(each.steps) - held
                # It may hold more of the past, if that is past which it does not need.
                if 0 <= extra <= max(each.spare, 0) and each.steps[extra:].tobytes() == own:
                    each.drop(extra)
                    self.join({key: each})

    def join(self, series: Mapping[str, Series]) -> None:
        """Take in `series`, by key, whose steps are known to be the same."""
        for key, each in series.items():
            if not self.members:
                self.steps = each.steps
            self.members[key] = each
            each.steps = self.steps

    def dissolve(self) -> None:
        """Give each member its own array again."""
        self._release(list(self.members))
        self.turn = 0

    def _release(self, keys: list[str]) -> None:
        for key in keys:
            series = self.members.pop(key)
            series.steps = self.steps[:]
            series.limit = 0
        if not self.members:
            self.steps = array("I")

    def _settle(self) -> None:
        """`Series.settle` for all members at once."""
        spare = {key: series.spare for key, series in self.members.items()}
        usual = sorted(spare.values())[len(spare) // 2]
        # One long window must not keep the past of all the others in memory.
        self._release([key for key, count in spare.items() if count < usual - SLACK // 2])
        cut = min(spare[key] for key in self.members)
        if cut > 0:
            del self.steps[:cut]
        for series in self.members.values():
            if cut > 0:
                series.drop(cut)
            series.renew()
        held = len(self.steps)
        self.limit = held + max(SLACK, held >> 3)
