"""YAML text as plain values that know where they stand: the one reader of all files that people write.

It takes the useful part of YAML 1.2 and nothing that can surprise: `true` and `false` are the only booleans (`on`,
`yes` and `off` are texts), a key stands once, and anchors, aliases, merge keys and tags are refused. It reads the
parser's events and builds nothing but dicts, lists and scalars, so no text can run code, grow beyond its size or
exhaust the stack. Every fault is a `Problem` with line and column; as many as can be found are found at once.
"""

from __future__ import annotations

import bisect
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from sentinel.errors import Problem
from sentinel.suggestion import closest

if TYPE_CHECKING:
    from pydantic import ValidationError

MAX_BYTES = 1024 * 1024
"""A larger file is refused unread."""

MAX_DEPTH = 20
"""Lists and mappings inside one another."""

MAX_PROBLEMS = 100
"""Faults listed of one file; a file that is no YAML at all would list thousands."""

MAX_EXCERPT = 200
"""Characters of a line that are quoted."""

Loc = tuple[str | int, ...]
"""The way from the top to a value: keys of mappings, indices of lists."""

# libyaml is ten times as fast; PyYAML may be built without it. Both give the same events.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")

_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]{1,40}")
_OCTAL = re.compile(r"0o[0-7]{1,40}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,40}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

YAML_1_1_BOOLEANS = frozenset({"on", "off", "yes", "no", "y", "n"})
"""What older YAML took for booleans, in lower case."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: `line` and `column` count from 1, `excerpt` is its line, `width` the carets' number."""

    line: int
    column: int
    excerpt: str
    width: int


class DocumentError(Exception):
    """A text is no usable document. `problems` are in reading order and never empty.

    `document`: what could be read all the same, so that its other faults can be told at once; None when the text
    is no YAML.
    """

    def __init__(self, problems: list[Problem], document: Document | None = None) -> None:
        super().__init__(f"{problems[0].place}: {problems[0].message}")
        self.problems = problems
        self.document = document


@dataclass(slots=True)
class _Entry:
    """Character offsets of a value and of its key; for scalars also text and style (None: plain)."""

    start: int
    end: int
    key_start: int
    key_end: int
    text: str | None = None
    style: str | None = None


@dataclass(slots=True)
class Document:
    """A text that was understood. `value` is made of dict, list, str, int, float, bool and None."""

    path: str
    text: str
    value: Any = None
    _entries: dict[Loc, _Entry] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)

    def place(self, loc: Sequence[str | int], *, key: bool = False) -> Place:
        """Where the value at `loc` stands, or its key. Unknown parts of `loc` are passed over.

        A mapping or list is marked by its first line's text, so that carets never span a whole block.
        """
        entry = self._entry(loc)
        if key and entry.key_end > entry.key_start:
            return self._between(entry.key_start, entry.key_end)
        return self._between(entry.start, entry.end)

    def place_in(self, loc: Sequence[str | int], start: int, end: int) -> Place:
        """Where characters `start` to `end` of the scalar at `loc` stand, whatever its quotes and folding."""
        entry = self._entry(loc)
        if entry.text is None:
            return self._between(entry.start, entry.end)
        offsets = _align(entry.text, self.text, entry.start, entry.end, entry.style)
        first = offsets[min(max(start, 0), len(entry.text))]
        last = offsets[min(max(end, start + 1), len(entry.text))]
        # Between two characters of the value may lie a line's end with its indentation.
        return self._between(first, first + max(len(self.text[first:last].rstrip()), 1))

    def scalar(self, loc: Sequence[str | int]) -> str | None:
        """The text of the scalar at `loc` as it was before it became a number or a boolean; None for others."""
        entry = self._entries.get(tuple(loc))
        return entry.text if entry is not None else None

    def problem(self, place: Place, code: str, message: str, hint: str = "", severity: str = "error") -> Problem:
        """A fault at `place` of this document."""
        return Problem(
            self.path, place.line, place.column, code, message, hint, place.excerpt, place.width, severity=severity
        )

    def _entry(self, loc: Sequence[str | int]) -> _Entry:
        known: Loc = ()
        for part in loc:
            if (*known, part) in self._entries:
                known = (*known, part)
        return self._entries.get(known) or _Entry(0, 0, 0, 0)

    def _between(self, start: int, end: int) -> Place:
        row = max(bisect.bisect_right(self._starts, start) - 1, 0)
        begin = self._starts[row]
        match = _BREAK.search(self.text, begin)
        line = self.text[begin : match.start() if match else len(self.text)]
        column = start - begin
        stop = min(end - begin, len(line.rstrip()))
        return Place(row + 1, column + 1, *_excerpt(line, column, max(stop - column, 1)))


