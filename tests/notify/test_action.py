"""The decision what to send next, under every interruption."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sentinel.notify.action import (
    Edit,
    Line,
    Post,
    confirm,
    forget_message,
    in_doubt,
    intend,
    next_action,
    refuse,
)
from sentinel.ports import OutboxRow, Told
from sentinel.testing import history_line, notification

OPENED = history_line()
WORSE = history_line(kind="worse", step=180, text="worse")
CLOSED = history_line(kind="closed", step=200, text="closed")

FIRST = notification(history=(OPENED,))
SECOND = notification(history=(OPENED, WORSE), severity="critical", headline="now worse", step=180)
LAST = notification(history=(OPENED, WORSE, CLOSED), state="closed", step=200)


def row(told=None, wanted=FIRST):
    return OutboxRow("slack", wanted, told or Told())


def told_all(wanted=FIRST, reference="r1"):
    return Told(reference=reference, digest=wanted.digest, said=tuple(line.id for line in wanted.history))


def test_an_incident_that_was_never_told_is_posted():
    assert isinstance(next_action(row()), Post)


def test_a_closed_incident_that_was_never_told_is_posted_in_its_final_state_with_its_lines():
    assert isinstance(next_action(row(wanted=LAST)), Post)
    told = confirm(intend(Told(), next_action(row(wanted=LAST)), LAST.digest), Post("post", "x"), LAST.digest, "r1")
    assert isinstance(next_action(row(told, LAST)), Line)


def test_nothing_is_sent_when_everything_was_told():
    assert next_action(row(told_all())) is None


def test_a_changed_state_is_edited_before_its_history_is_told():
    assert next_action(row(told_all(), SECOND)) == Edit("r1")
    action = next_action(row(replace(told_all(), digest=SECOND.digest), SECOND))
    assert isinstance(action, Line)
    assert action.line == WORSE
    assert action.intent == "line:worse-180"


def test_the_message_id_is_the_same_after_a_restart_and_differs_between_messages():
    one = next_action(row())
    again = next_action(row(intend(Told(), one, FIRST.digest)))
    assert one.message_id == again.message_id
    assert next_action(OutboxRow("console", FIRST)).message_id != one.message_id
    other = notification(incident="other")
    assert next_action(row(wanted=other)).message_id != one.message_id


def test_a_lost_message_is_posted_anew_with_another_id():
    told = forget_message(told_all())
    action = next_action(row(told))
    assert isinstance(action, Post)
    assert action.message_id != next_action(row()).message_id
    assert next_action(row(intend(told, action, FIRST.digest))).message_id == action.message_id
    assert next_action(row(refuse(told))).message_id == action.message_id


def test_history_under_a_message_posted_anew_has_new_ids():
    before = next_action(row(replace(told_all(FIRST), digest=SECOND.digest), SECOND))
    after = next_action(row(replace(told_all(FIRST, "r2"), digest=SECOND.digest), SECOND))
    assert before.message_id != after.message_id


def test_a_post_in_doubt_whose_state_changed_since_is_followed_by_an_edit():
    told = intend(Told(), next_action(row()), FIRST.digest)
    action = next_action(row(told, SECOND))
    assert in_doubt(told, action)
    told = confirm(intend(told, action, SECOND.digest), action, SECOND.digest, "r1")
    assert next_action(row(told, SECOND)) == Edit("r1")


def test_a_refusal_of_a_repeat_leaves_the_first_try_in_doubt():
    told = intend(Told(), next_action(row()), FIRST.digest)
    told = refuse(told)
    assert in_doubt(told, next_action(row(told, SECOND)))


def test_an_edit_in_doubt_is_sent_again_though_the_state_went_back():
    told = intend(told_all(), Edit("r1"), SECOND.digest)
    assert next_action(row(told, FIRST)) == Edit("r1")


def test_refusals_are_counted_until_one_is_taken():
    told = refuse(refuse(told_all()))
    assert told.failures == 2
    assert confirm(told, Edit("r1"), "d").failures == 0


class Receiver:
    """Deduplicates by id, as Slack does."""

    def __init__(self):
        self.state = {}
        self.lines = {}
        self.posts = {}

    def take(self, action, wanted):
        match action:
            case Post(message_id=message_id):
                if message_id not in self.posts:
                    self.posts[message_id] = f"r{len(self.posts) + 1}"
                    self.state[self.posts[message_id]] = wanted.digest
                return self.posts[message_id]
            case Edit(reference=reference):
                self.state[reference] = wanted.digest
            case Line(reference=reference, message_id=message_id, line=line):
                self.lines.setdefault(reference, {})[message_id] = line.text
        return None


FATES = st.sampled_from(["works", "crash-before-send", "crash-after-send", "answer-lost", "refused", "later"])


STATES = st.sampled_from([FIRST, SECOND, LAST])


@given(st.lists(st.tuples(FATES, STATES), max_size=25))
@settings(max_examples=500, deadline=None)
def test_interrupted_after_any_step_the_receiver_ends_with_exactly_the_same(turns):
    """The state may change between any two steps, and even go back."""
    receiver = Receiver()
    stored = Told()
    for fate, wanted in [*turns, *[("works", LAST)] * 10]:
        action = next_action(row(stored, wanted))
        if action is None:
            continue
        before = stored
        stored = intend(before, action, wanted.digest)
        if fate == "crash-before-send":
            continue
        if fate == "refused":
            stored = refuse(before)
            continue
        if fate == "later":
            stored = before
            continue
        reference = receiver.take(action, wanted)
        if fate in ("crash-after-send", "answer-lost"):
            continue
        stored = confirm(stored, action, wanted.digest, reference)
    assert next_action(row(stored, LAST)) is None
    assert receiver.state == {"r1": LAST.digest}
    assert sorted(receiver.lines["r1"].values()) == ["closed", "worse"]
