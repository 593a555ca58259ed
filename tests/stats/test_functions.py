"""One test for all functions: the fast form says what the definition says, on every prefix of random input."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_series import Point, points

from sentinel.rules.expression.nodes import Extent
from sentinel.stats import FUNCTIONS, Probe, Result, RunningFunction, WindowFunction
from sentinel.stats.best import MOST
from sentinel.stats.function import SCALE_SAMPLES
from sentinel.stats.parts import Moments
from sentinel.stats.series import Series
from sentinel.stats.window import Axis, Window

WINDOW_FUNCTIONS = [function for function in FUNCTIONS.values() if issubclass(function, WindowFunction)]
RUNNING_FUNCTIONS = [function for function in FUNCTIONS.values() if issubclass(function, RunningFunction)]
NUMPY = {"mean": np.mean, "median": np.median, "min": np.min, "max": np.max, "std": lambda xs: np.std(xs, ddof=1)}


def named(functions):
    return pytest.mark.parametrize("function", functions, ids=lambda function: function.name)


extents = st.one_of(
    st.builds(Extent, st.just(Axis.STEPS), st.integers(1, 60)),
    st.builds(Extent, st.just(Axis.SAMPLES), st.integers(1, 40)),
    st.builds(Extent, st.just(Axis.TIME), st.sampled_from([0.25, 1.0, 10.0, 300.0, 600.0])),
)


class Fast:
    """A function over its own window and parts, as a plan would attach them."""

    def __init__(self, function: type[WindowFunction], series: Series, extent: Extent) -> None:
        self.function = function
        self.window = Window(series, extent.axis, extent.size, reach=function.reach)
        self.parts = [part() for part in function.parts]
        for part in self.parts:
            self.window.attach(part)
        if function.scaled:
            scale = scale_of(extent)
            self.scale = Window(series, scale.axis, scale.size, reach=True)
            self.moments = Moments()
            self.scale.attach(self.moments)

    def read(self, step: int, time: float) -> float:
        window, function = self.window, self.function
        if window.count < function.least or (function.covered and not window.covered(step, time)):
            return math.nan
        scale = [self.moments, self.scale.count] if function.scaled else []
        return function.read(window.series.values, window.start, *self.parts, *scale)


def scale_of(extent: Extent) -> Extent:
    short = extent.axis is not Axis.TIME and extent.size < SCALE_SAMPLES
    return Extent(Axis.SAMPLES, SCALE_SAMPLES) if short else extent


def place(point: Point, axis: Axis) -> float:
    return point.step if axis is Axis.STEPS else point.time


def inside(history: Sequence[Point], extent: Extent, *, reach: bool, step: int, time: float) -> list[float]:
    """The values of a window by its definition."""
    if extent.axis is Axis.SAMPLES:
        return [point.x for point in history[-(int(extent.size) + reach) :]]
    begin = (step if extent.axis is Axis.STEPS else time) - extent.size
    later = [point.x for point in history if place(point, extent.axis) > begin]
    before = [point.x for point in history if place(point, extent.axis) <= begin]
    return before[-1:] + later if reach else later


def covered(history: Sequence[Point], extent: Extent, *, reach: bool, step: int, time: float) -> bool:
    if extent.axis is Axis.SAMPLES:
        return len(history) >= extent.size + reach
    if extent.axis is Axis.STEPS:
        return bool(history) and history[0].step <= step - extent.size + (not reach)
    return bool(history) and history[0].time <= time - extent.size


def defined(function: type[WindowFunction], history: Sequence[Point], extent: Extent, step: int, time: float) -> float:
    window = inside(history, extent, reach=function.reach, step=step, time=time)
    known = covered(history, extent, reach=function.reach, step=step, time=time)
    if len(window) < function.least or (function.covered and not known):
        return math.nan
    scale = inside(history, scale_of(extent), reach=True, step=step, time=time)
    return function.define(window, scale)


def same(function: type[WindowFunction], fast: float, slow: float, window: Sequence[float]) -> bool:
    if math.isnan(slow) or math.isnan(fast):
        # Whether a difference is "almost nothing" beside the scale is itself rounded.
        return (math.isnan(slow) and math.isnan(fast)) or abs(fast if math.isnan(slow) else slow) > 1e11
    largest = max(map(abs, window), default=0.0)
    floor = 1e-12 if function.result is Result.RATIO else 1e-12 * largest
    return math.isclose(fast, slow, rel_tol=1e-6, abs_tol=floor)


@named(WINDOW_FUNCTIONS)
@settings(max_examples=60)
@given(data=st.data())
def test_fast_form_equals_the_definition_on_every_prefix(function, data):
    history, extent = data.draw(points()), data.draw(extents)
    series = Series(timed=True, keep=data.draw(st.sampled_from([0, 5, 100])))
    fast = Fast(function, series, extent)
    for at, point in enumerate(history):
        series.push(point.x, point.step, point.time)
        slow = defined(function, history[: at + 1], extent, point.step, point.time)
        window = inside(history[: at + 1], extent, reach=function.reach, step=point.step, time=point.time)
        assert same(function, fast.read(point.step, point.time), slow, window), (at, point)


@named(WINDOW_FUNCTIONS)
@settings(max_examples=40)
@given(data=st.data())
def test_a_window_moves_on_when_nothing_is_logged(function, data):
    history, extent = data.draw(points(max_size=40)), data.draw(extents)
    series = Series(timed=True)
    fast = Fast(function, series, extent)
    for at, point in enumerate(history):
        series.push(point.x, point.step, point.time)
        step, time = (
            point.step + data.draw(st.integers(0, 30)),
            point.time + data.draw(st.sampled_from([0.0, 3.0, 301.0])),
        )
        if at + 1 < len(history) and (step > history[at + 1].step or time > history[at + 1].time):
            continue
        for window in series.windows:
            window.advance(step, time)
        slow = defined(function, history[: at + 1], extent, step, time)
        window = inside(history[: at + 1], extent, reach=function.reach, step=step, time=time)
        assert same(function, fast.read(step, time), slow, window), (at, point)


@named([function for function in WINDOW_FUNCTIONS if function.name in NUMPY])
@settings(max_examples=40)
@given(data=st.data())
def test_numpy_says_the_same(function, data):
    series, size = Series(), data.draw(st.integers(2, 30))
    fast = Fast(function, series, Extent(Axis.SAMPLES, size))
    history = [k / 16 for k in data.draw(st.lists(st.integers(-(2**20), 2**20), max_size=80))]
    for at, x in enumerate(history):
        series.push(x, at, math.nan)
        if at + 1 >= size:
            expected = NUMPY[function.name](np.array(history[at + 1 - size : at + 1]))
            assert fast.read(at, math.nan) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@named(RUNNING_FUNCTIONS)
@settings(max_examples=60)
@given(history=points(), higher=st.booleans(), samples=st.one_of(st.none(), st.integers(1, 15)))
def test_running_form_equals_the_definition_on_every_prefix(function, history, higher, samples):
    samples = samples if function.optional_window else None
    running = function(higher_is_better=higher, samples=samples)
    for at in range(len(history) + 1):
        xs = [point.x for point in history[:at]]
        assert running.read() == pytest.approx(
            function.define(xs, higher_is_better=higher, samples=samples), rel=0, abs=0, nan_ok=True
        )
        if at < len(history):
            running.update(history[at].x, history[at].step)


@named(RUNNING_FUNCTIONS)
@settings(max_examples=60)
@given(history=points(), back=st.integers(0, 400), higher=st.booleans())
def test_a_rewind_before_everything_forgets_everything_and_after_everything_nothing(function, history, back, higher):
    running = function(higher_is_better=higher, samples=None)
    for point in history:
        running.update(point.x, point.step)
    before = running.read()
    running.rewind((history[-1].step if history else 0) + 1 + back)
    assert running.read() == pytest.approx(before, rel=0, abs=0, nan_ok=True)
    running.rewind(0)
    assert math.isnan(running.read())


@given(history=points(), back=st.integers(0, 400), higher=st.booleans())
def test_best_after_a_rewind_is_the_best_of_the_steps_before(history, back, higher):
    best = FUNCTIONS["best"](higher_is_better=higher, samples=None)
    for point in history:
        best.update(point.x, point.step)
    best.rewind(back)
    expected = best.define([point.x for point in history if point.step < back], higher_is_better=higher, samples=None)
    if len(history) <= MOST:
        assert best.read() == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


def test_best_keeps_few_of_a_series_that_only_rises():
    best = FUNCTIONS["best"](higher_is_better=True, samples=None)
    for step in range(10_000):
        best.update(float(step), step)
    assert len(best.values) == len(best.steps) <= MOST
    best.rewind(5_000)
    assert 5_000 - (10_000 - 5_000) / 2 < best.read() < 5_000


@named(FUNCTIONS.values())
def test_every_function_says_what_it_is(function):
    assert FUNCTIONS[function.name] is function
    assert function.signature.startswith(f"{function.name}(")
    assert function.summary and function.__doc__
    assert function.define is not WindowFunction.define if issubclass(function, WindowFunction) else True
    assert function.define is not RunningFunction.define if issubclass(function, RunningFunction) else True
    assert not issubclass(function, Probe) or function.axes or not function.signature.endswith("window)")


@named([FUNCTIONS[name] for name in ("change", "drop", "rise")])
def test_a_jump_does_not_hide_the_noise_before_it(function):
    noise = [0.0, 1e-4, 0.0, -1e-4] * 10
    jump = 1e6 if function.name != "drop" else -1e6
    series = Series()
    fast = Fast(function, series, Extent(Axis.SAMPLES, 30))
    for at, x in enumerate([*noise, jump]):
        series.push(x, at, math.nan)
    assert fast.read(len(noise), math.nan) == pytest.approx(
        function.define([*noise, jump][-31:], [*noise, jump][-31:]), rel=1e-9
    )
