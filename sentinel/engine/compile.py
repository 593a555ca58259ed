"""From a plan to one Python function: every statistic and every rule of a run in line.

    kernel(slots, records, bad, get, rel, step, time, origin, held, shared, constants, phases, recorded) -> hits | None

- `slots`: the run's objects in the order of `Plan.keys`; `records`: one alert record or None per instance.
- `bad`: names of series whose newest value is not a number.
- `get`: the event's metrics by the trainer's own keys, finite values only.
- `rel`: the step counted from the attempt's first. `time`: seconds, NaN when unknown. `origin`: when the attempt began.
- `held`: false when every record is None, which spares looking at each.
- `shared`: the array of steps that series share (`sentinel.stats.shared_steps`), with this event's step in it; None
  when the event has no value of theirs.
- `constants`: the numbers that the run's configuration states, by the names that rules give them.
- `phases`: what the trainer said of the run's phases (`sentinel.engine.phases`).
- `recorded`: the run that this one is held against (`sentinel.engine.recorded`).
- hits: `[(instance index, (truth per severity), truth of until), ...]`, by index, for instances that need the
  lifecycle's attention: a condition holds, or a record exists. A truth is True, False or None (unknown).

A condition becomes two plain expressions (`sentinel.engine.expressions`): one that is true when it is known to hold,
one that is true when it is known not to hold. Nearly always the first is false and nothing is open: then the second is
never asked.

A rule that looks at one metric stands in that metric's own block, right behind the update of its windows, and reads
the value, the arrays and where windows begin from local variables. The others follow behind all updates. A number that
is asked for at every event, and more than once, is put into a variable before the rules that ask for it. A rule that
cannot hold, for want of a series that the run never logs, is looked at only while an alert stands open.

What bought the speed is written in docs/decisions/0005; the plain interpreter that the tests hold this to is
`tests/oracle.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from sentinel.engine.bind import Instance
from sentinel.engine.context import PROGRESS
from sentinel.engine.expressions import NEVER, Expressions, moves, numbers_of, only_samples, start_of, windows_of
from sentinel.engine.inline import LENGTH, inline_statements
from sentinel.engine.plan import (
    STEP_TIME,
    Plan,
    WindowSpec,
    looks_every_event,
    scale_extent,
    series_key,
    window_key,
)
from sentinel.rules.expression.nodes import Metric, Node, is_condition, metrics_of
from sentinel.stats import FUNCTIONS, WindowFunction
from sentinel.stats.parts import Part, PlacedPart
from sentinel.stats.window import Axis

Hit = tuple[int, tuple[bool | None, ...], bool | None]
Kernel = Callable[..., list[Hit] | None]

STEP_SECONDS = "time.step_s"
"""The metric that says how long a step took."""


def compile_plan(plan: Plan, keys: Mapping[str, str], dormant: frozenset[int]) -> tuple[Kernel, str]:
    """The kernel of a plan and its source text.

    `keys`: series name → the trainer's own key, for series that the run logs. Instances in `dormant` are left out.
    """
    return _Compiler(plan, keys, dormant).compile()


class _Compiler(Expressions):
    """What `Expressions` says of `home` holds here too."""

    def __init__(self, plan: Plan, keys: Mapping[str, str], dormant: frozenset[int]) -> None:
        super().__init__(plan, keys)
        self.instances = [index for index in range(len(plan.instances)) if index not in dormant]
        self.homes = {index: self._home(plan.instances[index]) for index in self.instances}
        self.owners = {key: index for index, keys in plan.owned.items() for key in keys}
        self.quiet = {index for index in self.instances if self._is_quiet(plan.instances[index])}
        self.uses: Counter[Node] = Counter()

    def compile(self) -> tuple[Kernel, str]:
        out = self.out
        for key in self.plan.order:
            if not metrics_of(self._source(key)):
                self._derived(key)  # before the metrics' blocks, which may look at it
        for key, spec in self.plan.series.items():
            if isinstance(spec.source, Metric):
                self._metric(key, spec.source)
        for key in self.plan.order:
            if metrics_of(self._source(key)) and self._own_block(self._source(key)) is None:
                self._derived(key)
        self._rules([index for index in self.instances if self.homes[index] is None])
        if len(self.instances) > 1:
            out.put("if hits is not None and len(hits) > 1:")
            out.put("    hits.sort()")
        out.put("return hits")
        return out.function("kernel", self._beginning())

    def _beginning(self) -> list[str]:
        parameters = "slots, records, bad, get, rel, step, time, origin, held, shared, constants, phases, recorded"
        lines = [f"def kernel({parameters}):"]
        if self.slot:
            lines.append(f"    ({', '.join(self.slot.values())},) = slots")
        lines.append("    hits = None")
        lines += [f"    {name} = rel - {size}" for size, name in self.behind.items()]
        nested = [self.value[key] for key, spec in self.plan.series.items() if not isinstance(spec.source, Metric)]
        if nested:
            lines.append(f"    {' = '.join(nested)} = None")
        if self.plan.phase:
            lines.append(f"    phase = phases.at(step, constants.get({PROGRESS!a}, nan))")
        if self.plan.step_time:
            logged = self.keys.get(STEP_SECONDS)
            lines.append(f"    {self.slot[STEP_TIME]}.update(step, time, {f'get({logged!a})' if logged else None})")
        return lines

    # --- updating -------------------------------------------------------------------------------------------

    def _metric(self, key: str, metric: Metric) -> None:
        """The block of one metric: its series, what derives from it alone, the rules that look at it alone."""
        raw = self.keys.get(metric.name)
        x = self.value[key]
        if raw is None:
            self.out.put(f"{x} = None")
            return
        self.out.put(f"{x} = get({raw!a})")
        self.out.put(f"if {x} is not None:")
        self.out.depth += 1
        self._push(key, x)
        self.home = key
        self.sized = False
        behind_push = len(self.out.lines)
        for derived in self.plan.order:
            if self._own_block(self._source(derived)) == key:
                self._derived(derived)
        self._rules([index for index in self.instances if self.homes[index] == key])
        if self.sized:
            self.out.lines.insert(behind_push, f"{'    ' * self.out.depth}seen = {self.slot[key]}.dropped + n")
        self.home = None
        self.out.depth -= 1

    def _source(self, key: str) -> Node:
        """The expression of a nested series or a running function."""
        return self.plan.series[key].source if key in self.plan.series else self.plan.running[key].argument

    def _own_block(self, source: Node) -> str | None:
        """The series key of the one metric that a derived value depends on; None when it depends on more than that."""
        metrics = metrics_of(source)
        return series_key(metrics[0]) if len(metrics) == 1 and not looks_every_event(source) else None

    def _derived(self, key: str) -> None:
        """A nested expression becomes a series of its own: its value enters when one of its metrics came."""
        out, nested = self.out, key in self.plan.series
        source = self._source(key)
        gated = self.home is None
        if gated:
            # What may change at any event is asked at every one.
            out.put(f"if {'True' if looks_every_event(source) else self._touched(source)}:")
            out.depth += 1
            self._catch_up([source])
        known = isinstance(source, Metric)
        x = self.number(source) if known else self._calculated(source)
        if not known:
            # An overflow could make an infinity out of finite numbers: that is not a value either.
            out.put(f"if -1e100 < {x} < 1e100:")
            out.depth += 1
        if nested:
            out.put(f"{self.value[key]} = {x}")
            self._push(key, x)
        else:
            spec = self.plan.running[key]
            self.use(spec.function.update)
            slot = self.slot[key]
            if spec.owner:
                out.put(f"if records[{self.owners[key]}] is None:")
            out.depth += bool(spec.owner)
            arguments = {"self": slot, "x": x, "step": "step"}
            out.block(inline_statements(spec.function.update, arguments, prefix=f"{slot}_"))
            out.depth -= bool(spec.owner)
        if not known:
            out.depth -= 1
        moving = [window for window in self.plan.series[key].windows if moves(window.extent)] if nested else []
        if moving:
            out.put("else:")
            for window in moving:
                out.put(f"    {self.slot[window.key]}.advance(rel, time)")
        if gated:
            out.depth -= 1

    def _calculated(self, source: Node) -> str:
        """The variable for the value of a nested expression."""
        found = self.shared.get(source)
        if found is None:
            condition = is_condition(source)
            found = self.out.temporary()
            self.out.put(f"{found} = {self.chance(source) if condition else self.number(source)}")
            if self.home is not None and not condition:
                self.shared[source] = found  # for the rules of the block
        return found

    def _push(self, key: str, x: str) -> None:
        """`Series.push` in line, with its windows and their parts."""
        out, spec, series = self.out, self.plan.series[key], self.slot[key]
        v, k, c, n = self._arrays(key)
        out.put(f"{v} = {series}.values")
        out.put(f"{k} = {series}.steps")
        alone = isinstance(spec.source, Metric)
        if alone:
            # The step stands in the shared array already, which is settled for all its series at once.
            out.put(f"if {k} is not shared:")
            out.depth += 1
        out.put(f"if len({v}) >= {series}.limit:")
        out.put(f"    {series}.settle(rel, time)")
        out.put(f"{k}.append(rel)")
        out.depth -= alone
        out.put(f"{v}.append({x})")
        if spec.windows:
            out.put(f"{n} = len({v})")
        if spec.timed:
            out.put(f"{c} = {series}.times")
            out.put(f"{c}.append(time)")
        out.put(f"{series}.last = {x}")
        out.put(f"{series}.step = rel")
        out.put(f"{series}.time = time")
        for window in spec.windows:
            self._move(window, x)

    def _arrays(self, key: str) -> tuple[str, str, str, str]:
        """Variables for the values, steps and times of a series and how many they are; those of nested ones leave a
        metric's own alone."""
        if isinstance(self.plan.series[key].source, Metric):
            return "v", "k", "c", "n"
        slot = self.slot[key]
        return f"{slot}_values", f"{slot}_steps", f"{slot}_times", f"{slot}_n"

    def _move(self, spec: WindowSpec, x: str) -> None:
        """`Window.add` and `Window.advance` in line. Where the window begins stays in a variable."""
        out, window = self.out, self.slot[spec.key]
        v, k, c, n = self._arrays(spec.series)
        parts: list[tuple[str, type[Part] | type[PlacedPart]]]
        parts = [(self.slot[name], part) for name, (owner, part) in self.plan.parts.items() if owner == spec.key]
        timed = spec.extent.axis is Axis.TIME
        for slot, part in parts:
            self.use(part.add)
            place = "time" if timed else "rel"
            out.block(inline_statements(part.add, {"self": slot, "x": x, "place": place}, prefix=f"{slot}_"))
        start = start_of(window)
        out.put(f"{start} = {window}.start")
        # In a reach window the oldest value leaves when the next one can speak for the beginning.
        size, at = spec.extent.size, f"{start} + 1" if spec.reach else start
        guarded = spec.reach and spec.extent.axis is Axis.STEPS
        if spec.extent.axis is Axis.SAMPLES:
            # One has come, so no more than one leaves.
            leaves = f"if {n} - {start} > {int(size) + spec.reach}"
        elif spec.extent.axis is Axis.TIME:
            leaves = f"while {at} < {n} and {c}[{at}] <= time - {size!r}"
        else:
            # The newest value stands at `rel` and never leaves; a reach window looks one further.
            leaves = f"while {k}[{at}] <= {self.steps_ago(int(size))}"
        if guarded:
            out.put(f"if {n} > 1:")
            out.depth += 1
        out.put(f"{leaves}:")
        out.depth += 1
        if parts:
            out.put(f"gone = {v}[{start}]")
        out.put(f"{start} += 1")
        for slot, part in parts:
            self.use(part.remove)
            arguments = {
                "self": slot,
                "out": "gone",
                "values": v,
                f"{LENGTH} values": n,
                "start": start,
                "places": c if timed else k,
            }
            out.block(inline_statements(part.remove, arguments, prefix=f"{slot}_"))
        if spec.extent.axis is Axis.SAMPLES:
            out.put(f"{window}.start = {start}")
        out.depth -= 1 + guarded
        if spec.extent.axis is not Axis.SAMPLES:
            out.put(f"{window}.start = {start}")

    # --- rules ----------------------------------------------------------------------------------------------

    def _touched(self, node: Node) -> str:
        names = [self.value[series_key(metric)] for metric in metrics_of(node) if series_key(metric) in self.value]
        return " or ".join(f"{name} is not None" for name in names) or "True"

    def _home(self, instance: Instance) -> str | None:
        """The series key of the one metric that an instance looks at; None when there are more, or other gates."""
        nodes = instance.expressions()
        metrics = {series_key(metric) for node in nodes for metric in metrics_of(node)}
        if len(metrics) != 1 or any(looks_every_event(node) for node in nodes):
            return None
        (key,) = metrics
        return key if key in self.value else None

    def _rules(self, indices: Sequence[int]) -> None:
        """The rules that stand in one place, and before them what several of them ask for."""
        out = self.out
        live = [index for index in indices if index not in self.quiet]
        found = [(index, condition) for index in live for _, condition in self.plan.instances[index].conditions]
        self.uses = Counter(number for _, condition in found for number in numbers_of(condition))
        for index, condition in found:
            rule = self.plan.instances[index].rule
            if not rule.after and not rule.phases:
                self._share(number for number in self.asked(condition) if self.home is not None or only_samples(number))
        for index in live:
            self._instance(index)
        quiet = [index for index in indices if index in self.quiet]
        if quiet:
            # Nothing but an alert that stands open can be told of these.
            out.put("if held:")
            before = len(out.lines)
            out.depth += 1
            for index in quiet:
                self._instance(index)
            out.depth -= 1
            if len(out.lines) == before:
                out.lines.pop()
        self.shared.clear()

    def _is_quiet(self, instance: Instance) -> bool:
        """Whether none of its conditions can hold, for want of series that are never logged."""
        return all(self.never(condition, holds=True) for _, condition in instance.conditions)

    def _share(self, numbers: Iterable[Node]) -> None:
        for number in numbers:
            self.share(number, self.uses)

    def _instance(self, index: int) -> None:
        out, instance = self.out, self.plan.instances[index]
        nodes = instance.expressions()
        gates = []
        if instance.rule.after:
            gates.append(f"rel >= {instance.rule.after}")
        if instance.rule.phases:
            # An alert that fired in its phase is judged until it is over.
            gates.append(f"phase in {instance.rule.phases!a} or (held and records[{index}] is not None)")
        if self.home is None and not any(looks_every_event(node) for node in nodes):
            metrics = [metric for node in nodes for metric in metrics_of(node)]
            logged = [self.value[series_key(metric)] for metric in metrics if metric.name in self.keys]
            if metrics and not logged:
                return  # never logged by this run: not evaluable, and said so elsewhere
            if logged:
                gates.append(" or ".join(f"{name} is not None" for name in dict.fromkeys(logged)))
        out.put(f"# {instance.rule.name!a}")
        if gates:
            out.put(f"if {' and '.join(f'({gate})' if ' or ' in gate else gate for gate in gates)}:")
            out.depth += 1
        open_ = f"held and records[{index}] is not None"
        before = dict(self.shared)
        self._catch_up(nodes)
        if index not in self.quiet:
            for _, condition in instance.conditions:
                self._share(self.asked(condition))
        holds = [found for _, condition in instance.conditions if (found := self.holds(condition)) != NEVER]
        out.put(f"if {' or '.join([*holds, open_])}:")
        truths = ", ".join(self.truth(condition) for _, condition in instance.conditions)
        until = "None"
        if instance.until is not None:
            # Needed only once there is something to end.
            until = f"{self.truth(instance.until)} if records[{index}] is not None else None"
        out.put("    if hits is None:")
        out.put("        hits = []")
        out.put(f"    hits.append(({index}, ({truths},), {until}))")
        if gates:
            out.depth -= 1
            self.shared = before

    def _catch_up(self, nodes: Iterable[Node]) -> None:
        """Put code that moves the windows of expressions on to now, where their series did not come in this event."""
        if self.home is not None:
            return  # the metric came, and nested series move their windows on when they have no value
        moved: dict[str, dict[str, None]] = {}
        for call in (call for node in nodes for call in windows_of(node)):
            function, extent = FUNCTIONS[call.function], call.window
            assert issubclass(function, WindowFunction) and extent is not None
            if not moves(extent):
                continue
            keys = moved.setdefault(self.value[series_key(call.argument)], {})
            keys[window_key(call.argument, extent, reach=function.reach)] = None
            if function.scaled:
                keys[window_key(call.argument, scale_extent(extent), reach=True)] = None
        for value, found in moved.items():
            self.out.put(f"if {value} is None:")
            for key in found:
                self.out.put(f"    {self.slot[key]}.advance(rel, time)")
