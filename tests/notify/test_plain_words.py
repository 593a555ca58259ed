"""Text, figures and sentences that every channel shares."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.notify.figures import count, duration, number
from sentinel.notify.plain import clip, one_line, several_lines
from sentinel.notify.wording import (
    advice_title,
    checkpoint_name,
    ending,
    lock_screen,
    measured,
    moment,
    relation,
    state_word,
    story,
)
from sentinel.testing import episode, notification, rollback

ANY_TEXT = st.text(st.characters(), max_size=400)


@given(ANY_TEXT)
def test_one_line_is_one_visible_line_within_its_limit(text):
    shown = one_line(text, 200)
    assert len(shown) <= 200
    assert not any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in shown)
    shown.encode("utf-8")


@given(ANY_TEXT, st.integers(1, 300), st.integers(1, 5))
def test_several_lines_keep_to_their_limits(text, limit, lines):
    shown = several_lines(text, limit, lines)
    assert len(shown) <= limit
    assert shown.count("\n") <= lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n\tb", "a b"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("left\u202eright", "left\\u202eright"),
        ("lone \ud800", "lone \\ud800"),
        ("naïve 模型 🔴", "naïve 模型 🔴"),
    ],
)
def test_hidden_characters_are_shown_as_escapes(text, shown):
    assert one_line(text) == shown


def test_a_value_of_ten_megabytes_is_cut_before_it_is_read():
    assert one_line("x" * 10_000_000) == "x" * 199 + "…"
    assert clip("abc", 2) == "a…"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (4.5172, "4.52"),
        (0.5, "0.5"),
        (0.0, "0"),
        (-0.0, "0"),
        (-0.01234, "-0.0123"),
        (999.6, "1000"),
        (1234.5, "1,230"),
        (123456, "123,000"),
        (1.5e-7, "1.5e-7"),
        (1e12, "1e12"),
        (None, "not finite"),
        (float("nan"), "not finite"),
        (float("-inf"), "not finite"),
    ],
)
def test_numbers_have_three_significant_digits(value, shown):
    assert number(value) == shown


# At the very end of the range the three digits round to what no float can hold.
@given(st.floats(-1e308, 1e308) | st.just(float("nan")) | st.just(float("inf")))
def test_any_number_is_shown_close_to_what_it_is(value):
    shown = number(value)
    if shown != "not finite":
        assert float(shown.replace(",", "")) == pytest.approx(value, rel=0.0051, abs=0)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (42.4, "42 s"),
        (754, "12 min 34 s"),
        (3600, "1 h"),
        (5040, "1 h 24 min"),
        (200_000, "2 d 7 h"),
        (-3, "0 s"),
        (float("inf"), "unknown time"),
    ],
)
def test_durations_have_two_units(seconds, shown):
    assert duration(seconds) == shown


def test_counts_agree_with_their_noun():
    assert [count(1, "step"), count(0, "step"), count(2400, "step")] == ["1 step", "0 steps", "2,400 steps"]


def test_the_lock_screen_says_the_whole_matter():
    assert lock_screen(notification()) == (
        "CRITICAL grpo-7b: KL to the reference is 4.52, critical above 0.5, since step 171. Go back to checkpoint-150."
    )


def test_the_lock_screen_does_not_say_the_onset_twice():
    text = lock_screen(notification(headline="KL 4.52 since step 171"))
    assert text.count("since step 171") == 1


def test_a_closed_incident_says_how_long_it_lasted():
    done = notification(
        state="closed",
        step=240,
        steps_since_onset=69,
        seconds_since_onset=2070.0,
        episodes=(episode(state="resolved", ended_step=240),),
    )
    assert lock_screen(done).startswith("RESOLVED grpo-7b: ")
    assert lock_screen(done).endswith("It lasted from step 171 to 240: 69 steps, 34 min 30 s.")


@pytest.mark.parametrize(
    ("states", "word"),
    [
        (["resolved"], "RESOLVED"),
        (["resolved", "ended"], "RUN ENDED"),
        (["stale", "resolved"], "STALE"),
        (["superseded"], "SUPERSEDED"),
        (["removed"], "RULE REMOVED"),
        ([], "RESOLVED"),
    ],
)
def test_recovery_is_claimed_only_if_every_episode_recovered(states, word):
    done = notification(state="closed", episodes=tuple(episode(state=state) for state in states))
    assert state_word(done) == word
    assert ending(done) is not None
    assert "It lasted" in story(done)


def test_advice_is_in_the_past_only_once_the_trouble_has_cleared():
    def told(state):
        done = notification(state="closed", episodes=(episode(state=state),))
        return advice_title(done, rollback())

    assert advice_title(notification(), rollback()) == "Go back to checkpoint-150"
    assert told("resolved") == "The advice was to go back to checkpoint-150"
    assert told("ended") == "Before going on, go back to checkpoint-150"
    assert advice_title(notification(), rollback(step=None, path=None)) == "No checkpoint to go back to"


@pytest.mark.parametrize(
    ("value", "threshold", "said"),
    [
        (4.5, 0.5, "above 0.5"),
        (0.1, 0.5, "below 0.5"),
        (0.5, 0.5, "at 0.5"),
        (None, 0.5, "threshold 0.5"),
        (1, None, ""),
    ],
)
def test_a_value_is_placed_beside_its_threshold(value, threshold, said):
    assert relation(episode(value=value, threshold=threshold)) == said


def test_a_measurement_has_its_unit():
    assert measured(episode()) == "kl.ref 4.52 nats/token, above 0.5"
    assert measured(episode(value=None)) == "kl.ref not finite, threshold 0.5"


@pytest.mark.parametrize(
    ("step", "path", "name"),
    [
        (150, "out/checkpoint-150/", "checkpoint-150"),
        (150, "out/latest", "latest (step 150)"),
        (150, None, "step 150"),
        (None, None, "the checkpoint"),
    ],
)
def test_a_checkpoint_is_named_with_its_step(step, path, name):
    assert checkpoint_name(step, path) == name


@pytest.mark.parametrize("seconds", [None, float("nan"), 1e300, float("inf")])
def test_a_time_that_is_none_is_left_out(seconds):
    assert moment(seconds) == ""