def read_document(text: bytes | str, path: str) -> Document:
    """The document that `text` holds. `path` is what problems name; no file is opened.

    Raises DocumentError with every fault: an unreadable text has one, a readable one may have many.
    """
    document = Document(path, _decode(text, path))
    document._starts = [0, *(match.end() for match in _BREAK.finditer(document.text))]
    builder = _Builder(document)
    whole = False
    try:
        builder.read()
        whole = True
    except yaml.YAMLError as error:
        builder.problems.append(_syntax_problem(document, error))
    except RecursionError:  # pragma: no cover - neither parser recurses today; the promise is ours, not theirs
        builder.problems.append(Problem(path, 0, 0, "too-deep", "the file is nested too deeply"))
    if builder.problems:
        raise DocumentError(builder.problems[:MAX_PROBLEMS], document if whole else None)
    return document


def printable(text: str, limit: int = 60) -> str:
    """A word from a file, fit for a one-line message: cut to `limit` characters, control characters escaped."""
    clean = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text[: limit + 1])
    return clean if len(clean) <= limit else f"{clean[:limit]}…"


def _decode(text: bytes | str, path: str) -> str:
    if isinstance(text, bytes):
        if len(text) > MAX_BYTES:
            raise DocumentError([_too_large(path, len(text))])
        try:
            decoded = text.decode("utf-8")
        except UnicodeDecodeError as error:
            before = text[: error.start].decode("utf-8")
            row, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
            if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise DocumentError([_not_utf8(path, row, column, "it looks like UTF-16")]) from None
            byte = f"byte 0x{text[error.start]:02x}"
            raise DocumentError([_not_utf8(path, row, column, byte)]) from None
    else:
        decoded = text
        try:
            size = len(text.encode("utf-8"))
        except UnicodeEncodeError:
            raise DocumentError([_not_utf8(path, 0, 0, "a lone surrogate")]) from None
        if size > MAX_BYTES:
            raise DocumentError([_too_large(path, size)])
    return decoded.removeprefix("\ufeff")


def _not_utf8(path: str, row: int, column: int, what: str) -> Problem:
    return Problem(path, row, column, "not-utf8", f"the file is not UTF-8: {what}", "save it as UTF-8")


def _too_large(path: str, size: int) -> Problem:
    return Problem(path, 0, 0, "too-large", f"the file has {size} bytes", f"at most {MAX_BYTES}: split it")


def _excerpt(line: str, column: int, width: int) -> tuple[str, int]:
    """The line as quoted, and the carets' width: both cut so that a monstrous line stays readable."""
    shown = line[:MAX_EXCERPT]
    return shown, max(min(width, len(shown) - column), 1)


@dataclass(slots=True)
class _Open:
    """A list or mapping that is not yet closed; `key` is the one that waits for its value."""

    loc: Loc
    value: dict[str, Any] | list[Any]
    key: str | None = None
    key_span: tuple[int, int] = (0, 0)
    seen: dict[str, int] = field(default_factory=dict)
    lost: bool = False


