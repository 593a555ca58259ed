"""What people write in a condition who come from other languages, or from plain English, and how it is written here.

Asked only about a text that is no expression, so that no phrase can stand in the way of one that is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sentinel.stats import FUNCTIONS, RunningFunction

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
_TIME = r"milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d"
_SPAN = rf"({_NUMBER})\s*(?:(?:consecutive|successive|straight)\s+)?({_TIME}|steps?|samples?)\b"

_COMPARISONS = {
    "<": r"below|under|less\s+than|lower\s+than|smaller\s+than",
    ">": r"above|over|exceeds?|beyond|more\s+than|greater\s+than|higher\s+than|larger\s+than",
    ">=": r"at\s+least",
    "<=": r"at\s+most",
    "==": r"equals?(?:\s+to)?",
}
_MOVES = r"(?:is|are|was|goes|gets|stays|falls?|drops?|sinks?|rises?|climbs?|jumps?)\s+"
_SIGNS = {"≥": ">=", "≤": "<=", "≠": "!=", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "∧": "and", "∨": "or"}
_TURNED = {"=>": ">=", "=<": "<=", "<>": "!=", "===": "==", "!==": "!=", "**": ""}
_SIZES = {"k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9}


def meant_phrase(text: str, at: int) -> tuple[int, int, str] | None:
    """The phrase of another language at offset `at`: where it begins and ends, and its remedy. None: no known one.

    >>> meant_phrase("kl.ref => 0.1", 7)
    (7, 9, 'write >=')
    """
    for pattern, remedy in _PHRASES:
        for match in pattern.finditer(text):
            if match.start() <= at < match.end():
                return match.start(), match.end(), remedy(match)
    return None


def _left(match: re.Match[str]) -> str:
    """What stands left of a phrase, back to the last `and`, `or`, `not`; `x` when nothing does."""
    before = re.split(r"\b(?:and|or|not)\b", match.string[: match.start()])[-1]
    found = before.strip().lstrip("(").strip()
    return found if re.fullmatch(rf"{_NAME}|`[^`]+`|{_NAME}\(.*\)", found) else "x"


def _length(amount: str, unit: str) -> str:
    """`5` and `minutes` as the language has it: `5m`, `3 steps`."""
    unit = unit.lower()
    if unit.startswith(("step", "sample")):
        return f"{amount} {unit}"
    short = "ms" if unit.startswith(("ms", "milli")) else unit[0]
    return f"{amount}{short}"


def _holds(match: re.Match[str]) -> str:
    length = _length(match[2], match[3])
    remedy = f"put `for: {length}` on a line of its own, beside the severity"
    return remedy if match[1].lower() == "for" else f"{remedy}, or look over a window: mean({_left(match)}, {length})"


def _share_of(match: re.Match[str]) -> str:
    factor, name = f"{float(match[1]) / 100.0:g}", match[2]
    if name not in FUNCTIONS or match[3]:
        return f"write {factor} * {name}{match[3] or ''}"
    first = re.search(_NAME, match.string)
    looked_at = first[0] if first is not None and first.start() < match.start() else "x"
    return f"write {factor} * {_applied(name, looked_at)}"


def _applied(name: str, looked_at: str) -> str:
    function = FUNCTIONS[name]
    windowed = not (issubclass(function, RunningFunction) and not function.needs_window)
    return f"{name}({looked_at}, 10 samples)" if windowed else f"{name}({looked_at})"


def _times(match: re.Match[str]) -> str:
    return f"write {match[1]} * {match[2] or 'baseline(x)'}"


def _moved(match: re.Match[str]) -> str:
    function = "rise" if match[1].lower() in ("rise", "climb", "jump", "grow", "increase") else "drop"
    return f"write {function}({_left(match)}, 100 steps) > {match[2]}"


def _compared(sign: str) -> Callable[[re.Match[str]], str]:
    return lambda _: f"write {sign}"


def _decimal(match: re.Match[str]) -> str:
    whole, after = match[1], match[2]
    return f"write {whole}{after}" if len(after) == 3 and whole != "0" else f"write {whole}.{after}"


def _between(match: re.Match[str]) -> str:
    return f"write {_left(match)} > {match[1]} and {_left(match)} < {match[2]}"


def _trend(match: re.Match[str]) -> str:
    return (
        f"write {'falling' if match[1].lower() in ('falling', 'decreasing') else 'rising'}({_left(match)}, 10 samples)"
    )


def _said(remedy: str) -> Callable[[re.Match[str]], str]:
    return lambda _: remedy


_PHRASES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), remedy)
    for pattern, remedy in (
        (rf"\b(for|over|during|within)\s+(?:the\s+)?(?:last\s+|past\s+)?{_SPAN}", _holds),
        (rf"({_NUMBER})\s*%\s*of\s+(?:the\s+|its\s+)?({_NAME})(\([^()]*\))?", _share_of),
        (rf"({_NUMBER})\s*(?:x\b|times\b|×)\s*({_NAME}(?:\([^()]*\))?)?", _times),
        (r"(?<![0-9.])([0-9]+),([0-9]+)\b", _decimal),
        (rf"\b({_NUMBER})((?-i:[kKMGB]))\b", lambda m: f"write {float(m[1]) * _SIZES[m[2].lower()]:.15g}"),
        (rf"\b({_NUMBER})\s*({_TIME})\b", lambda m: f"write {_length(m[1], m[2])}"),
        (r"=>|=<|<>|===|!==", lambda m: f"write {_TURNED[m[0]]}"),
        (f"[{''.join(_SIGNS)}]", lambda m: f"write {_SIGNS[m[0]]}"),
        (
            r"\{[^{}]*?(?:=~|!~|!=|==)[^{}]*\}?",
            _said(
                "a label is given by its one value: {gpu=0}. Leave it out and each series makes an alert of its own, "
                "or join two conditions with `or`"
            ),
        ),
        (r"\b(?:is\s+|in\s+)?between\s+(\S+)\s+and\s+(\S+)", _between),
        (
            r"\bis\s+(?:not\s+)?(?:an?\s+)?(?:nan|inf|infinite|finite|null|none|number)\b",
            lambda m: f"write nonfinite({_left(m)})",
        ),
        (r"\bis\s+(rising|increasing|growing|falling|decreasing)\b", _trend),
        (
            rf"\b(?:is\s+)?(?:(?:{_MOVES})?by\s+)?(rise|climb|jump|grow|increase|drop|fall|sink|decrease|decline)(?:s|d|es|ed)?"
            rf"\s+by\s+(?:more\s+than\s+|over\s+|at\s+least\s+)?({_NUMBER}\s*%)",
            _moved,
        ),
        *((rf"\b(?:{_MOVES})?(?:{words})\b", _compared(sign)) for sign, words in _COMPARISONS.items()),
        (
            r"\bis\s+(?:very\s+|too\s+)?(?:high|low|large|small|big|bad)\b",
            lambda m: f"say from which value on: {_left(m)} {'<' if re.search('low|small', m[0]) else '>'} 0.5",
        ),
        (r"\bis\s+not\b", _said("write !=")),
        (r"\bis\b", _said("compare with < <= > >= == !=")),
        (r"\bunless\b", _said("write `and not`")),
        (r"\b(?:if|when|while|but|whenever)\b", _said("a condition stands by itself: join two with `and`")),
        (
            r"\boffset\b",
            _said("to compare with the past write delta(x, 5m), change(x, 5m), or first(x, 10 steps) for the value"),
        ),
        (
            rf"(?:\b{_NAME}\s+)?\b(?:by|without)\s*\(",
            _said("leave it out: each series with labels makes an alert of its own"),
        ),
        (r"\bin\s*[\[({]", _said("write phase == early or phase == late, or the rule's key `phase` with a list")),
        (r"\*\*", _said("there are no powers")),
        (r"(?<![0-9])\s*%", _said("a percentage is a number and %: 20%; there is no remainder")),
    )
)
"""Pattern → remedy, the more special ones first."""
