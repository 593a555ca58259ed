"""Text in, tree out. The grammar stands here once, in full, also for functions that are yet to come.

The parser is lark's LALR(1). What this file adds are good errors: each names a place and a remedy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, cast

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from sentinel.rules.expression.elsewhere import meant_function
from sentinel.rules.expression.nodes import (
    Alert,
    Arithmetic,
    Call,
    Compare,
    Context,
    Duration,
    Extent,
    InPhase,
    Logic,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    Span,
    children,
    is_condition,
    walk,
)
from sentinel.rules.expression.phrases import meant_phrase
from sentinel.severity import SEVERITIES
from sentinel.stats import (
    FUNCTIONS,
    Nonfinite,
    Pointwise,
    Probe,
    Reference,
    RunningFunction,
    Standing,
    WindowFunction,
)
from sentinel.stats.window import Axis
from sentinel.suggestion import closest

MAX_LENGTH = 1000
"""Characters of one expression. The longest shipped one has under 200."""

MAX_DEPTH = 20
"""Nested brackets and calls; also keeps the generated code's indentation within what Python compiles."""

MAX_NESTING = 60
"""Levels of the tree: a chain of sums or of `not` nests without a bracket, and what walks the tree recurses."""

MAX_WINDOW = 100_000
"""Steps or samples of one window."""

MAX_SECONDS = 366 * 86400.0
"""The longest duration."""

GRAMMAR = r"""
?start: alternative
?alternative: conjunction (_OR conjunction)*
?conjunction: negation (_AND negation)*
?negation: NOT negation -> not_
         | comparison
?comparison: sum
           | sum COMPARE sum -> compare
?sum: product
    | sum ADD product -> arithmetic
?product: unary
        | product MULTIPLY unary -> arithmetic
?unary: MINUS unary -> negative
      | atom
?atom: PERCENT -> percent
     | DURATION -> duration
     | NUMBER -> number
     | COUNT -> count
     | STRING -> quoted
     | call
     | STANDING -> standing
     | metric
     | LPAR alternative RPAR -> bracketed

call: NAME "(" [argument ("," argument)*] RPAR
?argument: STAR -> any_metric
         | alternative

metric: NAME [labels]
      | RAW [labels]
labels: LBRACE [label ("," label)*] RBRACE
label: NAME "=" (NAME | NUMBER | STRING)

_OR.5: /or(?![A-Za-z0-9_.])/
_AND.5: /and(?![A-Za-z0-9_.])/
NOT.5: /not(?![A-Za-z0-9_.])/
STANDING.5: /(firing|pending)\s*\([^()]*\)?/
COUNT.4: /[0-9]+\s*(steps?|samples?)(?![A-Za-z0-9_])/
PERCENT.4: /[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*%/
DURATION.4: /[0-9]+(\.[0-9]+)?(ms|s|m|h|d)(?![A-Za-z0-9_])/
NUMBER.3: /([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?(?![A-Za-z0-9_.])/
NAME: /[A-Za-z_][A-Za-z0-9_]*(\.([A-Za-z0-9_]+|\*))*/
RAW: /`[^`\n]+`/
STRING: /"[^"\n]*"/
COMPARE: "<=" | ">=" | "==" | "!=" | "<" | ">"
ADD: "+" | "-"
MINUS: "-"
MULTIPLY: "*" | "/"
STAR.2: "*"
LPAR: "("
RPAR: ")"
LBRACE: "{"
RBRACE: "}"

%ignore /[ \t\r\n]+/
"""

CONTEXT_NAMES = ("step", "progress", "step_time", "phase", "phase_step")
"""Facts about the run; so is all that begins with `config.`."""

VARS = "vars."
"""What the names of a file's shared values begin with."""

Literal = Number | Duration | Extent
"""What a file's `vars` may hold."""