class _Builder:
    """From the parser's events to values and their places."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self.stack: list[_Open] = []
        self.documents = 0

    def read(self) -> None:
        try:
            for event in yaml.parse(self.document.text, Loader=_Loader):
                if not self._event(event) or len(self.problems) >= MAX_PROBLEMS:
                    return
        except UnicodeError as error:  # pragma: no cover - the text was checked to be encodable
            raise yaml.YAMLError(str(error)) from None

    def _event(self, event: yaml.Event) -> bool:
        """Take one event in; False when reading on makes no sense."""
        match event:
            case yaml.DocumentStartEvent():
                self.documents += 1
                if self.documents > 1:
                    self._problem(event, "second-document", "a second document begins here", "one file, one document")
                    return False
            case yaml.AliasEvent():
                self._problem(
                    event, "yaml-alias", f"aliases such as *{printable(str(event.anchor))} are not allowed", _TWICE
                )
                self._place(event, None, None)
            case yaml.ScalarEvent():
                self._properties(event)
                self._scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._properties(event)
                return self._open(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                entry = self.document._entries.get(self.stack.pop().loc)
                if entry is not None:
                    entry.end = _end_of(event)
        return True

    def _properties(self, event: Any) -> None:
        if event.anchor is not None:
            self._problem(
                event, "yaml-anchor", f"anchors such as &{printable(str(event.anchor))} are not allowed", _TWICE
            )
        if event.tag is not None:
            tag = printable(event.tag.replace("tag:yaml.org,2002:", "!!"))
            self._problem(event, "yaml-tag", f"tags such as {tag} are not allowed", "leave it out")

    def _scalar(self, event: Any) -> None:
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            self._key(event, top)
            return
        value: Any = event.value
        if event.style is None or not event.style:
            value = self._resolve(event)
        self._place(event, value, event.value)

    def _resolve(self, event: Any) -> Any:
        """A plain scalar's value by YAML 1.2's core schema."""
        text: str = event.value
        if _NULL.fullmatch(text):
            return None
        if _TRUE.fullmatch(text):
            return True
        if _FALSE.fullmatch(text):
            return False
        if _INT.fullmatch(text):
            return int(text)
        if _OCTAL.fullmatch(text) or _HEX.fullmatch(text):
            return int(text, 0)
        if len(text) <= 400 and _FLOAT.fullmatch(text):
            return float(text if text[-1] in "0123456789." else text.replace(".", ""))
        return text

    def _key(self, event: Any, top: _Open) -> None:
        key: str = event.value
        span = (event.start_mark.index, event.end_mark.index)
        top.key, top.key_span, top.lost = key, span, False
        plain = event.style is None or not event.style
        if plain and key == "<<":
            top.lost = True
            self._problem(event, "yaml-merge", "merge keys (<<) are not allowed", _TWICE)
        elif plain and not key:
            top.lost = True
            self._problem(event, "bad-key", "a key is missing before the colon")
        elif key in top.seen:
            top.lost = True
            self._problem(
                event,
                "duplicate-key",
                f"the key '{printable(key)}' stands twice",
                f"the first is in line {top.seen[key]}: remove one",
            )
        else:
            top.seen[key] = event.start_mark.line + 1

    def _place(self, event: Any, value: Any, text: str | None) -> Loc:
        """Put a value where it belongs and note its place. Returns its way from the top."""
        start, end = event.start_mark.index, event.end_mark.index
        style = getattr(event, "style", None) or None
        if not self.stack:
            self.document.value = value
            self.document._entries[()] = _Entry(start, end, start, start, text, style)
            return ()
        top = self.stack[-1]
        if isinstance(top.value, list):
            loc: Loc = (*top.loc, len(top.value))
            top.value.append(value)
            self.document._entries[loc] = _Entry(start, end, start, start, text, style)
            return loc
        if top.key is None:
            # A list, a mapping or an alias where a key belongs.
            if not isinstance(event, yaml.AliasEvent):
                self._problem(event, "bad-key", "a key must be one word or a quoted text")
            top.key, top.lost = "", True
            return (*top.loc, "")
        loc = (*top.loc, top.key)
        if not top.lost:
            top.value[top.key] = value
            self.document._entries[loc] = _Entry(start, end, *top.key_span, text, style)
        top.key = None
        return loc

    def _open(self, event: Any) -> bool:
        if len(self.stack) >= MAX_DEPTH:
            self._problem(event, "too-deep", f"nested more than {MAX_DEPTH} levels deep", "")
            return False
        value: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        loc = self._place(event, value, None)
        self.stack.append(_Open(loc, value))
        return True

    def _problem(self, event: Any, code: str, message: str, hint: str = "") -> None:
        place = self.document._between(event.start_mark.index, event.end_mark.index)
        self.problems.append(self.document.problem(place, code, message, hint))


def _end_of(event: Any) -> int:
    """The offset at which an event's text ends."""
    return int(event.end_mark.index)


_TWICE = "write it out where it is used: what a rule says stands in one place"


