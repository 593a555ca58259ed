"""Random rule sets and random runs: every function, and all that can be wrong with a row."""

import math
from array import array

from hypothesis import strategies as st
from rule_builder import START, rule

from sentinel.engine.engine import Engine
from sentinel.engine.recorded import Column, RecordedRun
from sentinel.events import Event, Phase, RunFinished, RunStarted, Sample, StepMetrics
from sentinel.rules.model import Rule, RuleSet

KEYS = ("kl.ref", "reward.mean", "entropy", "my key/x")
COMPONENTS = ("reward.component.a", "reward.component.b")
PARTS = ("kl.ref", "reward.std", "tokens.step", "reward.mixed_pct")
"""What `reward.spread`, `throughput.tokens_per_s` (with `time.step_s`) and `reward.zero_std_frac` are made of."""

SERIES = st.sampled_from(
    ["kl.ref", "kl.ref", "reward.mean", "entropy", "`my key/x`", "reward.spread", "throughput.tokens_per_s"]
)


def _recorded(stride: int, last: int, **columns: float) -> RecordedRun:
    steps = range(2, last + 1, stride)
    series = {
        name.replace("__", "."): Column(array("q", steps), array("d", [first + step / 8 for step in steps]))
        for name, first in columns.items()
    }
    return RecordedRun(series, last)


REFERENCES = {
    "each-step": _recorded(1, 20, kl__ref=-1.0, entropy=0.25),
    "each-fifth": _recorded(5, 60, kl__ref=0.5, reward__mean=-2.0),
}


def engine_of(rules: RuleSet) -> Engine:
    """An engine that has the recorded runs beside it."""
    return Engine(rules, references=REFERENCES)


WINDOWS = st.sampled_from(
    ["1 step", "3 steps", "8 steps", "40 steps", "2 samples", "5 samples", "25 samples", "60s", "5m"]
)
NUMBERS = st.sampled_from(["-1.13", "-0.37", "0.13", "0.71", "1.13"])
RATIOS = st.sampled_from(["-21.7%", "13.3%", "61.9%", "117.3%"])
LEVELS = ("mean", "median", "min", "max", "std", "delta", "sum", "first", "last", "count")
PHASES = st.sampled_from(["early", "middle", "late", "rl-math"])
ORDERS = st.sampled_from(["<", "<=", ">", ">="])


@st.composite
def level(draw: st.DrawFn, depth: int = 2) -> str:
    """An expression in the unit of the metrics."""
    kind = draw(
        st.sampled_from(
            ["metric", "metric", "window", "window", "running", "running", "arithmetic", "abs", "reference"]
        )
    )
    if depth == 0 or kind == "metric":
        return draw(SERIES)
    inner = draw(level(depth - 1))
    if kind == "window":
        if draw(st.integers(0, 9)) == 0:
            return f"quantile({inner}, {draw(st.sampled_from(['0%', '25%', '90%', '100%']))}, {draw(WINDOWS)})"
        return f"{draw(st.sampled_from(LEVELS))}({inner}, {draw(WINDOWS)})"
    if kind == "running":
        running = [f"best({inner})", f"worst({inner})", f"initial({inner})", f"initial({inner}, 4 samples)"]
        running += [f"baseline({inner})", f"baseline({inner}, 4 samples)", f"baseline({inner}, 3 samples)"]
        # The weights of three samples are halves: exact, as all other numbers here.
        return draw(st.sampled_from([*running, f"ewma({inner}, 3 samples)"]))
    if kind == "abs":
        return f"abs({inner})"
    if kind == "reference":
        return f"reference({draw(SERIES)})"
    return f"({inner} {draw(st.sampled_from('+-*/'))} {draw(level(depth - 1))})"


