"""A notification as a Slack message. Pure.

From top to bottom: state and run; what and how bad, beside its threshold and since when; what else went wrong; the
checkpoint to go back to with reason, cost and command; what to look at and do; where the alert came from.

Slack's limits: 50 blocks, header 150 characters, section text 3,000, 10 fields of 2,000, 10 context elements, and,
unwritten but measured by others, about 13,200 characters in all blocks together (`msg_blocks_too_long`). The
parts are cut so that the sum stays below `MOST_CHARACTERS`; if it does not, the least needed blocks go first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sentinel.alerts.notification import EpisodeView, HistoryLine, LineKind, Notification, Rollback
from sentinel.notify.figures import SHARES, number, quantity
from sentinel.notify.slack.escape import bold, code, code_block, date, entities, plain, words
from sentinel.notify.wording import (
    advice_cost,
    advice_title,
    checkpoint_name,
    ending,
    fate,
    headline,
    is_open,
    lock_screen,
    measured,
    relation,
    story,
    title,
)

Block = dict[str, Any]

MOST_CHARACTERS = 12_000
MOST_HUNG = 8
MOST_REFUSED = 4
MOST_EVIDENCE = 6
MOST_ADVICE = 8
LONGEST_CONDITION = 60

# A different shape for each, never color alone: circle, triangle, letter.
_SHAPES = {"critical": "🔴", "warning": "⚠️", "info": "ℹ️"}
_RESOLVED, _ENDED = "✅", "⏹️"


def render(notification: Notification) -> dict[str, Any]:
    """`{"text": ..., "blocks": [...]}` for chat.postMessage and chat.update; always within Slack's limits."""
    return {"text": render_text(notification), "blocks": _fitting(_ranked(notification))}


def render_text(notification: Notification) -> str:
    """What a lock screen shows, and all there is when the blocks cannot be sent. At most 4,000 characters."""
    return entities(lock_screen(notification))


def render_line(notification: Notification, line: HistoryLine) -> dict[str, Any]:
    """`{"text": ...}` of a reply in the thread."""
    at = date(line.time)
    return {"text": f"{_LINE_SHAPES[line.kind]} {words(line.text, 400)}" + (f"  {at}" if at else "")}


_LINE_SHAPES: dict[LineKind, str] = {
    "opened": "●",
    "worse": "▲",
    "joined": "+",
    "again": "↻",
    "flapping": "≈",
    "eased": "▽",
    "closed": "✔",
    "ended": "■",
    "reminder": "◷",
    "mark": "✎",
    "summary": "Σ",
}


def shape(notification: Notification) -> str:
    end = ending(notification)
    if end is None:
        return _SHAPES[notification.severity]
    return _RESOLVED if end == "resolved" else _ENDED


def _ranked(notification: Notification) -> Iterator[tuple[int, Block]]:
    """The blocks in order, each with how soon it may be dropped: 0 never, a higher number sooner."""
    yield 0, _header(f"{shape(notification)} {title(notification)}")
    said = bold(headline(notification), 300) or bold(notification.incident)
    yield 0, _section(f"{said}\n{_story(notification)}")
    if notification.episodes:
        yield 2, _fields(notification.episodes[0])
        hung = notification.episodes[1:]
        if hung:
            yield 3, _section(_hung(hung))
    if notification.rollback is not None:
        yield 1, {"type": "divider"}
        yield from _rollback(notification, notification.rollback)
    if notification.episodes and notification.state == "firing":
        yield from _runbook(notification.episodes[0])
    yield 1, _context(_provenance(notification))


def _fields(lead: EpisodeView) -> Block:
    """Two columns: the value, and the threshold beside it."""
    share = lead.unit if lead.unit in SHARES else ""
    unit = f" {words(lead.unit, 30)}" if lead.unit and not share and lead.value is not None else ""
    # A long condition says less than the rule file that the last line names.
    condition = f"  ({code(lead.condition)})" if 0 < len(lead.condition) <= LONGEST_CONDITION else ""
    cells = [
        f"{bold(lead.metric, 120) or '*value*'}\n{code(quantity(lead.value, share))}{unit}",
        f"*Threshold*\n{words(relation(lead).removeprefix('threshold ')) or 'none'}{condition}",
    ]
    return {"type": "section", "fields": [_mrkdwn(cell) for cell in cells]}


def _story(notification: Notification) -> str:
    said = words(story(notification), 400)
    if notification.state == "closed" or not notification.episodes:
        return said
    at = date(notification.episodes[0].fired_time)
    return f"{said} Fired at step {notification.episodes[0].fired_step}{', ' + at if at else ''}."