def _syntax_problem(document: Document, error: yaml.YAMLError) -> Problem:
    """The parser's complaint in a sentence, at the place where it stumbled."""
    text, mark = document.text, getattr(error, "problem_mark", None)
    if mark is None:
        # A character that YAML does not allow; libyaml gives its place in bytes, so it is looked for again.
        found = _FORBIDDEN.search(text)
        at = found.start() if found else 0
        character = f"U+{ord(text[at]):04X}" if found else "some character"
        place = document._between(at, at + 1)
        return document.problem(place, "yaml-syntax", f"YAML does not allow {character}", "remove it")
    at = min(mark.index, len(text))
    what, context = str(getattr(error, "problem", "")), str(getattr(error, "context", ""))
    character = text[at : at + 1]
    if character == "\t":
        message, hint = "a tab stands where YAML wants spaces", "indent with spaces"
    elif "cannot start any token" in what:
        message, hint = f"a text cannot begin with {character}", "put the whole text in quotes"
    elif "mapping values are not allowed" in what:
        message, hint = "a colon is not expected here", "quote a text that holds ': ', or check the indentation"
    elif "quoted scalar" in context and "end of stream" in what:
        opened = getattr(error, "context_mark", None)
        at = opened.index if opened is not None else at
        message, hint = "this quote is never closed", "close it at the end of the text"
    elif "escape" in what:
        message, hint = "there is no such escape", "in single quotes a backslash is a plain character: 'a\\b'"
    elif "nesting depth" in what:
        place = document._between(at, at + 1)
        return document.problem(place, "too-deep", f"nested more than {MAX_DEPTH} levels deep")
    else:
        inside = next((words for key, words in _CONTEXTS.items() if key in context), "")
        message, hint = inside or f"not valid YAML: {what}", "check the indentation, brackets and quotes"
    return document.problem(document._between(at, at + 1), "yaml-syntax", printable(message, 200), hint)


_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")

_CONTEXTS = {
    "flow sequence": "a comma or ] is missing before this",
    "flow mapping": "a comma or } is missing before this",
    "block collection": "this does not fit into the list above",
    "block sequence": "this does not fit into the list above",
    "block mapping": "this does not fit into the mapping above",
    "block node": "a value does not begin like this",
}


def _align(value: str, text: str, start: int, end: int, style: str | None) -> list[int]:
    """For each character of a scalar's value, and one past its end, the offset in the file that it came from.

    Between the two only white space differs (folding, indentation), quotes and escapes.
    """
    at = start
    if style in ("'", '"'):
        at += 1
        end -= 1
    elif style in ("|", ">"):
        header = _BREAK.search(text, start)
        at = header.end() if header else end
    offsets = []
    for character in value:
        if not (style == '"' and text[at : at + 1] == "\\") and not character.isspace():
            while at < end and text[at].isspace():
                at += 1
        while style == '"' and (gap := _CONTINUED.match(text, at)):
            at = gap.end()
        offsets.append(min(at, end))
        if at >= end:
            continue
        if style == '"' and text[at] == "\\":
            at += {"x": 4, "u": 6, "U": 10}.get(text[at + 1 : at + 2], 2)
        elif style == "'" and text[at] == "'":
            at += 2
        elif not character.isspace() or text[at].isspace():
            at += 1
    offsets.append(min(max(at, start), max(end, start)))
    return offsets


_CONTINUED = re.compile("\\\\(\r\n|[\n\r])[ \t]*")


# ---- from pydantic's errors to places ---------------------------------------------------------------------


def problems_from_pydantic(
    error: ValidationError,
    document: Document,
    model: Any = None,
    remedy: Callable[[str, Loc], str] | None = None,
    *,
    within: Loc = (),
) -> list[Problem]:
    """Pydantic's errors as problems of `document`, in file order; only those at or below `within`.

    `model`: the validated model, whose fields are then suggested for unknown keys. `remedy(code, loc)`: what the kind
    of document has to say about an unknown or missing key, or a wrong type; empty for nothing. A
    `PydanticCustomError` keeps its type as the code; its context may hold `hint`, the offsets `start` and `end` into
    the scalar at fault, or `faults`: several objects with `start, end, code, message, hint`.
    """
    problems: list[Problem] = []
    for found in error.errors(include_url=False):
        loc = tuple(part for part in found["loc"] if isinstance(part, str | int))
        if loc[: len(within)] != within:
            continue
        problems.extend(_pydantic_problems(found, loc, document, model, remedy or (lambda code, loc: "")))
    return sorted(problems, key=lambda problem: (problem.line, problem.column))


