"""When the trouble began, as opposed to when a rule noticed.

A rule over medians or drawdowns fires late on purpose. The onset is found by looking back over the raw series for the
step at which it changed its course: two straight lines, one before and one after, with a break between them, against
one line throughout (segmented least squares; Bai and Perron 1998, "Estimating and testing linear models with multiple
structural changes"). It is taken only when the break explains much more than one line does, and it never lies after
the breach itself.

A run can change its course more than once before it breaks: it learns fast and then slowly, it dips and recovers. So
what follows a break is searched for a later one. The later one counts if at that point the series stood as far from
where it is now as it did at the earlier break: the trouble cannot have begun while nothing had been lost. It also
counts if the series has since come back past where it is now: a rise is dated by itself, whatever fell before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

LEAST_BEFORE = 5
"""Values before a break below which nothing can be said of the course before it."""

GAIN = 8.0
"""How many times better two lines must fit than one, per free parameter (an F ratio), for a break to be believed. The
best of many places is taken, so noise alone passes 4 in a third of all cases, 8 in one of twenty."""

DOUBT = 4.0
"""An earlier break that fits worse by less than this (an F ratio, about 95 %) is as likely, and is taken: a checkpoint
too old costs some steps, one from inside the trouble costs the run."""

STANDING = 0.9
"""Share of the way from the earlier break's level to the newest one that must still be left at a later break."""

GROWTH = 3.0
"""A positive series that ends this many times above its own median grows in proportion, and its logarithm is fitted."""


def find_onset(steps: Sequence[int], values: Sequence[float], breach: int) -> int:
    """The step at which `values` changed course, at most `breach`; `breach` when no break is to be seen.

    `steps` ascend and go with `values`, oldest first, up to the newest. O(n) for each break that is found on the way.
    """
    n = len(values)
    if n < LEAST_BEFORE + 2:
        return breach
    course = _Course(steps, _tamed(values))
    latest = n - 1
    while latest > 0 and steps[latest] > breach:
        latest -= 1
    newest = course.level(max(latest, n - LEAST_BEFORE), n)
    at, stood = -1, math.nan
    start = 0
    while (found := course.break_after(start, latest)) is not None:
        level = course.end(start, found)
        away, before = level - newest, stood - newest
        if at >= 0 and away * before > 0.0 and abs(away) < STANDING * abs(before):
            break
        at, stood = found, level
        start = found
    return breach if at < 0 else steps[at]


class _Course:
    """A series whose straight lines are fitted in O(1), from sums over its prefixes."""

    def __init__(self, steps: Sequence[int], ys: Sequence[float]) -> None:
        self.n = len(ys)
        base = steps[0]
        self.xs = [float(step - base) for step in steps]
        # From their middle: the sums of values that are large beside their spread would cancel.
        middle = sorted(ys)[self.n // 2]
        self.ys = ys = [y - middle for y in ys]
        self.px, self.py, self.pxx, self.pxy, self.pyy = ([0.0] for _ in range(5))
        for x, y in zip(self.xs, ys, strict=True):
            self.px.append(self.px[-1] + x)
            self.py.append(self.py[-1] + y)
            self.pxx.append(self.pxx[-1] + x * x)
            self.pxy.append(self.pxy[-1] + x * y)
            self.pyy.append(self.pyy[-1] + y * y)
        self.floor = 1e-12 * (self.pyy[-1] + 1e-300)

    def break_after(self, first: int, latest: int) -> int | None:
        """Index of the break in `first..n-1` that is believed, at most `latest`; None when one line does as well."""
        count = self.n - first
        errors = {
            at: self._residual(first, at) + self._residual(at, self.n) for at in range(first + LEAST_BEFORE, latest + 1)
        }
        if not errors:
            return None
        best = min(errors.values())
        unit = max(best / max(count - 4, 1), self.floor)
        if (self._residual(first, self.n) - best) / 2.0 / unit <= GAIN:
            return None
        return next(at for at, error in errors.items() if error - best <= DOUBT * unit)

    def level(self, first: int, last: int) -> float:
        """Median of the values `first..last-1`."""
        ordered = sorted(self.ys[first:last])
        return ordered[len(ordered) // 2]

    def end(self, first: int, last: int) -> float:
        """Where the values `first..last-1` stand at their end: the median of the last few."""
        return self.level(max(first, last - LEAST_BEFORE), last)

    def _residual(self, first: int, last: int) -> float:
        """Sum of squared residuals of a line through the values `first..last-1`; of a level when they are but two.

        A line through two values fits whatever they are, so a jump at the newest would be dated one value early.
        """
        count = last - first
        sx, sy = self.px[last] - self.px[first], self.py[last] - self.py[first]
        sxx = self.pxx[last] - self.pxx[first] - sx * sx / count
        sxy = self.pxy[last] - self.pxy[first] - sx * sy / count
        syy = self.pyy[last] - self.pyy[first] - sy * sy / count
        if count <= 2 or sxx <= 0.0:
            return max(syy, 0.0)
        return max(syy - sxy * sxy / sxx, 0.0)


def _tamed(values: Sequence[float]) -> Sequence[float]:
    """Logarithms of a positive series that grows in proportion: there a line fits growth, not the last point."""
    if min(values) > 0.0 and max(values) > GROWTH * sorted(values)[len(values) // 2]:
        return [math.log(value) for value in values]
    return values
