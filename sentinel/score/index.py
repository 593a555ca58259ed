"""An index of labelled recordings: tab-separated text in, labelled runs out, or every fault with its place.

One header line names the columns; one row a recording. Columns that are not named here are passed over, so are blank
lines and lines that begin with `#`. A quotation mark is a character like any other.

- `file`: the recording, relative to the index.
- `labels`: words of `labels.tsv` or symptoms, separated by `;`. Or `kind`: `must-fire` or `must-stay-silent`.
- `onset` (or `onset_step`): the step at which the trouble begins; needed where the run broke.
- `deadline`: the last step at which an alert is in time; without it, any is.
- `accepted`: the symptoms that fit, separated by blanks; without it, those of the labels.
- `least_severity`: from which severity on an alert counts as detection.

An empty cell and `-` say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sentinel.documents import printable
from sentinel.errors import Problem
from sentinel.rules.symptoms import symptoms
from sentinel.score.labels import Kind, labels, least_severity
from sentinel.severity import SEVERITIES, Severity
from sentinel.suggestion import closest

MAX_EXCERPT = 200
"""Characters of a line that are quoted."""

MAX_PROBLEMS = 100
"""Faults listed of one index; a file that is no index at all would list thousands."""

MAX_STEP = 2**53
"""Steps are below this, as in events."""

COLUMNS = ("file", "labels", "kind", "onset", "onset_step", "deadline", "accepted", "least_severity")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One recording and how it was judged by a person.

    - `kind`: what is asked of it. `labels`: the words given to it, in order.
    - `onset`: the step at which the trouble begins; None unless it broke. `deadline`: the last step that is in time.
    - `fitting`: symptom → the severity from which on an alert of it counts. Empty unless it broke.
    - `place`: `file:line` of its row in the index.
    """

    file: str
    kind: Kind
    labels: tuple[str, ...] = ()
    onset: int | None = None
    deadline: int | None = None
    fitting: Mapping[str, Severity] = field(default_factory=dict)
    place: str = ""


@dataclass(frozen=True, slots=True)
class IndexReading:
    """What an index gave: the rows that could be understood, in order, and every problem."""

    runs: tuple[Labelled, ...]
    problems: tuple[Problem, ...]


def read_index(text: str, path: str) -> IndexReading:
    """The rows of an index. `path` is for the places of problems. Never raises."""
    lines = text.removeprefix("\ufeff").split("\n")
    rows = [
        (number, line.removesuffix("\r"))
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.startswith("#")
    ]
    if not rows:
        hint = "its first line names the columns, with tabs between: file, labels, onset"
        return IndexReading((), (Problem(path, 1, 1, "no-index", "the index is empty", hint),))
    header = _Row(path, *rows[0])
    columns = [cell.strip() for cell in header.cells]
    _check_header(header, columns)
    if header.problems:
        return IndexReading((), tuple(header.problems))
    runs: list[Labelled] = []
    problems: list[Problem] = []
    places: dict[str, int] = {}
    for number, line in rows[1:]:
        row = _Row(path, number, line, columns)
        run = _labelled(row)
        if run is not None:
            first = places.setdefault(run.file, number)
            if first != number:
                row.fault("file", "duplicate-file", f"'{printable(run.file)}' stands twice", f"first on line {first}")
            else:
                runs.append(run)
        problems += row.problems
        if len(problems) >= MAX_PROBLEMS:
            break
    if not runs and not problems:
        problems.append(header.problem(0, "no-rows", "no row follows the header", "a row is a file and its labels"))
    return IndexReading(tuple(runs), tuple(problems[:MAX_PROBLEMS]))


class _Row:
    """One line, its cells by column, and what is wrong with them."""

    def __init__(self, path: str, number: int, line: str, columns: list[str] | None = None) -> None:
        self.path, self.number, self.line = path, number, line
        self.cells = line.split("\t")
        self.columns = columns or []
        self.problems: list[Problem] = []

    def cell(self, column: str) -> str:
        """The text of a cell; empty when it says nothing."""
        if column not in self.columns:
            return ""
        at = self.columns.index(column)
        text = self.cells[at].strip() if at < len(self.cells) else ""
        return "" if text == "-" else text

    def words(self, column: str, separator: str | None) -> list[str]:
        return [word.strip() for word in self.cell(column).split(separator) if word.strip()]

    def fault(self, column: str, code: str, message: str, hint: str, word: str = "") -> None:
        """Note what is wrong with a cell; `word` is the part of it to mark."""
        at = self.columns.index(column) if column in self.columns else 0
        self.problems.append(self.problem(at, code, message, hint, word))

    def problem(self, at: int, code: str, message: str, hint: str, word: str = "") -> Problem:
        start = sum(len(cell) + 1 for cell in self.cells[:at])
        text = self.cells[at] if at < len(self.cells) else ""
        if word and word in text:
            start += text.index(word)
            text = word
        excerpt, width = self.line, max(len(text), 1)
        if start + width > MAX_EXCERPT:
            excerpt = ""
        return Problem(self.path, self.number, start + 1, code, message, hint, excerpt[:MAX_EXCERPT], width)


