"""What a rule means, before any run: in words, what it needs, when it can speak, how fast it can fire."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from sentinel.engine.context import CONFIG, MAX_STEPS, PROGRESS, constants_of
from sentinel.engine.engine import Engine
from sentinel.engine.program import Program
from sentinel.engine.recorded import Column, RecordedRun
from sentinel.events import Phase, RunStarted, StepMetrics
from sentinel.explain.asked import asked_rules
from sentinel.explain.outlook import MOST_ROWS, outlook
from sentinel.explain.warmup import Wait, fires, speaks, waits_of
from sentinel.explain.words import Clause, Words, spelled
from sentinel.metrics import Dictionary, MetricInfo
from sentinel.metrics.keys import KeyRow
from sentinel.rules.expression.nodes import Call, Context, InPhase, Metric, alerts_of, walk
from sentinel.rules.footprint import footprint
from sentinel.rules.model import Rule, RuleSet
from sentinel.severity import Severity
from sentinel.stats import FUNCTIONS, Reference

SECONDS_PER_STEP = 30.0
"""What a step takes where windows of time are turned into numbers of steps."""

SHAPES = ((0.3, 0.01), (0.03, 0.01), (3.0, 0.01), (300.0, 0.01), (1.0, 0.01), (0.0, 0.0), (1.0, 0.0))
"""At which level metrics of the even run stand, and by which share of it they go up and down: one after the other,
until there is one at which the rule is quiet and then fires."""

PERCENT = 60.0
"""The same of a metric that counts in percent."""

ROOM = 30
"""Rows that the even run goes on after the rule can speak."""


@dataclass(frozen=True, slots=True)
class Need:
    """A metric that a rule looks at. `info`: its entry in the dictionary, None for a trainer's own key or a pattern.

    `rows`: who logs it, under which key, and since when. `asked_only`: the rule only asks whether it is there.
    """

    metric: str
    info: MetricInfo | None
    rows: tuple[tuple[str, KeyRow], ...]
    asked_only: bool


@dataclass(frozen=True, slots=True)
class Story:
    """A rule in words.

    - `sentences`: (severity, the condition and how long it must hold); `outlines`: the condition part by part.
    - `hold`: how long it must hold, as the end of a sentence.
    - `ends`: what resolves it. `taints`: what it means for checkpoints.
    - `needs`: metrics; `config`: keys of the configuration that a run must state.
    - `recorded`: metrics that its reference run must log; `asks`: the rules about whose alerts it asks.
    - `speaks`, `fires`: the least that a run must have logged before a condition can hold, and before it can fire.
    - `fastest`: rows from the onset to firing at best, tried on an even run; `fastest_silence`: seconds without an
      event that do it. Both None when no way was found.
    - `unknown`: notes on when it says nothing. `bytes`: about how much it keeps of a run.
    """

    rule: Rule
    sentences: tuple[tuple[Severity, str], ...]
    outlines: tuple[tuple[Severity, Clause], ...]
    hold: str
    ends: str
    taints: str
    limits: tuple[str, ...]
    needs: tuple[Need, ...]
    config: tuple[str, ...]
    recorded: tuple[str, ...]
    asks: tuple[str, ...]
    speaks: Wait
    fires: Wait
    fastest: int | None
    fastest_silence: float | None
    unknown: tuple[str, ...]
    bytes: int


def tell(rule: Rule, dictionary: Dictionary, rules: RuleSet | None = None) -> Story:
    """The story of a rule. `rules`: those in force with it, for a rule that speaks of others."""
    words = Words(dictionary)
    rules = rules if rules is not None else RuleSet((rule,))
    fastest, silence = _fastest(rule, rules, dictionary, words)
    asked = waits_of(asked_rules(rule, rules))
    return Story(
        rule=rule,
        sentences=tuple((severity, _sentence(rule, severity, words)) for severity, _ in rule.conditions),
        outlines=tuple((severity, words.outline(condition)) for severity, condition in rule.conditions),
        hold=_hold(rule),
        ends=_ends(rule, words),
        taints=_taints(rule),
        limits=tuple(_limits(rule)),
        needs=tuple(_needs(rule, dictionary)),
        config=_config(rule),
        recorded=tuple(dict.fromkeys(str(call.argument) for call in _reference_calls(rule))),
        asks=tuple(dict.fromkeys(alert.name for root in rule.expressions() for alert in alerts_of(root))),
        speaks=speaks(rule, asked),
        fires=fires(rule, asked),
        fastest=fastest,
        fastest_silence=silence,
        unknown=tuple(_unknown(rule)),
        bytes=footprint([rule]),
    )


def _sentence(rule: Rule, severity: Severity, words: Words) -> str:
    condition = next(node for found, node in rule.conditions if found == severity)
    return f"{severity} when {words.condition(condition)}{_hold(rule)}."


def _hold(rule: Rule) -> str:
    if rule.hold is None:
        return ", at once"
    if rule.hold.size == 1:
        return f", for {spelled(rule.hold)}"
    return f", for {spelled(rule.hold)}" + (" in a row" if rule.hold.axis.value != "time" else "")


def _ends(rule: Rule, words: Words) -> str:
    false = "the condition is" if len(rule.conditions) == 1 else "all conditions are"
    over = f"{false} known to be false" if rule.until is None else words.condition(rule.until)
    if rule.until is not None:
        over += ", and no condition of it holds"
    lasting = f", for {spelled(rule.keep_firing)}" if rule.keep_firing is not None else ""
    return f"It resolves when {over}{lasting}."


def _taints(rule: Rule) -> str:
    if rule.taints:
        return "Checkpoints saved from the onset on are suspect: the advice is to go back to one from before it."
    return "Checkpoints stay as good as they were: it gives no reason to go back."


def _limits(rule: Rule) -> Iterator[str]:
    if rule.where:
        asked = " and ".join(f"{key} is {value}" for key, value in rule.where.items())
        yield f"Only for runs whose {asked}."
    if rule.after:
        yield f"Not before an attempt has gone on for {rule.after} steps."
    if rule.phases:
        yield f"Only in the phase {' or '.join(rule.phases)}; what fired goes on until it is over."
    for override in rule.overrides:
        given = " and ".join(f"{key} is {value}" for key, value in override.where.items())
        what = f"other {', '.join(override.changes)}" if override.rule is not None else "it is off"
        yield f"For runs whose {given}: {what} ({override.source})."


def _config(rule: Rule) -> tuple[str, ...]:
    return tuple(
        f"one of {', '.join(MAX_STEPS)}" if name == PROGRESS else name.removeprefix(CONFIG)
        for name in constants_of(rule.expressions())
    )


def _needs(rule: Rule, dictionary: Dictionary) -> Iterator[Need]:
    calls = [node for expression in rule.expressions() for node in walk(expression) if isinstance(node, Call)]
    asked = {call.argument for call in calls if not FUNCTIONS[call.function].needs_values}
    used = {call.argument for call in calls if FUNCTIONS[call.function].needs_values}
    for metric in _metrics_of_run(rule):
        info = None if metric.raw else dictionary.describe(metric.name.replace("*", "x"))
        rows = () if info is None else tuple(dictionary.rows_of(info.name))
        yield Need(str(metric), info, rows, metric in asked and metric not in used)


def _reference_calls(rule: Rule) -> list[Call]:
    nodes = [node for expression in rule.expressions() for node in walk(expression)]
    return [node for node in nodes if isinstance(node, Call) and issubclass(FUNCTIONS[node.function], Reference)]


def _metrics_of_run(rule: Rule) -> list[Metric]:
    """The metrics that the run itself must log: not those that only its reference run is asked for."""
    inside = {id(call.argument) for call in _reference_calls(rule)}
    nodes = [node for expression in rule.expressions() for node in walk(expression)]
    return list(dict.fromkeys(node for node in nodes if isinstance(node, Metric) and id(node) not in inside))


def _unknown(rule: Rule) -> Iterator[str]:
    functions = {
        node.function: FUNCTIONS[node.function]
        for expression in rule.expressions()
        for node in walk(expression)
        if isinstance(node, Call)
    }
    if any(getattr(function, "covered", False) for function in functions.values()):
        yield "While a window is not covered the part that looks at it is unknown: it neither fires nor resolves."
    if rule.hold is not None:
        yield "A step at which the condition is unknown stops the count and does not set it back."
    if any(function.needs_values for function in functions.values()) or not functions:
        yield "A value that is not a number enters no window."
    if any(issubclass(function, Reference) for function in functions.values()):
        yield "Without a reference run, and beyond its last step, what is held against it is unknown."


# --- an even run ------------------------------------------------------------------------------------------------


def _fastest(rule: Rule, rules: RuleSet, dictionary: Dictionary, words: Words) -> tuple[int | None, float | None]:
    """Rows from the onset to firing at best, or seconds of silence: an even run until the rule can speak, then the
    worst that can come."""
    program = Program(rules, dictionary)
    asked = [need.metric for need in _needs(rule, dictionary) if need.asked_only]
    for left_out, (level, noise) in product((False, True) if asked else (False,), SHAPES):
        engine = _even_run(rule, program, level, noise, asked if left_out else ())
        run = engine.runs["even"]
        if run.compiled is None:
            continue
        own = [at for at, one in enumerate(run.compiled.instances) if one.rule.name == rule.name]
        if own and all(run.records[at] is None for at in own):
            found = [one for one in outlook(engine, run, own[0], words) if one.changes or not one.rows]
            if found:
                soonest = min(found, key=lambda one: one.rows)
                return (soonest.rows, None) if soonest.rows else (None, soonest.seconds)
    return None, None


def _even_run(rule: Rule, program: Program, level: float, noise: float, left_out: Sequence[str]) -> Engine:
    asked = [rule, *asked_rules(rule, program.rules)]
    expressions = [expression for one in asked for expression in one.expressions()]
    metrics = list(dict.fromkeys(metric for one in asked for metric in one.metrics()))
    levels = {_key(metric): _level(metric, level, program.dictionary) for metric in metrics}
    recorded = {key: Column(array("q", [0]), array("d", [at])) for key, at in levels.items()}
    engine = Engine(program.rules, program=program, references={"even": RecordedRun(recorded, 2 * MOST_ROWS)})
    config: dict[str, object] = {
        ("max_steps" if name == PROGRESS else name.removeprefix(CONFIG)): 1000.0 if name == PROGRESS else 0.1
        for name in constants_of(expressions)
    }
    labels = {key: value for key, value in rule.where.items() if key != "framework"}
    framework = rule.where.get("framework")
    engine.handle(RunStarted(run="even", labels=labels, config=config, framework=framework, time=0.0))
    phase = next(_phases(rule), None)
    if phase is not None:
        engine.handle(Phase(run="even", name=phase, step=1, time=0.0))
    wait = speaks(rule, waits_of(asked[1:]))
    rows = wait.steps + math.ceil(wait.seconds / SECONDS_PER_STEP) + ROOM
    logged = {_key(metric) for metric in metrics if str(metric) not in left_out}
    for step in range(1, min(rows, MOST_ROWS) + 1):
        # A little up and down, so that nothing is divided by a spread of zero.
        row: dict[str, float | None] = {
            key: at * (1.0 + noise * math.sin(1.7 * step + place))
            for place, (key, at) in enumerate(levels.items())
            if key in logged
        }
        engine.handle(StepMetrics(run="even", step=step, metrics=row, time=step * SECONDS_PER_STEP))
    return engine


def _phases(rule: Rule) -> Iterator[str]:
    """Phases in which the rule may fire."""
    yield from rule.phases
    for expression in rule.expressions():
        for node in walk(expression):
            if isinstance(node, InPhase):
                yield node.name if not node.other else f"not {node.name}"
            elif node == Context("phase_step"):
                yield "even"


def _level(metric: Metric, level: float, dictionary: Dictionary) -> float:
    info = None if metric.raw else dictionary.describe(metric.name.replace("*", "x"))
    return PERCENT if info is not None and info.unit.startswith("percent") else level


def _key(metric: Metric) -> str:
    name = metric.name if metric.raw else metric.name.replace("*", "x")
    labels = ",".join(f"{key}={value}" for key, value in metric.labels)
    return f"{name}{{{labels}}}" if labels else name
