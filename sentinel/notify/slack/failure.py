"""What Slack's refusals mean for delivery: later, never, or perhaps taken. The table is data.

Sources: Slack's reference of chat.postMessage and chat.update, and its page on rate limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sentinel.errors import DeliveryError, DeliveryRefused, DeliveryRetry
from sentinel.notify.plain import one_line
from sentinel.notify.retry import parse_retry_after

RATE_LIMITED = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})

# Slack could not do it now. `fatal_error` and `internal_error` say in their own description that part of it may have
# been done, so they are ambiguous.
PASSING = frozenset({"service_unavailable", "team_added_to_org", "org_login_required", "ekm_access_denied"})
AMBIGUOUS = frozenset(
    {"fatal_error", "internal_error", "request_timeout", "duplicate_message_not_found", "accesslimited"}
)

LOST = frozenset({"message_not_found", "cant_update_message", "thread_not_found", "edit_window_closed"})

# Blocks that Slack does not take; the same message as text alone may pass.
BAD_BLOCKS = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "too_many_blocks"})

# What a person can do about the ones that happen in practice.
REMEDIES: dict[str, str] = {
    "invalid_auth": "the token is wrong or was revoked",
    "token_revoked": "the token was revoked",
    "token_expired": "the token has expired",
    "account_inactive": "the app or its user was removed from the workspace",
    "not_authed": "no token was sent",
    "missing_scope": "the app needs the scope chat:write",
    "channel_not_found": "no such channel, or a private one the app is not in",
    "not_in_channel": "invite the app to the channel",
    "is_archived": "the channel is archived",
    "restricted_action": "the workspace lets only some people post in this channel",
    "msg_too_long": "the message is over Slack's limit of 40,000 characters",
    "invalid_blocks": "the message's layout was refused",
}


def from_answer(status: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> DeliveryError:
    """The error for an answer that is not `200` with `"ok": true`. `body`: its JSON object, empty if it was none."""
    code = body.get("error")
    code = one_line(code, 80) if isinstance(code, str) and code else f"http_{status}"
    words = one_line(_details(code, body), 600)
    if status == 429 or code in RATE_LIMITED:
        wait = parse_retry_after(headers.get("Retry-After"), date=headers.get("Date"))
        return DeliveryRetry(code if code in RATE_LIMITED else "ratelimited", words, retry_after=wait)
    if status >= 500:
        wait = parse_retry_after(headers.get("Retry-After"), date=headers.get("Date"))
        return DeliveryRetry(code, words, retry_after=wait, ambiguous=True)
    if status == 200 and not body:
        return DeliveryRetry("unreadable_answer", "200 without a JSON object", ambiguous=True)
    if code in AMBIGUOUS:
        return DeliveryRetry(code, words, ambiguous=True)
    if code in PASSING:
        return DeliveryRetry(code, words)
    return DeliveryRefused(code, words, lost_reference=code in LOST)


def _details(code: str, body: Mapping[str, Any]) -> str:
    """The remedy, and Slack's own words where it gives any."""
    parts = [REMEDIES[code]] if code in REMEDIES else []
    metadata = body.get("response_metadata")
    if isinstance(metadata, Mapping):
        messages = metadata.get("messages")
        if isinstance(messages, list):
            parts += [message for message in messages[:5] if isinstance(message, str)]
    needed = body.get("needed")
    if isinstance(needed, str):
        parts.append(f"needed: {needed}")
    return "; ".join(parts)
