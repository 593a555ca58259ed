"""A notification as plain text for a terminal or a log file. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from sentinel.alerts.notification import EpisodeView, HistoryLine, Notification, Rollback
from sentinel.notify.figures import number
from sentinel.notify.plain import one_line, several_lines
from sentinel.notify.wording import (
    advice_cost,
    advice_title,
    checkpoint_name,
    ending,
    fate,
    headline,
    is_open,
    measured,
    moment,
    story,
    title,
)

WIDTH = 100

MOST_HUNG = 10
MOST_REFUSED = 4
MOST_ADVICE = 8

# One shape per state, so that a terminal without color says the same.
_SHAPES = {"critical": "●", "warning": "▲", "info": "◆"}
_RESOLVED, _ENDED = "✔", "■"


def render(notification: Notification) -> str:
    """Several lines that end in a newline; no control character but newlines."""
    return "\n".join(_lines(notification)) + "\n"


def render_brief(notification: Notification) -> str:
    """State, headline and since when: the first lines of `render`."""
    return "\n".join(_head(notification)) + "\n"


def render_line(notification: Notification, line: HistoryLine) -> str:
    """One line of history, ending in a newline."""
    return f"  ↳ {one_line(notification.run, 100)} step {line.step}: {one_line(line.text, 400)}\n"


def shape(notification: Notification) -> str:
    end = ending(notification)
    if end is None:
        return _SHAPES[notification.severity]
    return _RESOLVED if end == "resolved" else _ENDED


def _head(notification: Notification) -> Iterator[str]:
    yield f"{shape(notification)} {title(notification)}"
    yield from _wrap(headline(notification), "  ")
    yield from _wrap(story(notification), "  ")


def _lines(notification: Notification) -> Iterator[str]:
    yield from _head(notification)
    if notification.episodes:
        lead, *hung = notification.episodes
        yield f"    {measured(lead)}"
        for episode in hung[:MOST_HUNG]:
            yield from _wrap(_hung(episode), "    ")
        if len(hung) > MOST_HUNG:
            names = ", ".join(one_line(episode.alert, 40) for episode in hung[MOST_HUNG : MOST_HUNG + 20])
            yield from _wrap(f"and {len(hung) - MOST_HUNG} more: {names}", "    ")
    if notification.rollback is not None:
        yield from _rollback(notification, notification.rollback)
    if notification.episodes and notification.state == "firing":
        yield from _runbook(notification.episodes[0])
    yield f"  {_provenance(notification)}"


def _hung(episode: EpisodeView) -> str:
    mark = _SHAPES[episode.severity] if is_open(episode) else _ENDED
    if episode.state == "resolved":
        mark = _RESOLVED
    words = one_line(episode.summary, 160).rstrip(". ") or measured(episode)
    return f"{mark} {one_line(episode.alert, 60)} ({fate(episode)}): {words}, since step {episode.onset_step}"


def _rollback(notification: Notification, rollback: Rollback) -> Iterator[str]:
    yield f"  → {advice_title(notification, rollback)}"
    yield from _wrap(one_line(rollback.reason, 500), "    ")
    cost = advice_cost(rollback)
    if cost:
        yield f"    Cost: {cost}"
    if rollback.evidence:
        values = ", ".join(f"{one_line(metric, 60)} {number(value)}" for metric, value in rollback.evidence[:6])
        yield from _wrap(f"At step {rollback.step}: {values}", "    ")
    if rollback.command:
        for row in several_lines(rollback.command, 1500, 12).split("\n"):
            # Never wrapped: a person copies it.
            yield f"    resume with: {row}"
    for refused in rollback.refused[:MOST_REFUSED]:
        name = checkpoint_name(refused.step, refused.path)
        yield from _wrap(f"not {name}: {one_line(refused.reason, 200)}", "    ")
    if len(rollback.refused) > MOST_REFUSED:
        yield f"    and {len(rollback.refused) - MOST_REFUSED} more refused"


def _runbook(episode: EpisodeView) -> Iterator[str]:
    for key, words in (("look_at", "Look at, in order"), ("do", "Do"), ("causes", "Often caused by")):
        items = episode.runbook.get(key, ())
        if items:
            yield f"  {words}:"
            for index, item in enumerate(items[:MOST_ADVICE], start=1):
                mark = f"{index}." if key == "look_at" else "-"
                yield from _wrap(f"{mark} {one_line(item, 300)}", "    ")


def _provenance(notification: Notification) -> str:
    parts = []
    if notification.episodes:
        lead = notification.episodes[0]
        parts += [one_line(lead.source, 120), f"alert {one_line(lead.id, 60)}"]
    parts += [f"attempt {notification.attempt}", moment(notification.time)]
    return "[" + " · ".join(part for part in parts if part) + "]"


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    ) or [indent.rstrip()]
