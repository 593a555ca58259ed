"""What to send next to a receiver, and what is then known of it.

A row holds two states: what should be told (the notification) and what was (`Told`). The functions here are
pure and compare the two; whoever sends does, for each action,

    begun = intend(told, action, digest)    record it, and only then send
    told = confirm(begun, action, ...)      the receiver took it; record that
    told                                    it certainly did not, and it will be tried again: record the old one
    told = refuse(told)                     it will not take it until a person mends something
    told = forget_message(told)             the message is gone; post anew

That an attempt was not taken says nothing of an earlier one that is still in doubt: hence the old `told`.

A crash anywhere leaves either a state from before the intent (the send never began) or one with the intent set
(the send is in doubt). `next_action` then gives the same action with the same `message_id`, so a receiver that
drops repeats shows it once and any other at most twice.

The state may change while a post is in doubt. Whether the receiver then holds the older words or the newer cannot be
known, so neither digest is reported as told, and an edit follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import NAMESPACE_URL, UUID, uuid5

from msgspec.structs import replace

from sentinel.alerts.notification import HistoryLine
from sentinel.ports import OutboxRow, Told

_UNKNOWN = "?"
"""The digest of a message that holds one of several states. Equal to no real one."""

_MESSAGES: UUID = uuid5(NAMESPACE_URL, "sentinel:message")


@dataclass(frozen=True, slots=True)
class Post:
    """Tell an incident for the first time, or anew after its message was lost. `tells`: the lines it stands for."""

    intent: str
    message_id: str
    tells: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """Bring the message up to date."""

    reference: str
    intent: str = "edit"


@dataclass(frozen=True, slots=True)
class Line:
    """Add one line of history beneath the message."""

    reference: str
    intent: str
    message_id: str
    line: HistoryLine


Action = Post | Edit | Line


def next_action(row: OutboxRow) -> Action | None:
    """The one thing to send now, or None when the receiver knows everything.

    The state comes before the history: a person who opens the message must find the truth first.
    """
    told = row.told
    notification = row.notification
    if told.reference is None:
        intent = told.intent if told.intent and told.intent.startswith("post") else "post"
        # The opening line is the message itself.
        return Post(intent, _message_id(row, intent), tuple(line.id for line in notification.history[:1]))
    # An edit in doubt may have arrived though the state has gone back since, so it is always followed by another.
    if told.digest != notification.digest or told.intent == "edit":
        return Edit(told.reference)
    line = next(told.untold(notification), None)
    if line is not None:
        # The reference is part of the id: under a message that was posted anew its history is told again.
        message_id = _message_id(row, "line", told.reference, line.id)
        return Line(told.reference, f"line:{line.id}", message_id, line)
    return None


def in_doubt(told: Told, action: Action) -> bool:
    """Whether this very send was begun before and its outcome is not known."""
    if isinstance(action, Post):
        # "post:<lost reference>" stands there before the post is begun; the digest is set when it is.
        return told.intent == action.intent and told.digest != ""
    return told.intent == action.intent


def intend(told: Told, action: Action, digest: str) -> Told:
    """What to record before the send. `digest`: of the notification that is about to be sent."""
    if isinstance(action, Post):
        if in_doubt(told, action) and told.digest != digest:
            digest = _UNKNOWN
        return replace(told, intent=action.intent, digest=digest)
    return replace(told, intent=action.intent)


def confirm(told: Told, action: Action, digest: str, reference: str | None = None) -> Told:
    """What to record after the receiver took it. `reference`: its answer to a Post.

    `told` is what `intend` returned.
    """
    match action:
        case Post():
            return Told(reference=reference, digest=told.digest, said=action.tells, failures=told.failures)
        case Edit():
            return replace(told, digest=digest, intent=None, failures=0)
        case Line(line=line):
            return replace(told, said=(*told.said, line.id), intent=None, failures=0)


def refuse(told: Told) -> Told:
    """What to record when the receiver will not take it. `told`: as it was before the intent."""
    return replace(told, failures=told.failures + 1)


def forget_message(told: Told) -> Told:
    """What to record when the message is gone: nothing was told, and the next post must not have the old one's id.

    A receiver that drops repeats would answer the old id with the lost message for ever. It counts as a failure until
    an edit or a line reaches the new message, so that a receiver that loses each one is noticed.
    """
    return Told(intent=f"post:{told.reference}", failures=told.failures + 1)


def _message_id(row: OutboxRow, *words: str) -> str:
    """A UUID that a repeat of the same send, after any restart, makes again."""
    return str(uuid5(_MESSAGES, "\x00".join((row.notification.incident, row.receiver, *words))))
