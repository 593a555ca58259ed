"""Shared steps: series that come together hold one array, and none of them can tell."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sentinel.stats.parts import Order
from sentinel.stats.series import Series
from sentinel.stats.shared_steps import SharedSteps
from sentinel.stats.window import Axis, Window


def series(size: int = 20) -> Series:
    made = Series()
    Window(made, Axis.STEPS, size, reach=False).attach(Order())
    return made


def note(each: Series, x: float, step: int, shared: object) -> None:
    """What the compiled kernel does with a value."""
    if each.steps is not shared:
        each.push(x, step, step * 1.0)
        return
    each.values.append(x)
    each.last, each.step, each.time = x, step, step * 1.0
    for window in each.windows:
        window.add(x, step, step * 1.0)
        window.advance(step, step * 1.0)


def play(together: SharedSteps, all_series: dict[str, Series], rows: list[set[str]]) -> None:
    for step, row in enumerate(rows):
        shared = None
        if together.members and together.sort_out(row):
            together.take(step)
            shared = together.steps
        for key in row:
            note(all_series[key], step * 1.5, step, shared)
        if step % 16 == 0:
            together.gather(all_series)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.sampled_from([{"a", "b", "c", "d"}] * 6 + [{"a"}, {"a", "b", "c"}, {"d"}, set()]), max_size=400)
)
def test_series_that_share_hold_what_series_that_do_not_share_hold(rows: list[set[str]]) -> None:
    shared = {key: series() for key in "abcd"}
    alone = {key: series() for key in "abcd"}
    play(SharedSteps(), shared, rows)
    for step, row in enumerate(rows):
        for key in row:
            alone[key].push(step * 1.5, step, step * 1.0)
    for key in "abcd":
        mine, own = shared[key], alone[key]
        held = min(len(mine.values), len(own.values))
        assert len(mine.steps) == len(mine.values)
        assert mine.values[len(mine.values) - held :] == own.values[len(own.values) - held :]
        assert mine.steps[len(mine.steps) - held :] == own.steps[len(own.steps) - held :]
        assert mine.windows[0].values == own.windows[0].values
        assert mine.windows[0].parts[0].median() == own.windows[0].parts[0].median() or not own.values
        assert (mine.seen, mine.first_step) == (own.seen, own.first_step)
        assert len(mine.values) < 140


def test_series_that_come_together_hold_one_array() -> None:
    together, found = SharedSteps(), {key: series() for key in "abc"}
    play(together, found, [set("abc")] * 50)
    assert set(together.members) == set("abc")
    assert found["a"].steps is found["b"].steps is found["c"].steps


def test_a_series_that_misses_an_event_goes_on_alone_and_comes_back() -> None:
    together, found = SharedSteps(), {key: series() for key in "abc"}
    play(together, found, [set("abc")] * 20 + [set("ab")])
    assert set(together.members) == set("ab")
    assert len(found["c"].steps) == 20
    for step in range(21, 400):
        assert together.sort_out(set("abc"))
        together.take(step)
        for each in found.values():
            note(each, 1.0, step, together.steps)
        together.gather(found)
    assert set(together.members) == set("abc")


def test_one_long_window_does_not_keep_the_past_of_the_others() -> None:
    together, found = SharedSteps(), {"a": series(), "b": series(), "c": series(), "long": series(1000)}
    play(together, found, [set(found)] * 600)
    assert set(together.members) == set("abc")
    assert len(found["long"].values) == 600
    assert len(found["a"].values) < 130


def test_dissolving_gives_each_series_its_own_steps_again() -> None:
    together, found = SharedSteps(), {key: series() for key in "ab"}
    play(together, found, [set("ab")] * 10)
    together.dissolve()
    assert not together.members
    assert found["a"].steps == found["b"].steps
    assert found["a"].steps is not found["b"].steps
