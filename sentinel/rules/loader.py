"""Text in, rules or problems with line and column out. It opens no file.

Everything that is wrong in all files is found in one go: a person mends a file once, not once per fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from sentinel.documents import Document, DocumentError, Loc, printable, problems_from_pydantic, read_document
from sentinel.errors import Problem, RuleError
from sentinel.metrics import Dictionary
from sentinel.metrics import default as default_dictionary
from sentinel.rules.alert_names import unknown_alerts
from sentinel.rules.document import RuleDocument, RuleFile
from sentinel.rules.expression.nodes import Node
from sentinel.rules.foreign_keys import remedy
from sentinel.rules.model import Rule, RuleSet, Runbook
from sentinel.rules.overrides import override_problems, resolve
from sentinel.rules.symptoms import symptoms
from sentinel.rules.variables import read_variables, values, variable_problems
from sentinel.severity import SEVERITIES, Severity


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule beside its text, for those who judge what was written.

    `loc`: the way to it in `document`. `allow`: check → why the rule may do what it warns of; `file_allow` is said for
    all rules of the file.
    """

    rule: Rule
    document: Document
    loc: Loc
    allow: Mapping[str, str]
    file_allow: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """What files gave: the rules that could be understood, all problems in file order, and where each rule stands."""

    rules: RuleSet
    problems: tuple[Problem, ...]
    texts: tuple[RuleText, ...] = ()

    @property
    def errors(self) -> list[Problem]:
        """The problems that forbid use of the files."""
        return [problem for problem in self.problems if problem.severity == "error"]


def load_rules(sources: Sequence[tuple[str, bytes | str]], dictionary: Dictionary | None = None) -> RuleSet:
    """The rules of all `sources`, (path, text) each, in file order.

    Raises RuleError with every problem of every file when any of them is an error.
    """
    reading = read_rules(sources, dictionary)
    if reading.errors:
        raise RuleError(list(reading.problems))
    return reading.rules


def read_rules(sources: Sequence[tuple[str, bytes | str]], dictionary: Dictionary | None = None) -> Reading:
    """Like `load_rules`, but never raises: rules and problems side by side, for those who show both."""
    dictionary = dictionary or default_dictionary()
    rules: list[Rule] = []
    texts: list[RuleText] = []
    problems: list[Problem] = []
    places: dict[str, str] = {}
    entries: list[tuple[RuleDocument, int, Document]] = []
    for path, text in sources:
        unreadable: list[Problem] = []
        try:
            document = read_document(text, path)
        except DocumentError as error:
            if error.document is None:
                problems += error.problems
                continue
            # An anchor or a duplicate key is a fault, but no reason to hide the file's other faults.
            document, unreadable = error.document, error.problems
        if document.value is None:
            problems.append(Problem(path, 1, 1, "no-rules", "the file is empty", "it begins with rules:"))
            continue
        variables = read_variables(document)
        found = _shape_problems(document) + _duplicates(document, places) + variable_problems(document, variables)
        try:
            context = {"dictionary": dictionary, "variables": variables, "literals": values(variables)}
            file = RuleFile.model_validate(document.value, context=context)
        except ValidationError as error:
            found += problems_from_pydantic(error, document, RuleFile, remedy)
        else:
            for index, entry in enumerate(file.rules):
                rule = _rule(entry, index, document)
                rules.append(rule)
                entries.append((entry, index, document))
                texts.append(RuleText(rule, document, ("rules", index), entry.allow, file.allow))
                found += override_problems(entry, rule, index, document)
        # What YAML itself faults on a line explains whatever else is wrong there.
        faulted = {problem.line for problem in unreadable}
        told = {*unreadable, *(problem for problem in found if problem.line not in faulted)}
        problems += sorted(told, key=lambda problem: (problem.line, problem.column))
    # A rule may ask about one of a later file.
    unknown = [problem for entry in entries for problem in unknown_alerts(*entry, places)]
    if unknown:
        order = {path: at for at, (path, _) in enumerate(sources)}
        problems = sorted([*problems, *unknown], key=lambda found: (order[found.path], found.line, found.column))
    return Reading(RuleSet(tuple(rules)), tuple(problems), tuple(texts))


def _rule(entry: RuleDocument, index: int, document: Document) -> Rule:
    taints = entry.taints if entry.taints is not None else symptoms()[entry.symptom].taints
    book = entry.runbook
    loc = ("rules", index)
    rule = Rule(
        name=entry.alert,
        symptom=entry.symptom,
        conditions=tuple(_conditions(entry)),
        summary=entry.summary,
        hold=entry.hold,
        keep_firing=entry.keep_firing_for,
        until=entry.until,
        after=entry.after,
        phases=entry.phase,
        where=dict(entry.where),
        taints=taints,
        runbook=Runbook(tuple(book.causes), tuple(book.look_at), tuple(book.do)),
        source=f"{document.path}:{document.place(loc).line}",
    )
    if not entry.overrides:
        return rule
    lines = [document.place((*loc, "overrides", at)).line for at in range(len(entry.overrides))]
    resolved = (
        resolve(rule, override, f"{document.path}:{line}")
        for override, line in zip(entry.overrides, lines, strict=True)
    )
    return replace(rule, overrides=tuple(resolved))


def _conditions(entry: RuleDocument) -> list[tuple[Severity, Node]]:
    given = ((severity, getattr(entry, severity)) for severity in SEVERITIES)
    return [(severity, condition) for severity, condition in given if condition is not None]


def _shape_problems(document: Document) -> list[Problem]:
    """What the schema cannot say: a rule without a condition, a key without a value."""
    found = []
    for index, entry in _entries(document):
        loc = ("rules", index)
        if not any(severity in entry for severity in SEVERITIES):
            hint = "add a line such as warning: kl.ref > 0.1"
            message = "the rule has no condition: info, warning or critical"
            found.append(document.problem(document.place(loc), "no-condition", message, hint))
        for key, value in entry.items():
            if value is None and key in _OPTIONAL:
                place = document.place((*loc, key), key=True)
                found.append(document.problem(place, "empty-value", f"'{key}' has no value", "fill it in or remove it"))
    return found


_OPTIONAL = {info.alias or name for name, info in RuleDocument.model_fields.items() if info.default is None}


def _duplicates(document: Document, places: dict[str, str]) -> list[Problem]:
    """Names that stand twice, in this file or in those before; `places` remembers name → `file:line`."""
    found = []
    for index, entry in _entries(document):
        name = entry.get("alert")
        if not isinstance(name, str):
            continue
        place = document.place(("rules", index, "alert"))
        if name in places:
            message = f"there is already a rule '{printable(name)}'"
            hint = f"it stands at {places[name]}: rename one of them"
            if places[name].rpartition(":")[0] != document.path:
                hint += ". To change a shipped rule, take a copy of its pack instead: `sentinel rules show`"
            found.append(document.problem(place, "duplicate-alert", message, hint))
        else:
            places[name] = f"{document.path}:{place.line}"
    return found


def _entries(document: Document) -> list[tuple[int, dict[str, Any]]]:
    """The mappings in `rules`, as far as they are there."""
    rules = document.value.get("rules") if isinstance(document.value, dict) else None
    return [
        (index, entry)
        for index, entry in enumerate(rules if isinstance(rules, list) else ())
        if isinstance(entry, dict)
    ]