NO_VARIABLES: Mapping[str, Literal] = {}

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in an expression: offsets into its text, a stable code, a sentence, a remedy."""

    start: int
    end: int
    code: str
    message: str
    hint: str = ""


class ExpressionError(Exception):
    """An expression cannot be used. `faults` are in reading order. The loader turns it into a `RuleError`.

    `node`: the tree with stand-ins where the faults are, when there is one, so that its names can still be checked.
    """

    def __init__(self, faults: Sequence[Fault], node: Node | None = None) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = list(faults)
        self.node = node


@dataclass(frozen=True, slots=True)
class _Quoted:
    """A text in quotes: the name of a phase, and nothing else."""

    text: str
    span: Span


def parse_expression(text: str, variables: Mapping[str, Literal] = NO_VARIABLES) -> Node:
    """The tree of `text`. Names of metrics and units are not checked here (`sentinel.rules.expression.check`).

    `variables`: what `vars.NAME` stands for; the tree holds the values. Raises ExpressionError with every fault that
    can be found at once.
    """
    node, faults = _read(text, variables)
    if isinstance(node, Extent):
        raise ExpressionError(faults or [_misplaced_extent(node)])
    if isinstance(node, _Quoted):
        raise ExpressionError([*faults, _misplaced_text(node)])
    if faults:
        raise ExpressionError(sorted(faults, key=lambda fault: fault.start), node)
    return node


def parse_literal(text: str) -> Literal:
    """A number, a percentage, a duration or a count, as `vars` take them. Raises ExpressionError."""
    node: Node | Extent | _Quoted | None
    try:
        node, faults = _read(text, NO_VARIABLES)
    except ExpressionError:
        node, faults = None, []
    if faults:
        raise ExpressionError(faults)
    if not isinstance(node, Literal):
        message = f"'{text}' is not a number, a percentage, a duration or a count"
        raise ExpressionError([Fault(0, max(len(text), 1), "bad-var", message, "write 0.5, 20%, 5m or 3 steps")])
    return node


def parse_extent(text: str, variables: Mapping[str, Literal] = NO_VARIABLES) -> Extent:
    """`3 steps`, `5 samples` or `5m`, as `for` and `after` take them. Raises ExpressionError."""
    node: Node | Extent | _Quoted | None
    try:
        node, faults = _read(text, variables)
    except ExpressionError:
        node, faults = None, []
    if faults and (isinstance(node, Duration) or text.strip().startswith(VARS)):
        raise ExpressionError(faults)
    if isinstance(node, Duration):
        node = Extent(Axis.TIME, node.seconds, node.span)
    if not isinstance(node, Extent):
        message = f"'{text}' is not a length of time or a count"
        raise ExpressionError([Fault(0, max(len(text), 1), "bad-extent", message, "write 3 steps, 3 samples or 5m")])
    if node.size <= 0:
        raise ExpressionError([Fault(0, len(text), "bad-extent", f"'{text}' is nothing", "it must be above zero")])
    return node


@cache
def _parser() -> tuple[Lark, _Builder]:
    """The parser, and what builds our tree while it reads: one of lark's own would be built to be thrown away."""
    builder = _Builder()
    return Lark(GRAMMAR, parser="lalr", maybe_placeholders=False, transformer=builder), builder


def forget() -> None:
    """Parse anew what was parsed before; for measuring."""
    _remembered.cache_clear()


def _read(text: str, variables: Mapping[str, Literal]) -> tuple[Node | Extent | _Quoted, list[Fault]]:
    """What `text` says, neither too long nor too deep, and what is wrong in it. Raises ExpressionError where it is no
    expression at all."""
    node, faults = _parsed(text, variables) if VARS in text else _remembered(text)
    return node, list(faults)


@lru_cache(maxsize=4096)
def _remembered(text: str) -> tuple[Node | Extent | _Quoted, tuple[Fault, ...]]:
    """Trees are values: a file that is read again, and what many rules say alike, is parsed once."""
    return _parsed(text, NO_VARIABLES)


def _parsed(text: str, variables: Mapping[str, Literal]) -> tuple[Node | Extent | _Quoted, tuple[Fault, ...]]:
    if len(text) > MAX_LENGTH:
        message = f"the expression has {len(text)} characters"
        hint = f"at most {MAX_LENGTH}: make two rules of it, or name what repeats in vars"
        raise ExpressionError([Fault(MAX_LENGTH, len(text), "too-long", message, hint)])
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} brackets are open"
            raise ExpressionError([Fault(at, at + 1, "too-deep", message, "split the rule in two")])
    parser, builder = _parser()
    builder.begin(text, variables)
    try:
        # With a transformer lark gives what that builds, and its annotation does not know.
        node = cast("Node | Extent | _Quoted", parser.parse(text))
    except UnexpectedInput as error:
        raise ExpressionError([_syntax_fault(text, error)]) from None
    level = [node]
    for _ in range(MAX_NESTING):
        level = [child for parent in level if isinstance(parent, Node) for child in children(parent)]
        if not level:
            return node, tuple(builder.faults)
    hint = "a chain has at most that many links: split the rule in two"
    message = f"the expression nests more than {MAX_NESTING} levels deep"
    raise ExpressionError([Fault(0, len(text), "too-deep", message, hint)])


