"""Slack with a bot token: one message an incident, edited in place, its history in the thread."""

from sentinel.notify.slack.blocks import render, render_line
from sentinel.notify.slack.sender import SlackNotifier

__all__ = ["SlackNotifier", "render", "render_line"]
