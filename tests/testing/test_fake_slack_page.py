"""The page that shows the channel."""

import re

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.notify.slack import SlackNotifier
from sentinel.testing import ManualClock, history_line, notification
from sentinel.testing.fake_slack import FakeSlack
from sentinel.testing.fake_slack.emoji import drawn
from sentinel.testing.fake_slack.markup import links, pings, to_html

TAG = re.compile(r"</?(?:b|i|s|q|pre|code|br|time|span|a)(?: [^<>]*)?>")


@pytest.fixture
async def slack():
    async with FakeSlack(channels={"C1": "rl-alerts", "C2": "general"}, clock=ManualClock()) as fake:
        yield fake


@pytest.fixture
async def browser(slack):
    async with aiohttp.ClientSession(slack.page_url) as session:
        yield session


async def read(browser, path):
    async with browser.get(path) as answer:
        assert answer.status == 200
        return await answer.text()


async def test_the_page_shows_the_message_as_slack_would(slack, browser):
    notifier = SlackNotifier(slack.token, "C1", base_url=slack.url)
    reference = await notifier.post(notification(), "00000000-0000-4000-8000-000000000001")
    await notifier.edit(reference, notification(headline="KL is worse"))
    await notifier.line(reference, notification(), history_line(text="worse"), "00000000-0000-4000-8000-000000000002")
    await notifier.close()
    page = await read(browser, "/")
    for part in (
        '<h3 class="header"><svg class="emoji"',
        "CRITICAL · grpo-7b",
        "<b>KL is worse</b>",
        "<code>4.52</code> nats/token",
        "<pre>python train.py --resume_from_checkpoint out/grpo-7b/checkpoint-150</pre>",
        '<div class="fields">',
        "<hr>",
        '<span class="app">APP</span>',
        "(edited)",
        "1 reply",
        "● worse",
    ):
        assert part in page


async def test_every_channel_has_a_page_and_others_have_none(slack, browser):
    assert "All is quiet" in await read(browser, "/channel/general")
    assert "#general" in await read(browser, "/channel/C2")
    async with browser.get("/channel/nonsense") as answer:
        assert answer.status == 404


async def test_nothing_is_loaded_from_elsewhere_and_nothing_runs_inline(slack, browser):
    async with browser.get("/") as answer:
        policy = answer.headers["Content-Security-Policy"]
        page = await answer.text()
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == [
        "data:,",
        "/page.css",
        "/page.js",
        "/channel/C1",
        "/channel/C2",
    ]
    assert " style=" not in page
    assert "fetch(" in await read(browser, "/page.js")
    assert ".message" in await read(browser, "/page.css")


async def test_a_reader_who_has_seen_all_gets_nothing_new(slack, browser):
    slack.say("C1", "hello")
    async with browser.get("/channel/C1/messages") as answer:
        assert "hello" in await answer.text()
        version = answer.headers["X-Version"]
    async with browser.get(f"/channel/C1/messages?seen={version}") as answer:
        assert answer.status == 204
    slack.say("C1", "again")
    async with browser.get(f"/channel/C1/messages?seen={version}") as answer:
        assert "again" in await answer.text()


async def test_what_people_write_is_escaped(slack, browser):
    slack.say("C1", "<script>alert(1)</script> &lt;img src=x onerror=alert(1)&gt;", author="<b>eve</b>")
    page = await read(browser, "/")
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "<b>eve" not in page


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*bold* and _italic_ and ~gone~", "<b>bold</b> and <i>italic</i> and <s>gone</s>"),
        ("2*3*4 a_b_c", "2*3*4 a_b_c"),
        ("`a *b*` &amp; &lt;c&gt;", "<code>a *b*</code> &amp; &lt;c&gt;"),
        ("x\n```a\n  b```\ny", "x<pre>a\n  b</pre>y"),
        ("a\n&gt; quoted", "a<br><q>quoted</q>"),
        (
            "<https://example.org/?a=1&amp;b=2|here>",
            '<a href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer">here</a>',
        ),
        ("<javascript:alert(1)|x>", "&lt;javascript:alert(1)|x&gt;"),
        ("<!channel>", '<span class="mention">@channel</span>'),
        ("<!date^x^{time}|later>", "<time>later</time>"),
        ("<!date^43200^{date_num} {nonsense}|x>", "<time>1970-01-01 {nonsense}</time>"),
        ("*<https://example.org|x>*", '<b><a href="https://example.org" rel="noopener noreferrer">x</a></b>'),
    ],
)
def test_mrkdwn_becomes_html(text, html):
    assert to_html(text) == html


@given(st.text(st.sampled_from(list("<>&!@#*_~`|^\"'\n {}ab0\x00")), max_size=60))
def test_no_text_becomes_html_of_its_own(text):
    assert "<" not in TAG.sub("", to_html(text))


def test_links_and_pings_are_told_apart():
    text = "<https://example.org|x> <!here> <@U1> <!date^1^{time}|x>"
    assert links(text) == ["https://example.org|x"]
    assert pings(text) == ["<!here>", "<@U1>"]


def test_known_emoji_are_drawn_and_named():
    assert 'aria-label="🔴"' in drawn("🔴 CRITICAL")
    assert drawn("🦄") == "🦄"