def _hung(episodes: Sequence[EpisodeView]) -> str:
    rows = ["*Also*"]
    for episode in episodes[:MOST_HUNG]:
        mark = _SHAPES[episode.severity] if is_open(episode) else _ENDED
        if episode.state == "resolved":
            mark = _RESOLVED
        said = words(episode.summary.rstrip(". "), 140) or words(measured(episode), 140)
        rows.append(
            f"•  {mark} {bold(episode.alert, 60)} ({words(fate(episode))}): {said}, since step {episode.onset_step}"
        )
    if len(episodes) > MOST_HUNG:
        names = ", ".join(words(episode.alert, 30) for episode in episodes[MOST_HUNG : MOST_HUNG + 12])
        rows.append(f"•  and {len(episodes) - MOST_HUNG} more: {names}")
    return "\n".join(rows)


def _rollback(notification: Notification, rollback: Rollback) -> Iterator[tuple[int, Block]]:
    mark = "⏪" if rollback.step is not None else "✋"
    rows = [f"{mark}  {bold(advice_title(notification, rollback))}", words(rollback.reason, 500)]
    cost = advice_cost(rollback)
    if cost:
        rows.append(f"*Cost*  {words(cost)}")
    if rollback.evidence:
        values = [f"{words(metric, 60)} {code(number(value))}" for metric, value in rollback.evidence[:MOST_EVIDENCE]]
        rows.append(f"*At step {rollback.step}*  {', '.join(values)}")
    yield 0, _section("\n".join(row for row in rows if row))
    if rollback.command:
        yield 1, _section(f"*Resume with*\n{code_block(rollback.command)}")
    if rollback.refused:
        refused = [
            f"Not {code(checkpoint_name(each.step, each.path), 90)}: {words(each.reason, 200)}"
            for each in rollback.refused[:MOST_REFUSED]
        ]
        if len(rollback.refused) > MOST_REFUSED:
            refused.append(f"and {len(rollback.refused) - MOST_REFUSED} more")
        yield 3, _context(["\n".join(refused)])


def _runbook(lead: EpisodeView) -> Iterator[tuple[int, Block]]:
    divided = False
    for rank, key, name in ((4, "look_at", "Look at, in order"), (4, "do", "Do"), (5, "causes", "Often caused by")):
        items = lead.runbook.get(key, ())[:MOST_ADVICE]
        if not items:
            continue
        if not divided:
            divided = True
            yield 4, {"type": "divider"}
        marks = [f"{index}." if key == "look_at" else "• " for index in range(1, len(items) + 1)]
        rows = [f"{mark} {words(item, 300)}" for mark, item in zip(marks, items, strict=True)]
        yield rank, _section("\n".join([f"*{name}*", *rows]))


def _provenance(notification: Notification) -> list[str]:
    parts = []
    if notification.episodes:
        lead = notification.episodes[0]
        parts.append(words(lead.source, 120))
        parts.append(f"alert {code(lead.id, 60)}" if lead.id else "")
    parts.append(f"attempt {notification.attempt}")
    parts.append(words(notification.framework or "", 40))
    parts += [words(f"{name}={value}", 60) for name, value in sorted(notification.labels.items())[:4]]
    at = date(notification.time)
    parts.append(f"as of step {notification.step}" + (f", {at}" if at else ""))
    return ["  ·  ".join(part for part in parts if part)]


def _fitting(ranked: Iterator[tuple[int, Block]]) -> list[Block]:
    blocks = list(ranked)
    while len(blocks) > 1 and _size(blocks) > MOST_CHARACTERS:
        worst = max(range(len(blocks)), key=lambda index: (blocks[index][0], index))
        del blocks[worst]
    return [block for _, block in blocks]


def _size(blocks: Sequence[tuple[int, Block]]) -> int:
    return sum(len(json.dumps(block, ensure_ascii=False)) for _, block in blocks)


def _header(text: str) -> Block:
    return {"type": "header", "text": {"type": "plain_text", "text": plain(text, 150), "emoji": True}}


def _section(text: str) -> Block:
    return {"type": "section", "text": _mrkdwn(text)}


def _context(texts: Sequence[str]) -> Block:
    return {"type": "context", "elements": [_mrkdwn(text) for text in texts]}


def _mrkdwn(text: str) -> Block:
    # `verbatim`: Slack must not turn URLs, channel names or mentions in the text into live ones by itself.
    return {"type": "mrkdwn", "text": text, "verbatim": True}