@st.composite
def condition(draw: st.DrawFn, depth: int = 2) -> str:
    kinds = [
        "level",
        "level",
        "level",
        "ratio",
        "ratio",
        "shape",
        "shape",
        "lasting",
        "probe",
        "standing",
        "step",
        "logic",
        "logic",
    ]
    kind = draw(st.sampled_from(kinds))
    if kind == "level" or depth == 0:
        return f"{draw(level())} {draw(ORDERS)} {draw(NUMBERS)}"
    if kind == "ratio":
        name = draw(st.sampled_from(["drop", "rise", "change"]))
        return f"{name}({draw(level(1))}, {draw(WINDOWS)}) {draw(ORDERS)} {draw(RATIOS)}"
    if kind == "shape":
        inner, window = draw(level(1)), draw(WINDOWS)
        # Thresholds that no slope or score of round numbers meets exactly.
        shapes = [f"{name}({inner}, {window})" for name in ("rising", "falling", "flat")]
        shapes += [f"slope({inner}, {window}) {draw(ORDERS)} 0.0371351", f"spikes({inner}, {window}) > 0.5"]
        return draw(st.sampled_from([*shapes, f"zscore({inner}, {window}) {draw(ORDERS)} 1.9371351"]))
    if kind == "lasting":
        inner, window = draw(condition(depth - 1)), draw(WINDOWS)
        if any(name in inner for name in ("absent(", "age(", "seen(", "firing(", "pending(")):
            inner = f"nonfinite({draw(SERIES)})"
        return draw(st.sampled_from([f"held({inner}, {window})", f"share({inner}, {window}) > 61.9%"]))
    if kind == "probe":
        series = draw(SERIES)
        probes = [f"nonfinite({series})", f"absent({series}, 5m)", f"absent({series}, 4 steps)", f"age({series}) > 90s"]
        probes += [f"age({series}) > 2.3 * step_time", f"seen({series})"]
        return draw(st.sampled_from([*probes, f"age({series}) < 45s"]))
    if kind == "standing":
        # Of the rules that there may be: others, itself, one that there is not.
        alert = draw(st.sampled_from(["rule-0", "rule-1", "rule-2", "rule-3", "rule-9"]))
        severity = draw(st.sampled_from(["", "", ", warning", ", critical"]))
        return f"{draw(st.sampled_from(['firing', 'pending']))}({alert}{severity})"
    if kind == "step":
        contexts = ["progress > 24.7%", "config.beta > 0.3", "step_time > 41.3s", "step_time < 13s"]
        contexts += [
            "mean(step, 3 steps) > 10.7",
            "kl.ref * mean(step, 3 steps) > 3.7",
            "kl.ref > config.beta",
            "time.step_s > 1.37 * step_time",
            f"phase == {draw(PHASES)}",
            f"phase != {draw(PHASES)}",
            "phase_step > 3.7",
        ]
        return draw(st.sampled_from([*contexts, f"step {draw(ORDERS)} {draw(st.integers(1, 30))}"]))
    left, right = draw(condition(depth - 1)), draw(condition(depth - 1))
    return draw(
        st.sampled_from(
            [f"({left}) and ({right})", f"({left}) or ({right})", f"not ({left})", f"not ({left}) or {right}"]
        )
    )


WILD = st.sampled_from(
    [
        "nonfinite(*)",
        "reward.component.* < -0.37",
        "drop(median(reward.component.*, 3 steps), 8 steps) > 61.9%",
        "best(reward.component.*) - reward.component.* > 1.13",
        "max(gpu.util, 60s) < 30%",
        "gpu.util{gpu=1} > 71.3",
        "gpu.util > 1.37 * baseline(gpu.util, 3 samples)",
        "max(gpu.mem_used_frac, 2 samples) > 37.1%",
        "reward.component.* < 0.71 * baseline(reward.component.*, 4 samples)",
        "reward.zero_std_frac > 37.1%",
    ]
)

holds = st.sampled_from([None, None, "1 step", "3 steps", "3 samples", "90s", "5m"])


@st.composite
def random_rule(draw: st.DrawFn, name: str) -> Rule:
    if draw(st.integers(0, 3)) == 0:
        conditions = {draw(st.sampled_from(["info", "warning", "critical"])): draw(WILD)}
        until = None
    else:
        severities = draw(
            st.lists(st.sampled_from(["info", "warning", "critical"]), min_size=1, max_size=3, unique=True)
        )
        conditions = {severity: draw(condition()) for severity in severities}
        until = draw(st.one_of(st.none(), condition(depth=1)))
    return rule(
        name,
        hold=draw(holds),
        keep_firing=draw(holds),
        until=until,
        after=draw(st.sampled_from([0, 0, 0, 4])),
        phases=draw(st.sampled_from([(), (), (), ("late",), ("early", "rl-math")])),
        **conditions,
    )


