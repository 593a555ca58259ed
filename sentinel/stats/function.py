"""What a function of the rule language is. One function, one file; `sentinel.stats.FUNCTIONS` lists them.

There are these kinds, by what they look at:

- `WindowFunction`: a quantity over a moving window, read from running parts in O(1) or O(log n):
  `mean(kl.ref, 10 steps)`.
- `RunningFunction`: a quantity over all values so far: `best(reward.mean)`.
- `Probe`: a question about the series itself rather than its values: `absent(grad_norm, 10 steps)`.
- `Pointwise`: a quantity of the newest value alone; it remembers nothing: `abs(kl.ref)`.
- `Standing`: a question about another rule's alert: `firing(kl-high)`.
- `Nonfinite` and `Reference`, which are kinds of their own: one asks about what never enters a series, the other about
  a run that was recorded.

Each has a plain `define` beside its fast form. The definition is what the documentation quotes and what the tests hold
the fast form to, on every prefix of random input.

A number that cannot be known yet is NaN. That is safe inside the engine, because non-finite input never enters a
window: NaN can mean nothing else there (docs/decisions/0004).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, ClassVar

from sentinel.stats.parts import Moments, Part, PlacedPart
from sentinel.stats.series import Series
from sentinel.stats.window import Axis

SCALE_SAMPLES = 20
"""A relative change over fewer steps than this takes its noise from the last 20 samples instead."""


class Result(Enum):
    """What a function's value is, for the unit check."""

    SAME = "same"  # the unit of its argument
    TOTAL = "total"  # the unit of its argument, but not its range
    RATE = "rate"  # the unit of its argument per step, or per second over a window of time
    RATIO = "ratio"  # a fraction of the scale: compare it with a percentage
    SHARE = "share"  # a part of a whole, from 0 to 1
    PLAIN = "plain"  # a number without a unit: a count, a score
    SECONDS = "seconds"
    TRUTH = "truth"


class Function:
    """Common to all functions of the language."""

    name: ClassVar[str]
    signature: ClassVar[str]
    summary: ClassVar[str]
    result: ClassVar[Result] = Result.SAME
    needs_values: ClassVar[bool] = True
    """Whether it can say nothing of a metric that is never logged."""


class WindowFunction(Function):
    """A quantity over a window.

    - `parts`: the running parts that it reads, in the order in which `read` takes them.
    - `reach`: it needs a reach window (see `sentinel.stats.window`).
    - `covered`: it is unknown until the series reaches back to the window's beginning.
    - `least`: the number of values below which it is unknown.
    - `scaled`: it divides by the series' own scale, and takes a `Moments` and its count at the end.
    - `literal`: a number from 0 to 1 stands between its argument and its window: `quantile(x, 90%, 100 steps)`.
    - `conditional`: its argument is a condition. The window holds a 1 for each time that it was known to hold, a 0
      for each that it was known not to.
    - `placed`: it asks where values stand: at which step, or at which second over a window of time.

    One whose result is a truth reads 1.0 for true and 0.0 for false, so that NaN is unknown here too.
    """

    parts: ClassVar[tuple[type[Part] | type[PlacedPart], ...]] = ()
    reach: ClassVar[bool] = False
    covered: ClassVar[bool] = True
    least: ClassVar[int] = 1
    scaled: ClassVar[bool] = False
    conditional: ClassVar[bool] = False
    literal: ClassVar[bool] = False
    placed: ClassVar[bool] = False
    read: ClassVar[Callable[..., float]]
    """`read(values, start, *parts)`; with `scaled` also `moments, count`, with `literal` also `literal`, with `placed`
    also `places`, by these names. `values[start:]` is the window, and `places[start:]` is where its values stand."""
    define: ClassVar[Callable[..., float]]
    """`define(window, scale)`, with `literal` also `literal=`, with `placed` also `places=`: the value by definition,
    over the window's values, oldest first. `scale` holds the values that the noise is taken from (of scaled
    functions), the newest last; `places` has one entry for each value of the window."""


