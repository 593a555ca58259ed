"""The console: each thing told is written as plain text to a stream."""

from sentinel.notify.console.render import render, render_line
from sentinel.notify.console.sender import ConsoleNotifier

__all__ = ["ConsoleNotifier", "render", "render_line"]
