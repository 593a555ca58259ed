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
SHARE = 0.9
"""The literal of functions that take one."""

NUMPY = {
    "count": len,
    "first": lambda xs: xs[0],
    "last": lambda xs: xs[-1],
    "max": np.max,
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "quantile": lambda xs: np.quantile(xs, SHARE),
    "slope": lambda xs: np.polyfit(np.arange(len(xs)), xs, 1)[0] if len(xs) > 2 else math.nan,
    "spikes": lambda xs: np.sum(xs > 5 * np.median(xs)) if len(xs) > 2 and np.median(xs) > 0 else math.nan,
    "std": lambda xs: np.std(xs, ddof=1),
    "sum": np.sum,
}


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
        self.named = {"literal": SHARE} if function.literal else {}
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
        places = {"places": window.places} if function.placed else {}
        return function.read(window.series.values, window.start, *self.parts, *scale, **self.named, **places)


def told_to(function: type[WindowFunction], history: list[Point]) -> list[Point]:
    """What a function is given: the truth of a condition is 1 or 0."""
    if function.conditional:
        return [Point(float(point.x > 0.0), point.step, point.time) for point in history]
    return history


def scale_of(extent: Extent) -> Extent:
    short = extent.axis is not Axis.TIME and extent.size < SCALE_SAMPLES
    return Extent(Axis.SAMPLES, SCALE_SAMPLES) if short else extent


def place(point: Point, axis: Axis) -> float:
    return point.step if axis is Axis.STEPS else point.time


def held(history: Sequence[Point], extent: Extent, *, reach: bool, step: int, time: float) -> list[Point]:
    """What a window holds by its definition."""
    if extent.axis is Axis.SAMPLES:
        return list(history[-(int(extent.size) + reach) :])
    begin = (step if extent.axis is Axis.STEPS else time) - extent.size
    later = [point for point in history if place(point, extent.axis) > begin]
    before = [point for point in history if place(point, extent.axis) <= begin]
    return before[-1:] + later if reach else later


def inside(history: Sequence[Point], extent: Extent, *, reach: bool, step: int, time: float) -> list[float]:
    return [point.x for point in held(history, extent, reach=reach, step=step, time=time)]


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
    named = {"literal": SHARE} if function.literal else {}
    if function.placed:
        points = held(history, extent, reach=function.reach, step=step, time=time)
        named["places"] = [point.time if extent.axis is Axis.TIME else point.step for point in points]
    return function.define(window, scale, **named)


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
    history, extent = told_to(function, data.draw(points())), data.draw(extents)
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
    history, extent = told_to(function, data.draw(points(max_size=40))), data.draw(extents)
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
            assert fast.read(at, math.nan) == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


@named(RUNNING_FUNCTIONS)
@settings(max_examples=60)
@given(history=points(), higher=st.booleans(), samples=st.one_of(st.none(), st.integers(1, 15)))
def test_running_form_equals_the_definition_on_every_prefix(function, history, higher, samples):
    samples = samples if function.optional_window else None
    running = function(higher_is_better=higher, samples=samples)
    # Those that only choose among values do not round.
    rounding = 1e-9 if function.name == "ewma" else 0.0
    for at in range(len(history) + 1):
        xs = [point.x for point in history[:at]]
        floor = rounding * 1e-3 * max(map(abs, xs), default=0.0)
        expected = function.define(xs, higher_is_better=higher, samples=samples)
        assert running.read() == pytest.approx(expected, rel=rounding, abs=floor, nan_ok=True)
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


@named([FUNCTIONS["best"], FUNCTIONS["worst"]])
@given(history=points(), back=st.integers(0, 400), higher=st.booleans())
def test_best_after_a_rewind_is_the_best_of_the_steps_before(function, history, back, higher):
    best = function(higher_is_better=higher, samples=None)
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
    assert "define" in vars(function) if issubclass(function, WindowFunction) else True
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


def fast_over(name: str, xs: Sequence[float], samples: int) -> float:
    series = Series()
    fast = Fast(FUNCTIONS[name], series, Extent(Axis.SAMPLES, samples))
    for at, x in enumerate(xs):
        series.push(x, at, math.nan)
    return fast.read(len(xs) - 1, math.nan)


def noise(seed: int, count: int) -> list[float]:
    return list(np.random.default_rng(seed).normal(0.0, 1.0, count))


@pytest.mark.parametrize("level", [0.0, 0.1, 1e9 / 3])
def test_a_constant_window_is_flat_and_has_no_slope(level):
    xs = [level] * 40
    assert [fast_over(name, xs, 20) for name in ("rising", "falling", "flat", "slope")] == [0.0, 0.0, 1.0, 0.0]
    assert fast_over("zscore", xs, 20) == 0.0


def test_a_ramp_rises_and_its_mirror_falls_also_through_noise():
    ramp = [1.0 + 0.2 * at + x for at, x in enumerate(noise(1, 50))]
    assert [fast_over(name, ramp, 50) for name in ("rising", "falling", "flat")] == [1.0, 0.0, 0.0]
    assert [fast_over(name, [-x for x in ramp], 50) for name in ("rising", "falling", "flat")] == [0.0, 1.0, 0.0]


def test_noise_is_seldom_a_trend_and_one_outlier_is_none():
    windows = [noise(seed, 20) for seed in range(400)]
    assert sum(fast_over("flat", xs, 20) for xs in windows) >= 390
    assert fast_over("rising", [*noise(1, 19), 1000.0], 20) == 0.0


@pytest.mark.parametrize("name", ["slope", "rising", "falling", "flat"])
def test_nothing_is_said_of_values_that_stand_at_one_moment(name):
    series = Series(timed=True)
    fast = Fast(FUNCTIONS[name], series, Extent(Axis.TIME, 60.0))
    for step, x in enumerate([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]):
        series.push(x, step, 1000.0 if step else 900.0)
    assert math.isnan(fast.read(5, 1000.0))


def test_slope_is_per_second_over_a_window_of_time():
    series = Series(timed=True)
    fast = Fast(FUNCTIONS["slope"], series, Extent(Axis.TIME, 60.0))
    for step in range(20):
        series.push(2.0 * step, step, 1000.0 + 10.0 * step)
    assert fast.read(19, 1190.0) == pytest.approx(0.2)


def test_an_outlier_among_the_others_moves_a_score_little():
    calm = [0.98, 1.02, 0.99, 1.01, 1.0, 1.03, 0.97] * 2
    score = fast_over("zscore", [*calm, 1.2], 15)
    assert score > 5.0
    assert fast_over("zscore", [*calm[:-1], 1e6, 1.2], 15) == pytest.approx(score, rel=0.5)


def test_a_score_is_unknown_where_the_others_do_not_spread():
    assert math.isnan(fast_over("zscore", [1.0] * 9 + [2.0], 10))


def test_spikes_are_unknown_where_the_usual_value_is_not_above_zero():
    assert fast_over("spikes", [1.0] * 8 + [6.0, 9.0], 10) == 2.0
    assert math.isnan(fast_over("spikes", [0.0] * 8 + [6.0, 9.0], 10))


def test_a_mean_that_went_on_is_begun_anew_by_a_run_that_goes_back():
    ewma = FUNCTIONS["ewma"](higher_is_better=True, samples=3)
    for step, x in enumerate([1.0, 2.0, 3.0, 4.0]):
        ewma.update(x, step)
    before = ewma.read()
    ewma.rewind(4)
    assert ewma.read() == before
    ewma.rewind(3)
    assert math.isnan(ewma.read())
