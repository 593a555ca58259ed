"""Time-lines that must fire, and time-lines that must stay silent: tests of rules, written beside them.

`grpo.test.yaml` tests `grpo.yaml`. A test says what a trainer logs, as short series, and what must come of it; it is
played through the real engine. It needs no clock, so hours pass in milliseconds. `docs/testing-rules.md` is the format.

    text → `read_tests` → Timelines → `play` each → Result, and `Coverage` of the rules over all of them

A test passes when each alert in `expect` fired as it says, each alert in `at` was in the state it says, no alert in
`silent` fired at all, and no other alert of warning or worse fired. This package opens no file.
"""

from sentinel.ruletest.coverage import Coverage, RuleCoverage
from sentinel.ruletest.document import TimelineDocument, TimelinesDocument
from sentinel.ruletest.noise import noise
from sentinel.ruletest.play import play
from sentinel.ruletest.reading import Timelines, read_tests, read_timelines
from sentinel.ruletest.result import Moment, Outcome, Result, Strip
from sentinel.ruletest.script import START, events
from sentinel.ruletest.series import Item, Repeat, parse_series, values
from sentinel.ruletest.stage import Stage
from sentinel.ruletest.steps import MAX_VALUES, Steps, parse_steps

__all__ = [
    "MAX_VALUES",
    "START",
    "Coverage",
    "Item",
    "Moment",
    "Outcome",
    "Repeat",
    "Result",
    "RuleCoverage",
    "Stage",
    "Steps",
    "Strip",
    "TimelineDocument",
    "Timelines",
    "TimelinesDocument",
    "events",
    "noise",
    "parse_series",
    "parse_steps",
    "play",
    "read_tests",
    "read_timelines",
    "values",
]