def _pydantic_problems(
    found: Mapping[str, Any], loc: Loc, document: Document, model: Any, remedy: Callable[[str, Loc], str]
) -> Iterator[Problem]:
    kind, given, context = found["type"], found.get("input"), found.get("ctx") or {}
    if "faults" in context:
        for fault in context["faults"]:
            place = document.place_in(loc, fault.start, fault.end)
            yield document.problem(place, fault.code, fault.message, fault.hint)
    elif kind == "extra_forbidden":
        known = fields_at(model, loc[:-1]) if model is not None else {}
        name = str(loc[-1])
        hint = (
            remedy("unknown-key", loc) or closest(name, known) or (f"known keys: {', '.join(known)}" if known else "")
        )
        message = f"there is no key '{printable(name)}' here"
        yield document.problem(document.place(loc, key=True), "unknown-key", message, hint)
    elif kind == "missing":
        hint = remedy("missing-key", loc)
        yield document.problem(document.place(loc[:-1]), "missing-key", f"the key '{loc[-1]}' is missing", hint)
    elif kind in ("bool_type", "bool_parsing"):
        old = isinstance(given, str) and given.lower() in YAML_1_1_BOOLEANS
        hint = "YAML 1.2 has only true and false" if old else ""
        yield document.problem(
            document.place(loc), "wrong-type", f"this must be true or false, not {_what(given)}", hint
        )
    elif kind in _WANTED:
        hint = "put it in quotes" if kind == "string_type" and isinstance(given, int | float) else ""
        hint = hint or remedy("wrong-type", loc)
        message = f"this must be {_WANTED[kind]}, not {_what(given)}"
        yield document.problem(document.place(loc), "wrong-type", message, hint)
    elif kind == "literal_error":
        allowed = re.findall(r"'([^']+)'", str(context.get("expected", "")))
        hint = closest(str(given), allowed) or f"one of {', '.join(allowed)}"
        yield document.problem(document.place(loc), "unknown-value", f"{_what(given)} is not known here", hint)
    else:
        custom = "hint" in context or "-" in kind
        message = str(found["msg"]).removeprefix("Value error, ")
        message = message if custom else message[:1].lower() + message[1:]
        at_key = bool(context.get("at_key"))
        if "start" in context:
            place = document.place_in(loc, context["start"], context["end"])
        else:
            place = document.place(loc, key=at_key)
        yield document.problem(place, kind if custom else "bad-value", message, str(context.get("hint", "")))


_WANTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dataclass_type": "a mapping",
    "none_required": "nothing",
}


def _what(value: object) -> str:
    """A value from a document in words."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            return f"'{printable(value, 40)}'"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case _:
            return str(value)


def fields_at(model: Any, loc: Loc) -> dict[str, Any]:
    """Key → annotation of the pydantic model that describes the mapping at `loc`; empty where none does."""
    kinds = _models(model)
    for part in loc:
        kinds = [inner for kind in kinds for inner in _models(_below(kind, part))]
    return {key: annotation for kind in kinds for key, annotation in _by_key(kind).items()}


def _below(kind: Any, part: str | int) -> Any:
    """The annotation of one field of a model, or of the items of a list or mapping."""
    if hasattr(kind, "model_fields"):
        return _by_key(kind).get(str(part))
    items = [inner for inner in typing.get_args(kind) if inner is not Ellipsis]
    return items[-1] if items else None


def _by_key(model: Any) -> dict[str, Any]:
    fields = getattr(model, "model_fields", {})
    return {info.alias or name: info.annotation for name, info in fields.items()}


def _models(annotation: Any) -> list[Any]:
    """An annotation without `Annotated`, and each part of a union."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _models(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [inner for part in typing.get_args(annotation) for inner in _models(part)]
    return [] if annotation in (None, types.NoneType) else [annotation]


__all__ = [
    "Document",
    "DocumentError",
    "Loc",
    "Place",
    "fields_at",
    "printable",
    "problems_from_pydantic",
    "read_document",
]
