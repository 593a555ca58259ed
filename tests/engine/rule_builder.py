"""Rules and events in a line each."""

from sentinel.events import MetricValue, StepMetrics
from sentinel.metrics import default
from sentinel.rules.expression.check import compile_text
from sentinel.rules.expression.parse import parse_extent
from sentinel.rules.model import Rule, RuleSet

START = 1_790_000_000.0


def rule(
    name: str = "alert",
    *,
    hold: str | None = None,
    keep_firing: str | None = None,
    until: str | None = None,
    symptom: str = "kl-high",
    summary: str = "{metric} is {value}",
    **options: object,
) -> Rule:
    """`info`, `warning` and `critical` are conditions; the rest is as in `Rule`."""
    conditions = [(severity, options.pop(severity, None)) for severity in ("info", "warning", "critical")]
    return Rule(
        name=name,
        symptom=symptom,
        conditions=tuple((severity, compile_text(text, default())) for severity, text in conditions if text),
        summary=summary,
        hold=parse_extent(hold) if hold else None,
        keep_firing=parse_extent(keep_firing) if keep_firing else None,
        until=compile_text(until, default()) if until else None,
        **options,
    )


def rules(*members: Rule) -> RuleSet:
    return RuleSet(members)


def at(step: int, time: float | None = None, run: str = "r", **metrics: MetricValue) -> StepMetrics:
    """A row of step metrics; `kl_ref=0.1` is `kl.ref`. `time` counts from the start of the test."""
    named = {key.replace("__", "/").replace("_", "."): value for key, value in metrics.items()}
    return StepMetrics(run=run, step=step, metrics=named, time=None if time is None else START + time)


def told(transitions) -> list[tuple[str, str, int]]:
    """(state, severity, step) of each."""
    return [(transition.state, transition.severity, transition.step) for transition in transitions]