def _syntax_fault(text: str, error: UnexpectedInput) -> Fault:
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return Fault(len(text), len(text) + 1, "syntax", "the expression ends too early", _expected_hint(error))
    at = min(error.pos_in_stream or 0, len(text))
    if (phrase := meant_phrase(text, at)) is not None:
        start, end, hint = phrase
        return Fault(start, end, "syntax", f"'{text[start:end]}' means nothing here", hint)
    if isinstance(error, UnexpectedCharacters):
        character = text[at : at + 1]
        hint = _SIGNS.get(character, _BACKTICKS if character in "/:$@#" else "")
        end = at + 1
        while end < len(text) and character.isdigit() and (text[end].isalnum() or text[end] in "._"):
            end += 1
        return Fault(at, end, "syntax", f"'{text[at:end]}' means nothing here", hint)
    token = error.token if isinstance(error, UnexpectedToken) else Token("", "")
    width = max(len(str(token)), 1)
    if token.type == "COMPARE":
        return Fault(at, at + width, "syntax", "comparisons cannot be chained", "write a < b and b < c")
    if isinstance(error, UnexpectedToken) and token.type in _OPERANDS and "_AND" in error.accepts:
        hint = closest(str(token).lower(), {"and", "or"}) or "join conditions with `and` or `or`"
        return Fault(at, at + width, "syntax", f"'{token}' follows without an operator", hint)
    hint = _SIGNS.get(str(token)) or _expected_hint(error)
    return Fault(at, at + width, "syntax", f"'{token}' is not expected here", hint)


_BACKTICKS = "a trainer's own key goes in backticks: `actor/kl_loss`"