@st.composite
def random_rules(draw: st.DrawFn, max_size: int = 4) -> RuleSet:
    return RuleSet(tuple(draw(random_rule(f"rule-{at}")) for at in range(draw(st.integers(1, max_size)))))


# A coarse grid of dyadic rationals: sums of them are exact, so nothing hangs on the order of addition.
numbers = st.one_of(
    st.integers(-8, 8).map(lambda k: k / 4),
    st.integers(-8, 8).map(lambda k: k / 4),
    st.integers(-8, 8).map(lambda k: k / 4),
    st.sampled_from([math.nan, None, math.inf, -math.inf, 1024.0]),
)


@st.composite
def row(draw: st.DrawFn, keys: tuple[str, ...]) -> dict[str, float | None]:
    present = draw(st.sampled_from([keys, keys, keys, keys[:2], keys[1:], keys[:1]]))
    return {key: draw(numbers) for key in present}


@st.composite
def random_events(draw: st.DrawFn, run: str = "r", max_size: int = 45) -> list[Event]:
    """A run with gaps, repeated, late and rewound steps, rows in parts, samples, restarts and irregular times."""
    keys = draw(st.sampled_from([KEYS, KEYS, KEYS + COMPONENTS, PARTS]))
    timed, step, time = draw(st.sampled_from([True, True, True, False])), draw(st.integers(0, 3)), START
    events: list[Event] = []
    for _ in range(draw(st.integers(1, max_size))):
        time += draw(st.sampled_from([0.0, 0.5, 30.0, 30.0, 30.0, 60.0, 200.0, -20.0, 301.0, 4000.0]))
        now = time if timed else None
        kind = draw(
            st.sampled_from(
                ["step"] * 14 + ["again", "late", "back", "gap", "sample", "gpu", "start", "finish", "phase"]
            )
        )
        if kind in ("step", "gap"):
            step += 1 if kind == "step" else draw(st.integers(2, 30))
        elif kind == "back":
            step = max(step - draw(st.integers(5, 30)), 0)
        if kind == "sample":
            events.append(Sample(run=run, time=now, metrics=draw(row(keys[:1]))))
        elif kind == "gpu":
            for gpu in ("0", "1"):
                metrics = {"gpu.util": draw(st.sampled_from([0.0, 25.0, 50.0, 75.0]))}
                metrics["gpu.mem_used_pct"] = draw(st.sampled_from([0.0, 25.0, 50.0, math.nan]))
                events.append(Sample(run=run, time=now, metrics=metrics, labels={"gpu": gpu}))
        elif kind == "start":
            config = draw(st.sampled_from([{}, {"beta": 0.25, "max_steps": 40}, {"beta": 0.5, "max_steps": 90}]))
            labels = draw(
                st.sampled_from([{}, {"reference": "each-step"}, {"reference": "each-fifth"}, {"reference": ""}])
            )
            events.append(RunStarted(run=run, time=now, config=config, labels=labels))
        elif kind == "phase":
            begun = draw(st.sampled_from([None, step, step + 1, step + 3, max(step - 2, 0), max(step - 10, 0)]))
            events.append(Phase(run=run, time=now, name=draw(PHASES), step=begun))
        elif kind == "finish":
            events.append(RunFinished(run=run, time=now))
        else:
            at = max(step - draw(st.integers(1, 4)), 0) if kind == "late" else step
            metrics = draw(row(keys))
            if draw(st.integers(0, 4)) == 0:
                metrics["time.step_s"] = draw(st.sampled_from([0.0, 4.0, 32.0, 64.0, math.nan]))
            if draw(st.integers(0, 40)) == 0:
                metrics["reward.spread"] = draw(numbers)
            events.append(StepMetrics(run=run, time=now, step=at, metrics=metrics))
    return events
