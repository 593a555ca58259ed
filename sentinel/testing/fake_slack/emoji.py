"""The few emoji that sentinel sends, drawn as SVG: not every machine that shows the page has a font for them."""

from __future__ import annotations

import re

_SHAPES = {
    "🔴": '<circle cx="10" cy="10" r="8.5" fill="#dd2e44"/>',
    "⚠️": (
        '<path d="M10 1.5 19 18H1z" fill="#ffcc4d" stroke="#e8a317" stroke-linejoin="round"/>'
        '<path d="M10 7v5.5" stroke="#231f20" stroke-width="2" stroke-linecap="round"/>'
        '<circle cx="10" cy="15.4" r="1.2" fill="#231f20"/>'
    ),
    "ℹ️": (
        '<rect x="1.5" y="1.5" width="17" height="17" rx="3" fill="#3b88c3"/>'
        '<circle cx="10" cy="5.6" r="1.4" fill="#fff"/>'
        '<path d="M10 9v6" stroke="#fff" stroke-width="2.4" stroke-linecap="round"/>'
    ),
    "✅": (
        '<rect x="1.5" y="1.5" width="17" height="17" rx="3" fill="#77b255"/>'
        '<path d="m5.5 10.5 3 3.2 6-7.4" fill="none" stroke="#fff" stroke-width="2.4" stroke-linecap="round"/>'
    ),
    "⏹️": (
        '<rect x="1.5" y="1.5" width="17" height="17" rx="3" fill="#7d8a97"/>'
        '<rect x="6" y="6" width="8" height="8" fill="#fff"/>'
    ),
    "⏪": (
        '<rect x="1.5" y="1.5" width="17" height="17" rx="3" fill="#3b88c3"/>'
        '<path d="M10 5.5v9L4 10zM16 5.5v9L10 10z" fill="#fff"/>'
    ),
    "✋": (
        '<rect x="1.5" y="1.5" width="17" height="17" rx="8.5" fill="#ffb02e"/>'
        '<path d="M5 10h10" stroke="#fff" stroke-width="2.8"/>'
    ),
}

_ANY = re.compile("|".join(re.escape(char) for char in sorted(_SHAPES, key=len, reverse=True)))


def drawn(html: str) -> str:
    """`html` with the known emoji replaced by drawings that a screen reader names."""
    return _ANY.sub(
        lambda match: (
            f'<svg class="emoji" viewBox="0 0 20 20" role="img" aria-label="{match[0]}">{_SHAPES[match[0]]}</svg>'
        ),
        html,
    )
