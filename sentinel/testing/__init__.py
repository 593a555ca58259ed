"""For tests, ours and other people's: a manual clock, a recording notifier, builders, and a strict fake Slack.

The fake Slack also serves `sentinel demo`; it is in `sentinel.testing.fake_slack`, as it alone needs aiohttp.
"""

from sentinel.testing.builders import episode, history_line, notification, rollback
from sentinel.testing.clock import ManualClock
from sentinel.testing.notifier import RecordingNotifier

__all__ = ["ManualClock", "RecordingNotifier", "episode", "history_line", "notification", "rollback"]