_SIGNS = {
    "=": "compare with ==",
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`, or != to compare",
    "[": "a window is the function's second argument: mean(kl.ref, 10 steps)",
    "'": _BACKTICKS,
    '"': _BACKTICKS,
    "^": "there are no powers",
    "~": "a label has one value: {gpu=0}",
}
"""What people mean who write a sign from another language."""

_WORD = re.compile(r"[^\s,()](?:[^,()]*[^\s,()])?")

_ALERT_NAME = re.compile(r"[A-Za-z0-9_.-]+")
"""Wider than what a rule can be called, so that a near miss is told which name was meant."""

_OPERANDS = frozenset({"NAME", "STANDING", "RAW", "NUMBER", "PERCENT", "DURATION", "COUNT"})


def _expected_hint(error: UnexpectedInput) -> str:
    accepts: set[str] = getattr(error, "accepts", None) or set()
    if "NAME" in accepts:
        return "a metric, a number, a function or a bracket belongs here"
    if "RPAR" in accepts:
        return "a bracket is not closed"
    return ""


_PHASE_NAME = re.compile(r"[A-Za-z0-9_.-]+")
"""Names of phases that need no quotes."""


def _misplaced_extent(extent: Extent) -> Fault:
    return Fault(
        extent.span.start,
        extent.span.end,
        "misplaced-window",
        f"'{extent}' is a window",
        "it belongs at the end of a function: mean(kl.ref, 10 steps)",
    )


def _misplaced_text(quoted: _Quoted) -> Fault:
    message = 'a text in quotes is the name of a phase: phase == "my stage"'
    return Fault(quoted.span.start, quoted.span.end, "syntax", message, _BACKTICKS)


def _unit_hint(given: Any, signature: str) -> str:
    """How a window is written that was given as a bare number."""
    if isinstance(given, Number) and not given.percent and given.value >= 1 and given.value == int(given.value):
        size = int(given.value)
        return f"say of what: {Extent(Axis.STEPS, size)}, {Extent(Axis.SAMPLES, size)} or {size}m"
    return f"write {signature}"


def _span(first: Any, last: Any) -> Span:
    """From where one node or token begins to where another ends."""
    start = first.start_pos or 0 if isinstance(first, Token) else first.span.start
    end = last.end_pos or 0 if isinstance(last, Token) else last.span.end
    return Span(start, end)


class _Builder(Transformer[Token, Any]):
    """From lark's rules to our tree. Collects faults rather than stop at the first.

    Each method takes what stands below the grammar's rule of its name. One builder serves one text after another.
    """

    def __init__(self) -> None:
        super().__init__()
        self.begin("", NO_VARIABLES)

    def begin(self, text: str, variables: Mapping[str, Literal]) -> None:
        """Another text is read next."""
        self.text = text
        self.variables = variables
        self.faults: list[Fault] = []

    def fault(self, span: Span, code: str, message: str, hint: str = "") -> None:
        self.faults.append(Fault(span.start, span.end, code, message, hint))

    def operand(self, node: Any) -> Node:
        """A node that may stand in a calculation, or a stand-in for it and a fault."""
        if isinstance(node, Extent):
            self.faults.append(_misplaced_extent(node))
            return Number(0.0, span=node.span)
        if isinstance(node, _Quoted):
            self.faults.append(_misplaced_text(node))
            return Number(0.0, span=node.span)
        assert isinstance(node, Node)
        return node

    def alternative(self, parts: list[Any]) -> Logic:
        return Logic("or", tuple(self.operand(part) for part in parts), _span(parts[0], parts[-1]))

    def conjunction(self, parts: list[Any]) -> Logic:
        return Logic("and", tuple(self.operand(part) for part in parts), _span(parts[0], parts[-1]))

    def not_(self, parts: list[Any]) -> Not:
        return Not(self.operand(parts[1]), _span(*parts))

    def bracketed(self, parts: list[Any]) -> Any:
        """What stands in brackets, which then belong to it."""
        opening, inner, closing = parts
        return replace(inner, span=_span(opening, closing))

    def compare(self, parts: list[Any]) -> Node:
        left, op, right = parts
        span = _span(left, right)
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Context) and side.name == "phase":
                return self._in_phase(str(op), other, span)
        return Compare(str(op), self.operand(left), self.operand(right), span)

    def _in_phase(self, op: str, other: Any, span: Span) -> Node:
        """`phase == late`. A name of a phase reads like a metric, a function or a difference, and is none of them."""
        at: Span = other.span
        self.faults = [fault for fault in self.faults if not at.start <= fault.start < at.end]
        name = other.text if isinstance(other, _Quoted) else self.text[at.start : at.end]
        if op not in ("==", "!="):
            self.fault(span, "bad-phase", "one phase is not more than another", "compare it with == or !=")
        elif not (_PHASE_NAME.fullmatch(name) or (isinstance(other, _Quoted) and name.strip())):
            self.fault(
                at, "bad-phase", "a phase is compared with a name", 'write phase == late, or phase == "my stage"'
            )
        return InPhase(name, op == "!=", span)

    def arithmetic(self, parts: list[Any]) -> Arithmetic:
        left, op, right = parts
        return Arithmetic(str(op), self.operand(left), self.operand(right), _span(left, right))

    def negative(self, parts: list[Any]) -> Node:
        span = _span(*parts)
        operand = self.operand(parts[1])
        if isinstance(operand, Number):
            return Number(-operand.value, operand.percent, span)
        return Negative(operand, span)

    def quoted(self, parts: list[Token]) -> _Quoted:
        return _Quoted(parts[0][1:-1], _span(parts[0], parts[0]))

    def percent(self, parts: list[Token]) -> Number:
        return self._number(float(parts[0].rstrip("%").rstrip()) / 100.0, parts[0], percent=True)

    def number(self, parts: list[Token]) -> Number:
        return self._number(float(parts[0]), parts[0], percent=False)

    def _number(self, value: float, token: Token, *, percent: bool) -> Number:
        span = _span(token, token)
        if not abs(value) < 1e100:
            self.fault(span, "bad-number", "the number is too large", "magnitudes stay below 1e100")
            value = 0.0
        return Number(value, percent, span)

    def duration(self, parts: list[Token]) -> Duration:
        text, span = str(parts[0]), _span(parts[0], parts[0])
        unit = text.lstrip("0123456789.")
        seconds = float(text[: len(text) - len(unit)]) * _SECONDS[unit]
        if seconds > MAX_SECONDS:
            self.fault(span, "bad-number", f"'{text}' is over a year", "take a shorter time")
            seconds = MAX_SECONDS
        return Duration(seconds, span)

    def count(self, parts: list[Token]) -> Extent:
        digits = "".join(character for character in parts[0] if character.isdigit())
        axis = Axis.STEPS if "step" in parts[0] else Axis.SAMPLES
        size = int(digits) if len(digits) < 10 else 10**9
        return Extent(axis, size, _span(parts[0], parts[0]))

    def any_metric(self, parts: list[Token]) -> Metric:
        return Metric("*", span=_span(parts[0], parts[0]))

    def label(self, parts: list[Token]) -> tuple[str, str]:
        key, value = parts
        return str(key), str(value).strip('"')

    def labels(self, parts: list[Any]) -> tuple[tuple[tuple[str, str], ...], Token]:
        """The labels by name, and the bracket that closes them."""
        opening, *given, closing = parts
        names = [name for name, _ in given]
        for name in {name for name in names if names.count(name) > 1}:
            message = f"the label '{name}' is given twice"
            self.fault(_span(opening, closing), "duplicate-label", message, "a series has one value of it")
        return tuple(sorted(dict(given).items())), closing

    def metric(self, parts: list[Any]) -> Node | Extent:
        token: Token = parts[0]
        labels, closing = parts[1] if len(parts) > 1 else ((), token)
        span = _span(token, closing)
        if token.type == "RAW":
            return Metric(token[1:-1], labels, raw=True, span=span)
        if token.startswith(VARS) and not labels:
            return self._variable(str(token).removeprefix(VARS), span)
        if (token in CONTEXT_NAMES or token.startswith("config.")) and not labels and "*" not in token:
            return Context(str(token), span)
        if token in ("and", "or", "not"):
            message = f"'{token}' has nothing to join here"
            self.fault(span, "syntax", message, "a condition stands on both sides")
        elif token in FUNCTIONS:
            signature = FUNCTIONS[token].signature
            self.fault(span, "function-without-brackets", f"'{token}' is a function", signature)
        return Metric(str(token), labels, span=span)

    def _variable(self, name: str, span: Span) -> Literal:
        value = self.variables.get(name)
        if value is not None:
            return replace(value, span=span)
        hint = closest(name, self.variables)
        if not hint:
            known = f"there are: {', '.join(self.variables)}. " if self.variables else ""
            hint = f"{known}Add it at the top of the file: vars: {{{name}: 0.5}}"
        self.fault(span, "unknown-var", f"the file has no variable '{name}'", hint)
        return Number(0.0, span=span)

    def call(self, parts: list[Any]) -> Node:
        name: Token = parts[0]
        given = parts[1:-1]
        whole, at = _span(name, parts[-1]), _span(name, name)
        # What stands in for the call is its first argument, so that a misspelled metric in it is told as well.
        stand_in: Node = Number(0.0, span=whole)
        if given and not isinstance(given[0], Extent | Duration) and not is_condition(given[0]):
            stand_in = given[0]
        function = FUNCTIONS.get(str(name))
        if function is None:
            hint = meant_function(str(name))
            self.fault(at, "unknown-function", f"there is no function '{name}'", hint)
            return stand_in

        def wrong(message: str, span: Span = at, hint: str = f"write {function.signature}") -> Node:
            self.fault(span, "bad-arguments", message, hint)
            return stand_in

        if not given:
            return wrong(f"{name}() needs an argument")
        argument, rest = given[0], given[1:]
        window: Extent | None = None
        literal: Number | None = None
        if issubclass(function, WindowFunction) and function.literal:
            if not rest or not isinstance(rest[0], Number) or not 0.0 <= rest[0].value <= 1.0:
                message = f"the second argument of {name}() is a share from 0% to 100%"
                return wrong(message, rest[0].span if rest else at)
            literal, rest = rest[0], rest[1:]
        if len(rest) > 1:
            return wrong(f"{name}() takes an expression and a window, not {len(given)} arguments")
        if rest:
            if isinstance(rest[0], Duration):
                window = Extent(Axis.TIME, rest[0].seconds, rest[0].span)
            elif isinstance(rest[0], Extent):
                window = rest[0]
            else:
                place = "third" if literal is not None else "second"
                message = f"the {place} argument of {name}() is a window, such as 10 steps, 10 samples or 5m"
                return wrong(message, rest[0].span, _unit_hint(rest[0], function.signature))
            if window.size <= 0:
                return wrong("a window of nothing", window.span)
            if window.size > MAX_WINDOW and window.axis is not Axis.TIME:
                message = f"a window of {window.size:,.0f} {window.axis.value}"
                return wrong(message, window.span, f"at most {MAX_WINDOW:,} {window.axis.value}")
        if isinstance(argument, Extent | Duration):
            return wrong(f"the first argument of {name}() is what to look at, the window comes second", argument.span)
        argument = self.operand(argument)
        if issubclass(function, WindowFunction) and function.conditional:
            if not is_condition(argument):
                return wrong(f"{name}() looks at a condition, such as kl.ref > 0.5", argument.span)
            for found in walk(argument):
                if isinstance(found, Call) and issubclass(FUNCTIONS[found.function], Probe | Standing):
                    message = f"{name}() cannot look back at what {found.function}() said"
                    # Its answer changes while nothing is logged, and a window holds what was logged.
                    hint = f"{found.function}() changes between events: join the two with `and`, or use the rule's for"
                    self.fault(found.span, "bad-arguments", message, hint)
                    return stand_in
        elif isinstance(argument, Compare | InPhase | Logic | Not):
            return wrong(f"{name}() looks at a number, not at a condition", argument.span)
        if issubclass(function, WindowFunction) and window is None:
            return wrong(f"{name}() needs a window")
        if issubclass(function, RunningFunction) and function.needs_window and window is None:
            return wrong(f"{name}() needs a window in samples")
        if issubclass(function, Pointwise) and window is not None:
            return wrong(f"{name}() takes no window", window.span)
        if issubclass(function, RunningFunction) and window is not None:
            if not function.optional_window:
                return wrong(f"{name}() takes no window", window.span)
            if window.axis is not Axis.SAMPLES:
                return wrong(f"the window of {name}() is counted in samples", window.span)
        if issubclass(function, Probe | Nonfinite | Reference):
            if not isinstance(argument, Metric):
                return wrong(f"{name}() looks at a metric, not at a calculation", argument.span)
            axes_taken = function.axes if issubclass(function, Probe) else ()
            if axes_taken and (window is None or window.axis not in axes_taken):
                axes = " or ".join("seconds" if axis is Axis.TIME else axis.value for axis in axes_taken)
                return wrong(f"{name}() needs a window in {axes}")
            if not axes_taken and window is not None:
                return wrong(f"{name}() takes no window", window.span)
        if isinstance(argument, Metric) and argument.name == "*" and not issubclass(function, Probe | Nonfinite):
            return wrong(f"{name}(*) would mix metrics of different units", argument.span)
        return Call(str(name), argument, window, literal, span=whole)

    def standing(self, parts: list[Token]) -> Node:
        """`firing(kl-high)`: a rule's name is no expression, its hyphens are no minus signs."""
        text, whole = str(parts[0]), _span(parts[0], parts[0])
        begin = whole.start
        name, _, inside = text.partition("(")
        name = name.rstrip()
        signature = f"write {FUNCTIONS[name].signature}"
        words = [
            Span(begin + found.start(), begin + found.end()) for found in _WORD.finditer(text, text.index("(") + 1)
        ]
        given = [text[word.start - begin : word.end - begin] for word in words]

        def wrong(message: str, hint: str = signature, span: Span | None = None) -> Node:
            at = span or Span(begin, begin + len(name))
            self.fault(at, "bad-arguments", message, hint)
            return Number(0.0, span=whole)

        if not inside.endswith(")"):
            return wrong("a bracket is not closed")
        if not given:
            return wrong(f"{name}() needs the name of another rule")
        if not _ALERT_NAME.fullmatch(given[0]):
            return wrong(f"'{given[0]}' is no rule's name", span=words[0])
        if len(given) > 2:
            return wrong(f"{name}() takes an alert and a severity", span=words[2])
        severity = next((known for known in SEVERITIES if known in given[1:]), None)
        if len(given) > 1 and severity is None:
            hint = closest(given[1], SEVERITIES) or f"severities: {', '.join(SEVERITIES)}"
            return wrong(f"'{given[1]}' is no severity", hint, words[1])
        return Call(name, Alert(given[0], severity, words[0]), span=whole)
