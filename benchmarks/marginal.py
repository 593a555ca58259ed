"""What one more rule costs an event that touches its metric: engines with and without it, in turn."""

from __future__ import annotations

from statistics import median
from time import process_time

from benchmarks.report import Figure
from benchmarks.stopwatch import calibrate
from benchmarks.workload import Workload, entry_id, rules
from sentinel.decode import decode, entry_time
from sentinel.engine.engine import Engine
from sentinel.events import Event
from sentinel.rules.loader import load_rules
from sentinel.rules.model import RuleSet

ADDED = 50
"""Rules added at once; the cost of one is a share of what they cost together."""

KINDS: tuple[tuple[str, str], ...] = (
    ("a threshold", "kl.ref > {number}"),
    ("a threshold on a statistic that others have", "mean(kl.ref, 100 steps) > {number}"),
    ("a mean over a window of its own", "mean(kl.ref, {window} steps) > 50"),
)
"""Name, and the condition; `number` and `window` differ from rule to rule. None of them ever holds."""

_WARM = 250


def marginal(load: Workload, *, rounds: int, events: int) -> list[Figure]:
    """CPU microseconds of one more rule for each event, and the same in shares of the floor, which is decoding."""
    engines = [Engine(rules()), *(Engine(_more(condition)) for _, condition in KINDS)]
    step = 0
    spent: list[list[float]] = [[] for _ in engines]
    floors, loops = [], []
    for turn in range(rounds + 1):
        count = events if turn else _WARM
        began = process_time()
        fresh = [_event(load, at) for at in range(step, step + count)]
        floor = (process_time() - began) * 1e6 / count
        step += count
        found = [_handle(engine, fresh) * 1e6 / count for engine in engines]
        if turn:
            floors.append(floor)
            loops.append(calibrate())
            for each, cost in zip(spent, found, strict=True):
                each.append(cost)
    figures = []
    for at, (name, _) in enumerate(KINDS, 1):
        # Differences within a round: what else the machine does then is in both.
        costs = [(cost - plain) / ADDED for cost, plain in zip(spent[at], spent[0], strict=True)]
        shares = [cost / floor for cost, floor in zip(costs, floors, strict=True)]
        turns = [cost / loop for cost, loop in zip(costs, loops, strict=True)]
        figures += [
            Figure(f"{name}: one more rule", median(costs), "µs/event", min(costs), max(costs)),
            Figure(f"{name}: one more rule / floor", median(shares), "x", min(shares), max(shares)),
            Figure(f"{name}: in turns of the loop", median(turns), "turns", min(turns), max(turns)),
        ]
    return figures


def _more(condition: str) -> RuleSet:
    """The thirty rules and the added ones."""
    lines = ["rules:"]
    for at in range(ADDED):
        text = condition.format(number=50 + at, window=31 + at)
        lines.append(f'  - {{alert: added-{at}, symptom: kl-high, warning: "{text}"}}')
    added = load_rules([("added.yaml", "\n".join(lines))])
    return RuleSet((*rules().rules, *added.rules))


def _event(load: Workload, step: int) -> Event:
    entry = entry_id(0, step)
    return decode({b"event": load.event(0, step)}, position=entry, time=entry_time(entry)).event


def _handle(engine: Engine, events: list[Event]) -> float:
    began = process_time()
    for event in events:
        engine.handle(event)
    return process_time() - began
