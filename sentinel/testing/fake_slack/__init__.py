"""A strict stand-in for Slack's Web API on loopback, with a page that shows its channels as Slack would.

async with FakeSlack() as slack:
    notifier = SlackNotifier(slack.token, "C1", base_url=slack.url)
    slack.fail_next("429", retry_after=1)
    ...
    assert slack.channel("C1")[0].text.startswith("CRITICAL")
    assert slack.pings == []
"""

from sentinel.testing.fake_slack.faults import Fault
from sentinel.testing.fake_slack.server import FakeSlack, Request
from sentinel.testing.fake_slack.workspace import Channel, Message

__all__ = ["Channel", "FakeSlack", "Fault", "Message", "Request"]