def _check_header(header: _Row, columns: list[str]) -> None:
    if "file" not in columns:
        hint = closest("file", columns) or "the first line names the columns, with tabs between: file, labels, onset"
        header.problems.append(header.problem(0, "no-file-column", "there is no column 'file'", hint))
    if "labels" not in columns and "kind" not in columns:
        message = "there is neither a column 'labels' nor a column 'kind'"
        hint = closest("labels", columns) or "labels holds words such as healthy or reward_collapse, separated by ;"
        header.problems.append(header.problem(0, "no-labels-column", message, hint))
    for at, column in enumerate(columns):
        if column in COLUMNS and column in columns[:at]:
            message = f"the column '{column}' stands twice"
            header.problems.append(header.problem(at, "duplicate-column", message, "remove one of them"))


def _labelled(row: _Row) -> Labelled | None:
    """The run of a row; None when something is wrong with it, which is noted in the row then."""
    if len(row.cells) > len(row.columns):
        message = f"{len(row.cells)} cells in {len(row.columns)} columns"
        row.problems.append(row.problem(len(row.columns), "too-many-cells", message, "cells are separated by one tab"))
    file = row.cell("file")
    if not file:
        row.fault("file", "no-file", "the row names no file", "the first cells are the recording's path and its labels")
    words = _labels(row)
    fires = _fires(row)
    accepted = _accepted(row)
    least = _least(row)
    column = "onset" if "onset" in row.columns else "onset_step"
    onset = _step(row, column)
    deadline = _step(row, "deadline")
    if row.problems:
        return None
    kind = _kind(words, fires)
    if kind is None:
        told = "labels" if "labels" in row.columns else "kind"
        row.fault(told, "no-label", "the row says nothing of how the run went", "healthy, unclear, or what broke")
        return None
    if kind != "broken":
        return Labelled(file, kind, tuple(words), place=f"{row.path}:{row.number}")
    if accepted is None:
        known = labels()
        accepted = list(dict.fromkeys(symptom for word in words for symptom in known[word].fitting))
    if not accepted:
        row.fault("accepted", "no-symptom", "nothing says which symptoms fit", "fill in 'accepted' or 'labels'")
    if onset is None:
        hint = "give the step at which the trouble begins; 1 when it was there from the start"
        row.fault(column, "no-onset", "a run that broke has no onset", hint)
    elif deadline is not None and deadline < onset:
        row.fault("deadline", "deadline-order", f"the deadline {deadline} is before the onset {onset}", "exchange them")
    if row.problems:
        return None
    fitting = {symptom: least or least_severity(symptom) for symptom in accepted}
    return Labelled(file, kind, tuple(words), onset, deadline, fitting, f"{row.path}:{row.number}")


def _labels(row: _Row) -> list[str]:
    found = row.words("labels", ";")
    for word in found:
        if word not in labels():
            hint = closest(word, labels()) or f"there are: {', '.join(labels())}"
            row.fault("labels", "unknown-label", f"there is no label '{printable(word)}'", hint, word)
    return found


def _fires(row: _Row) -> bool | None:
    word = row.cell("kind")
    if not word:
        return None
    if word not in ("must-fire", "must-stay-silent"):
        row.fault("kind", "unknown-kind", f"'{printable(word)}' is no kind", "must-fire or must-stay-silent")
    return word == "must-fire"


def _kind(words: list[str], fires: bool | None) -> Kind | None:
    """What is asked of a run. `kind` is the last word where it is given."""
    if fires is not None:
        return "broken" if fires else "healthy"
    if not words:
        return None
    kinds = {labels()[word].kind for word in words}
    if "healthy" in kinds:
        return "healthy" if len(set(words)) == 1 else "benign"
    return "broken" if "broken" in kinds and "unclear" not in words else "unjudged"


def _accepted(row: _Row) -> list[str] | None:
    found = row.words("accepted", None)
    for word in found:
        if word not in symptoms():
            hint = closest(word, symptoms()) or f"there are: {', '.join(symptoms())}"
            row.fault("accepted", "unknown-symptom", f"there is no symptom '{printable(word)}'", hint, word)
    return found or None


def _least(row: _Row) -> Severity | None:
    word = row.cell("least_severity")
    if not word:
        return None
    found = next((severity for severity in SEVERITIES if severity == word), None)
    if found is None:
        row.fault("least_severity", "unknown-severity", f"'{printable(word)}' is no severity", ", ".join(SEVERITIES))
    return found


def _step(row: _Row, column: str) -> int | None:
    text = row.cell(column)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) < MAX_STEP):
        row.fault(column, "bad-step", f"'{printable(text)}' is no step", "a step is a whole number such as 120")
        return None
    return int(text)
