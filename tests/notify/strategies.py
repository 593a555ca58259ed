"""Hostile text and notifications made of it."""

from hypothesis import strategies as st

from sentinel.alerts.notification import (
    EpisodeView,
    HistoryLine,
    Notification,
    RefusedCheckpoint,
    Rollback,
)

BAIT = st.sampled_from(
    [
        "<!channel>",
        "<!here|x>",
        "<@U123>",
        "<#C1|general>",
        "<https://evil.example|ok>",
        "<!date^1^{date}|x>",
        "```",
        "`",
        "*bold*",
        "&lt;!channel&gt;",
        "&amp;lt;!here&gt;",
        "\n\n\n",
        "\r\n> quote",
        "\x1b[31m",
        "\u202e",
        "\ud800",
        "|",
        "^",
        "&",
        "<",
        ">",
        ":fire:",
        "x" * 500,
        "&" * 300,
        "模型" * 100,
    ]
)
TEXT = st.lists(BAIT | st.text(st.characters(), max_size=30), max_size=6).map("".join)
STEP = st.integers(0, 10**9)
FLOAT = st.none() | st.floats()
SEVERITY = st.sampled_from(["info", "warning", "critical"])
STATE = st.sampled_from(["pending", "firing", "resolved", "stale", "superseded", "ended", "removed"])
TEXTS = st.lists(TEXT, max_size=12).map(tuple)

EPISODE = st.builds(
    EpisodeView,
    id=TEXT,
    alert=TEXT,
    symptom=TEXT,
    severity=SEVERITY,
    state=STATE,
    summary=TEXT,
    metric=TEXT,
    value=FLOAT,
    threshold=FLOAT,
    unit=TEXT,
    onset_step=STEP,
    fired_step=STEP,
    fired_time=FLOAT,
    ended_step=st.none() | STEP,
    ended_time=FLOAT,
    condition=TEXT,
    source=TEXT,
    runbook=st.dictionaries(st.sampled_from(["look_at", "do", "causes", "else"]), TEXTS),
)
LINE = st.builds(
    HistoryLine,
    id=TEXT,
    kind=st.sampled_from(["opened", "worse", "joined", "eased", "closed", "ended"]),
    text=TEXT,
    step=STEP,
    time=FLOAT,
)
ROLLBACK = st.builds(
    Rollback,
    step=st.none() | STEP,
    path=st.none() | TEXT,
    reason=TEXT,
    steps_lost=st.none() | STEP,
    seconds_lost=FLOAT,
    command=st.none() | TEXT,
    refused=st.lists(st.builds(RefusedCheckpoint, step=STEP, path=TEXT, reason=TEXT), max_size=8).map(tuple),
    evidence=st.lists(st.tuples(TEXT, st.floats()), max_size=8).map(tuple),
)
NOTIFICATION = st.builds(
    Notification,
    incident=TEXT,
    run=TEXT,
    attempt=st.integers(1, 10**6),
    state=st.sampled_from(["firing", "closed"]),
    severity=SEVERITY,
    headline=TEXT,
    step=STEP,
    time=FLOAT,
    onset_step=STEP,
    steps_since_onset=STEP,
    seconds_since_onset=FLOAT,
    episodes=st.lists(EPISODE, max_size=4).map(tuple),
    history=st.lists(LINE, max_size=3).map(tuple),
    rollback=st.none() | ROLLBACK,
    labels=st.dictionaries(TEXT, TEXT, max_size=4),
    framework=st.none() | TEXT,
)