class RunningFunction(Function):
    """A quantity over all values so far. An instance holds the state of one series of one run.

    `optional_window`: whether a window may be given; `samples` is then its size. `needs_window`: whether it must be.
    `owned`: it belongs to one alert of one rule and is shared with no other; it is updated while there is no such
    alert, and has `hold` and `take_back` (see `sentinel.stats.baseline`).
    """

    optional_window: ClassVar[bool] = False
    owned: ClassVar[bool] = False
    needs_window: ClassVar[bool] = False
    __slots__: tuple[str, ...] = ()

    def __init__(self, *, higher_is_better: bool, samples: int | None) -> None:
        raise NotImplementedError

    def update(self, x: float, step: int) -> None:
        """A finite value at `step`, the run's own step number (not counted from the attempt's first)."""
        raise NotImplementedError

    def read(self) -> float:
        raise NotImplementedError

    def rewind(self, step: int) -> None:
        """The run went back: forget what was learned at or after `step`."""
        raise NotImplementedError

    @staticmethod
    def define(history: Sequence[float], *, higher_is_better: bool, samples: int | None) -> float:
        raise NotImplementedError


class Probe(Function):
    """A question about a series.

    - `axes`: the windows it takes; empty when it takes none.
    - `every_event`: its answer can change without the metric being logged.
    - `due`: seconds-based probes say when their answer changes if nothing is logged.
    """

    axes: ClassVar[tuple[Axis, ...]] = ()
    every_event: ClassVar[bool] = False

    @staticmethod
    def read(series: Series, step: int, time: float, origin: float, size: float) -> Any:
        """The answer now: `origin` is when the attempt began; `size` that of the window, 0 for none."""
        raise NotImplementedError

    @classmethod
    def reader(cls, axis: Axis | None) -> Callable[..., Any]:
        """What answers over a window on `axis`, None for no window: `read`, unless seconds need another answer."""
        return cls.read


class Pointwise(Function):
    """A quantity of its argument's newest value alone."""

    @staticmethod
    def read(x: float) -> float:
        """NaN stays NaN."""
        raise NotImplementedError


class Standing(Function):
    """A question about the alerts of another rule. It is asked at every event."""

    result = Result.TRUTH
    needs_values = False

    @staticmethod
    def read(record: Any, level: int) -> bool:
        """`record`: one alert's (`sentinel.engine.lifecycle.Record`), None when it is inactive. `level`: the index of
        the lowest severity that counts among its rule's conditions."""
        raise NotImplementedError


def spread_before_newest(values: array[float], moments: Moments, count: int) -> float:
    """Sample standard deviation of a window's values without its newest one, 0 for fewer than two.

    The window is the last `count` of `values`, and `moments` are its own.
    """
    n = count - 1
    if n < 2:
        return 0.0
    d = values[-1] - moments.about
    first = moments.first - d
    second = moments.second - d * d
    variance = (second - first * first / n) / (n - 1)
    if variance < 1e-9 * moments.second:
        # A jump drowns the noise before it in rounding: take it from the values, as long as the jump is the newest.
        before = values[-count:-1]
        mean = math.fsum(before) / n
        variance = math.fsum([(x - mean) ** 2 for x in before]) / (n - 1)
    return math.sqrt(variance)


def relative(difference: float, reference: float, values: array[float], moments: Moments, count: int) -> float:
    """`difference / scale`, with `scale = max(|reference|, noise)`; 0 when nothing has changed.

    The noise is the standard deviation of the values before the newest, over the last `count`. For a series well away
    from zero that
    is the plain percentage; for a reward that hovers about zero it measures in the run's own noise. NaN where there
    is no scale.
    """
    if difference == 0.0:
        return 0.0
    scale = abs(reference)
    noise = spread_before_newest(values, moments, count)
    if noise > scale:
        scale = noise
    return difference / scale if scale > 1e-12 * abs(difference) else math.nan


def defined_relative(difference: float, reference: float, scale_values: Sequence[float]) -> float:
    """`relative` by definition, over the values that the noise is taken from (the newest last)."""
    if difference == 0.0:
        return 0.0
    before = [float(x) for x in scale_values[:-1]]
    noise = 0.0
    if len(before) >= 2:
        mean = math.fsum(before) / len(before)
        noise = math.sqrt(math.fsum((x - mean) ** 2 for x in before) / (len(before) - 1))
    scale = max(abs(reference), noise)
    return difference / scale if scale > 1e-12 * abs(difference) else math.nan


__all__ = [
    "SCALE_SAMPLES",
    "Function",
    "Pointwise",
    "Probe",
    "Result",
    "RunningFunction",
    "Standing",
    "WindowFunction",
    "defined_relative",
    "relative",
]
