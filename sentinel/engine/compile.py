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

Numbers that are unknown are NaN, and arithmetic carries it along. A condition becomes two plain expressions: one that
is true when it is known to hold, one that is true when it is known not to hold. A comparison with NaN is false, so each
says "unknown" by itself. Nearly always the first is false and nothing is open: then the second is never asked.

A rule that looks at one metric stands in that metric's own block, right behind the update of its windows, and reads
the value, the arrays and where windows begin from local variables. The others follow behind all updates.

What bought the speed is written in docs/decisions/0005; the plain interpreter that the tests hold this to is
`tests/oracle.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sentinel.engine.bind import Instance
from sentinel.engine.context import PHASE_STEP, PROGRESS
from sentinel.engine.inline import call_arguments, globals_of, inline_expression, inline_statements
from sentinel.engine.plan import (
    STEP_TIME,
    Plan,
    WindowSpec,
    looks_every_event,
    part_key,
    running_key,
    scale_extent,
    series_key,
    standing,
    window_key,
)
from sentinel.rules.expression.nodes import (
    Alert,
    Arithmetic,
    Call,
    Compare,
    Context,
    Duration,
    InPhase,
    Logic,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    children,
    is_condition,
    metrics_of,
)
from sentinel.stats import (
    FUNCTIONS,
    Function,
    Nonfinite,
    Pointwise,
    Probe,
    Reference,
    RunningFunction,
    Standing,
    WindowFunction,
)
from sentinel.stats.parts import Moments, Part, PlacedPart
from sentinel.stats.window import Axis

Hit = tuple[int, tuple[bool | None, ...], bool | None]
Kernel = Callable[..., list[Hit] | None]

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

STEP_SECONDS = "time.step_s"
"""The metric that says how long a step took."""

_BARELY = 1.0 - 1e-9
"""A bound that spares a division must never be the stricter one for its rounding."""


class Source:
    """The generated code as it grows, and what it refers to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.namespace: dict[str, Any] = {"nan": math.nan}
        self._temporaries = 0

    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def block(self, lines: list[str]) -> None:
        for line in lines:
            self.put(line)

    def temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"


def compile_plan(plan: Plan, keys: Mapping[str, str], dormant: frozenset[int]) -> tuple[Kernel, str]:
    """The kernel of a plan and its source text.

    `keys`: series name → the trainer's own key, for series that the run logs. Instances in `dormant` are left out.
    """
    return _Compiler(plan, keys, dormant).compile()


class _Compiler:
    """`home` is the metric in whose block the code stands: its series key, or None behind all updates."""

    def __init__(self, plan: Plan, keys: Mapping[str, str], dormant: frozenset[int]) -> None:
        self.plan = plan
        self.keys = keys
        self.out = Source()
        self.home: str | None = None
        self.slot = {key: f"s{index}" for index, key in enumerate(plan.keys)}
        # The newest value of each series in this event, None when it is not in it.
        self.value = {key: f"x{index}" for index, key in enumerate(plan.series)}
        self.instances = [index for index in range(len(plan.instances)) if index not in dormant]
        self.homes = {index: self._home(plan.instances[index]) for index in self.instances}
        self.behind: dict[int, str] = {}
        self.owners = {key: index for index, keys in plan.owned.items() for key in keys}

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
        for index in self.instances:
            if self.homes[index] is None:
                self._instance(index)
        if len(self.instances) > 1:
            out.put("if hits is not None and len(hits) > 1:")
            out.put("    hits.sort()")
        out.put("return hits")
        text = "\n".join([*self._beginning(), *out.lines, ""])
        # The text is made from parsed trees and our own sources: no name from outside gets in but as a quoted string.
        exec(compile(text, "<rules>", "exec"), out.namespace)  # noqa: S102
        kernel: Kernel = out.namespace["kernel"]
        return kernel, text

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

    def _behind(self, steps: int) -> str:
        """The variable that holds the step so many before this one; all windows of one length share it."""
        return self.behind.setdefault(steps, f"behind_{steps}")

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
        for derived in self.plan.order:
            if self._own_block(self._source(derived)) == key:
                self._derived(derived)
        for index in self.instances:
            if self.homes[index] == key:
                self._instance(index)
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
            self._catch_up(source)
        known = isinstance(source, Metric)
        x = self.value[key] if nested else self._number(source) if known else out.temporary()
        if not known:
            out.put(f"{x} = {self._chance(source) if is_condition(source) else self._number(source)}")
            # An overflow could make an infinity out of finite numbers: that is not a value either.
            out.put(f"if -1e100 < {x} < 1e100:")
            out.depth += 1
        if nested:
            self._push(key, x)
        else:
            spec = self.plan.running[key]
            self._use(spec.function.update)
            slot = self.slot[key]
            if spec.owner:
                out.put(f"if records[{self.owners[key]}] is None:")
            out.depth += bool(spec.owner)
            arguments = {"self": slot, "x": x, "step": "step"}
            out.block(inline_statements(spec.function.update, arguments, prefix=f"{slot}_"))
            out.depth -= bool(spec.owner)
        if not known:
            out.depth -= 1
            if nested:
                out.put("else:")
                out.put(f"    {x} = None")
                for window in self.plan.series[key].windows:
                    out.put(f"    {self.slot[window.key]}.advance(rel, time)")
        if gated:
            out.depth -= 1

    def _push(self, key: str, x: str) -> None:
        """`Series.push` in line, with its windows and their parts."""
        out, spec, series = self.out, self.plan.series[key], self.slot[key]
        v, k, c = self._arrays(key)
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
        if spec.timed:
            out.put(f"{c} = {series}.times")
            out.put(f"{c}.append(time)")
        out.put(f"{series}.last = {x}")
        out.put(f"{series}.step = rel")
        out.put(f"{series}.time = time")
        for window in spec.windows:
            self._move(window, x)

    def _arrays(self, key: str) -> tuple[str, str, str]:
        """Variables for the values, steps and times of a series; those of nested ones leave a metric's own alone."""
        if isinstance(self.plan.series[key].source, Metric):
            return "v", "k", "c"
        return tuple(f"{self.slot[key]}_{name}" for name in ("values", "steps", "times"))  # type: ignore[return-value]

    def _move(self, spec: WindowSpec, x: str) -> None:
        """`Window.add` and `Window.advance` in line. Where the window begins stays in a variable."""
        out, window = self.out, self.slot[spec.key]
        v, k, c = self._arrays(spec.series)
        parts: list[tuple[str, type[Part] | type[PlacedPart]]]
        parts = [(self.slot[name], part) for name, (owner, part) in self.plan.parts.items() if owner == spec.key]
        timed = spec.extent.axis is Axis.TIME
        for slot, part in parts:
            self._use(part.add)
            place = "time" if timed else "rel"
            out.block(inline_statements(part.add, {"self": slot, "x": x, "place": place}, prefix=f"{slot}_"))
        start = _start(window)
        out.put(f"{start} = {window}.start")
        # In a reach window the oldest value leaves when the next one can speak for the beginning.
        size, at = spec.extent.size, f"{start} + 1" if spec.reach else start
        guarded = spec.reach and spec.extent.axis is Axis.STEPS
        if spec.extent.axis is Axis.SAMPLES:
            leaves = f"len({v}) - {start} > {int(size) + spec.reach}"
        elif spec.extent.axis is Axis.TIME:
            leaves = f"{at} < len({v}) and {c}[{at}] <= time - {size!r}"
        else:
            # The newest value stands at `rel` and never leaves; a reach window looks one further.
            leaves = f"{k}[{at}] <= {self._behind(int(size))}"
        if guarded:
            out.put(f"if len({v}) > 1:")
            out.depth += 1
        out.put(f"while {leaves}:")
        out.depth += 1
        if parts:
            out.put(f"gone = {v}[{start}]")
        out.put(f"{start} += 1")
        for slot, part in parts:
            self._use(part.remove)
            arguments = {"self": slot, "out": "gone", "values": v, "start": start, "places": c if timed else k}
            out.block(inline_statements(part.remove, arguments, prefix=f"{slot}_"))
        out.depth -= 1 + guarded
        out.put(f"{window}.start = {start}")

    def _use(self, function: Callable[..., Any]) -> None:
        for name, value in globals_of(function).items():
            found = self.out.namespace.setdefault(name, value)
            assert found is value, f"two statistics mean different things by '{name}'"

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
        for node in nodes:
            self._catch_up(node)
        holds = [self._holds(condition) for _, condition in instance.conditions]
        open_ = f"held and records[{index}] is not None"
        out.put(f"if {' or '.join([*holds, open_])}:")
        truths = ", ".join(self._truth(condition) for _, condition in instance.conditions)
        until = "None"
        if instance.until is not None:
            # Needed only once there is something to end.
            until = f"{self._truth(instance.until)} if records[{index}] is not None else None"
        out.put("    if hits is None:")
        out.put("        hits = []")
        out.put(f"    hits.append(({index}, ({truths},), {until}))")
        if gates:
            out.depth -= 1

    def _catch_up(self, node: Node) -> None:
        """Put code that moves the windows of an expression on to now, where their series did not come in this event."""
        for call in _windows(node):
            function, extent, name = FUNCTIONS[call.function], call.window, series_key(call.argument)
            assert issubclass(function, WindowFunction) and extent is not None
            if self.home is not None:
                continue  # the metric came, and nested series move their windows on when they have no value
            keys = [window_key(call.argument, extent, reach=function.reach)]
            if function.scaled:
                keys.append(window_key(call.argument, scale_extent(extent), reach=True))
            self.out.put(f"if {self.value[name]} is None:")
            for key in dict.fromkeys(keys):
                self.out.put(f"    {self.slot[key]}.advance(rel, time)")

    def _truth(self, node: Node) -> str:
        """An expression for the truth of a condition: True, False or None."""
        return f"(True if {self._holds(node)} else False if {self._fails(node)} else None)"

    def _chance(self, node: Node) -> str:
        """An expression for the truth of a condition as a number: 1, 0 or NaN."""
        return f"(1.0 if {self._holds(node)} else 0.0 if {self._fails(node)} else nan)"

    def _holds(self, node: Node) -> str:
        """An expression that is true when a condition is known to hold."""
        match node:
            case Compare(op=op, left=left, right=right):
                bound = self._bound(node)
                a, b = self._number(left), self._number(right)
                if op == "!=":
                    return f"({a} < {b} or {a} > {b})"
                return f"({bound} and {a} {op} {b})" if bound else f"{a} {op} {b}"
            case InPhase(name=name, other=other):
                return f"(phase is not None and phase != {name!a})" if other else f"(phase == {name!a})"
            case Logic(op=op, parts=parts):
                return f"({f' {op} '.join(self._holds(part) for part in parts)})"
            case Not(operand=operand):
                return self._fails(operand)
            case Call():
                return self._fact(node, wanted=True)
            case _:
                raise AssertionError(f"not a condition: {node}")

    def _fails(self, node: Node) -> str:
        """An expression that is true when a condition is known not to hold."""
        match node:
            case Compare(op=op, left=left, right=right):
                a, b = self._number(left), self._number(right)
                if op == "==":
                    return f"({a} < {b} or {a} > {b})"
                return f"{a} == {b}" if op == "!=" else f"{a} {_OPPOSITE[op]} {b}"
            case InPhase():
                return self._holds(InPhase(node.name, not node.other))
            case Logic(op=op, parts=parts):
                other = " or " if op == "and" else " and "
                return f"({other.join(self._fails(part) for part in parts)})"
            case Not(operand=operand):
                return self._holds(operand)
            case Call():
                return self._fact(node, wanted=False)
            case _:
                raise AssertionError(f"not a condition: {node}")

    def _fact(self, call: Call, *, wanted: bool) -> str:
        """An expression for whether a condition that is a function is known to be `wanted`."""
        function, argument, window = FUNCTIONS[call.function], call.argument, call.window
        if isinstance(argument, Alert):
            return self._standing(function, argument, wanted=wanted)
        if issubclass(function, WindowFunction):
            return f"{self._number(call)} == {float(wanted)}"
        assert isinstance(argument, Metric)
        if issubclass(function, Nonfinite):
            return f"{argument.name!a} {'in' if wanted else 'not in'} bad"
        assert issubclass(function, Probe)
        read = function.reader(None if window is None else window.axis)
        return f"{self._probe(read, argument, 0.0 if window is None else window.size)} is {wanted}"

    def _standing(self, function: type[Function], alert: Alert, *, wanted: bool) -> str:
        """An expression for whether an alert of another rule stands so: no record changes while the kernel runs."""
        assert issubclass(function, Standing)
        found = []
        for index, level in standing(alert, self.plan.instances):
            arguments = {"record": f"records[{index}]", "level": str(level)}
            inline = inline_expression(function.read, arguments)
            if inline is None:
                self.out.namespace[f"is_{function.name}"] = function.read
                inline = f"is_{function.name}({', '.join(arguments.values())})"
            found.append(inline)
        holds = " or ".join(found) or "False"
        return f"({holds})" if wanted else f"(not ({holds}))"

    def _bound(self, node: Compare) -> str:
        """For `drop(x, w) > 20%` and the like, what must hold at the least; "" where there is no such thing.

        The scale of a relative change is never smaller than its reference, and the reference is at hand, while the
        noise costs a square root.
        """
        call, limit = node.left, node.right
        if not isinstance(call, Call) or not isinstance(limit, Number) or limit.value == 0.0:
            return ""
        function = FUNCTIONS[call.function]
        if not issubclass(function, WindowFunction) or not function.scaled:
            return ""
        if node.op not in ((">", ">=") if limit.value > 0.0 else ("<", "<=")):
            return ""
        arguments, known = self._reading(call, function)
        difference, reference, *_ = call_arguments(function.read, arguments)
        bound = f"{difference} {node.op[0]}= {limit.value * _BARELY!r} * abs({reference})"
        return f"{known} and {bound}" if known else bound

    def _number(self, node: Node) -> str:
        """An expression for a number; NaN when it is unknown."""
        match node:
            case Number(value=value):
                return f"({value!r})" if value < 0.0 else repr(value)
            case Duration(seconds=seconds):
                return repr(seconds)
            case Context(name="step"):
                return "float(step)"
            case Context(name="step_time"):
                return f"{self.slot[STEP_TIME]}.value"
            case Context(name=name) if name == PHASE_STEP:
                return "phases.since(step)"
            case Context(name=name):
                constant = f"constants.get({name!a}, nan)"
                return f"(step / {constant})" if name == PROGRESS else constant
            case Metric():
                key = series_key(node)
                return self.value[key] if key == self.home else f"{self.slot[key]}.last"
            case Negative(operand=operand):
                return f"(-{self._number(operand)})"
            case Arithmetic(op="/", left=left, right=right):
                divisor = self.out.temporary()
                return f"({self._number(left)} / {divisor} if ({divisor} := {self._number(right)}) else nan)"
            case Arithmetic(op=op, left=left, right=right):
                return f"({self._number(left)} {op} {self._number(right)})"
            case Call(function=name):
                function = FUNCTIONS[name]
                if issubclass(function, Pointwise):
                    inline = inline_expression(function.read, {"x": self._number(node.argument)})
                    assert inline is not None, f"{name}() is written as a single return"
                    return inline
                if issubclass(function, RunningFunction):
                    slot = self.slot[running_key(node)]
                    return inline_expression(function.read, {"self": slot}) or f"{slot}.read()"
                if issubclass(function, Reference):
                    assert isinstance(node.argument, Metric)
                    arguments = {"recorded": "recorded", "series": ascii(node.argument.name), "step": "step"}
                    inline = inline_expression(function.read, arguments)
                    assert inline is not None, f"{name}() is written as a single return"
                    return inline
                if issubclass(function, Probe):
                    assert isinstance(node.argument, Metric)
                    return self._probe(function.read, node.argument, 0.0)
                assert issubclass(function, WindowFunction)
                return self._window(node, function)
            case _:
                raise AssertionError(f"not a number: {node}")

    def _window(self, call: Call, function: type[WindowFunction]) -> str:
        arguments, known = self._reading(call, function)
        read = inline_expression(function.read, arguments)
        if read is None:
            name = f"read_{function.name}"
            self.out.namespace[name] = function.read
            read = f"{name}({', '.join(arguments[parameter] for parameter in _parameters(function.read))})"
        else:
            self._use(function.read)
        return f"({read} if {known} else nan)" if known else read

    def _reading(self, call: Call, function: type[WindowFunction]) -> tuple[dict[str, str], str]:
        """What `read` takes, by parameter, and an expression for whether the window has a value ("": it has)."""
        extent = call.window
        assert extent is not None
        key = window_key(call.argument, extent, reach=function.reach)
        name = series_key(call.argument)
        series, here = self.slot[name], name == self.home
        values = "v" if here else f"{series}.values"
        known = []
        # In its own block the newest value is in the window, and where a reach window is covered an older one too.
        sure = 0 if not here else 2 if function.reach and function.covered else 1
        start = self._begin(key, here=here)
        if function.least > sure:
            known.append(f"len({values}) - {start} >= {function.least}")
        if function.covered:
            if function.least == 0 and not here:
                known.append(f"{series}.first_step >= 0")
            known.append(self._covered(series, extent.axis, extent.size, reach=function.reach))
        arguments: dict[str, str] = {"values": values, "start": start}
        if call.literal is not None:
            arguments["literal"] = repr(call.literal.value)
        if function.placed:
            timed = extent.axis is Axis.TIME
            arguments["places"] = ("c" if timed else "k") if here else f"{series}.{'times' if timed else 'steps'}"
        names = [name for name in _parameters(function.read) if name not in arguments]
        for parameter, part in zip(names, function.parts, strict=False):
            arguments[parameter] = self.slot[part_key(key, part)]
        if function.scaled:
            scale = window_key(call.argument, scale_extent(extent), reach=True)
            arguments["moments"] = self.slot[part_key(scale, Moments)]
            arguments["count"] = f"(len({values}) - {self._begin(scale, here=here)})"
        return arguments, " and ".join(known)

    def _begin(self, window: str, *, here: bool) -> str:
        slot = self.slot[window]
        return _start(slot) if here else f"{slot}.start"

    def _covered(self, series: str, axis: Axis, size: float, *, reach: bool) -> str:
        """`Window.covered` in line, for a window that holds a value, so that the series has a first one."""
        if axis is Axis.SAMPLES:
            return f"{series}.seen >= {int(size) + reach}"
        if axis is Axis.STEPS:
            return f"{series}.first_step <= {self._behind(int(size) - (not reach))}"
        return f"{series}.first_time <= time - {size!r}"

    def _probe(self, read: Callable[..., Any], metric: Metric, size: float) -> str:
        slot = self.slot[series_key(metric)]
        arguments = {"series": slot, "step": "rel", "time": "time", "origin": "origin", "size": repr(size)}
        expression = inline_expression(read, arguments)
        if expression is not None:
            return expression
        name = f"probe_{read.__qualname__.replace('.', '_')}"
        self.out.namespace[name] = read
        return f"{name}({', '.join(arguments.values())})"


def _start(window: str) -> str:
    """The variable for where the window in a slot begins."""
    return f"{window}_start"


def _windows(node: Node) -> Iterator[Call]:
    """The calls of window functions that an expression reads itself; those inside others have had their turn."""
    if isinstance(node, Call):
        function = FUNCTIONS[node.function]
        if issubclass(function, Pointwise):
            yield from _windows(node.argument)
        elif issubclass(function, WindowFunction):
            yield node
        return
    for child in children(node):
        yield from _windows(child)


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]
