"""sentinel: streaming alerts for LLM RL post-training.

The public face is what a trainer needs: `Publisher`. It is loaded on first use, and redis only in its background
thread, so that importing this package costs a trainer next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sentinel.publisher import Publisher

__version__ = "0.1.0"

__all__ = ["Publisher", "__version__"]


def __getattr__(name: str) -> object:
    if name == "Publisher":
        from sentinel.publisher import Publisher

        return Publisher
    raise AttributeError(f"module 'sentinel' has no attribute {name!r}")
