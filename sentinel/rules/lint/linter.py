"""All checks over all rules: what is found, and what the rules themselves allow.

A rule that allows a finding says why: `allow: {single-spike: "a NaN is no spike"}`, at the rule or for the whole file.
What is allowed is kept with its reason. Allowing a code that does not exist, or without a reason, is an error; allowing
what is not found is a warning, because the next reader would believe it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sentinel.documents import Document, Loc, printable
from sentinel.errors import Problem
from sentinel.metrics import Dictionary
from sentinel.metrics import default as default_dictionary
from sentinel.rules.lint.checks import RULE_CHECKS, SET_CHECKS
from sentinel.rules.lint.codes import codes
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.ranges import Ranges
from sentinel.rules.lint.senders import Senders
from sentinel.rules.lint.subject import Subject
from sentinel.rules.lint.truth import Truth
from sentinel.rules.loader import Reading, RuleText
from sentinel.suggestion import closest

Tests = Mapping[str, frozenset[str] | None]
"""Path of a rule file → the alerts that its tests expect to fire; None when it has no tests."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """A finding that the rule's author knows of, and why it may stay."""

    problem: Problem
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """`problems` in file order: errors, warnings and infos. `allowed`: what was silenced."""

    problems: tuple[Problem, ...]
    allowed: tuple[Allowed, ...]


def lint(reading: Reading, tests: Tests | None = None, dictionary: Dictionary | None = None) -> Report:
    """Everything that the checks find in rules that could be read. `tests`: None when nobody has looked for them."""
    dictionary = dictionary or default_dictionary()
    problems: list[Problem] = []
    names: dict[Problem, str] = {}
    allowed: list[Allowed] = []
    subjects = _subjects(reading, tests, dictionary)
    found = [_findings(subject) for subject in subjects]
    numbers = {id(subject): number for number, subject in enumerate(subjects)}
    for set_check in SET_CHECKS:
        for subject, finding in set_check(subjects):
            found[numbers[id(subject)]].append(finding)
    used: dict[tuple[str, Loc], set[str]] = {}
    for text, findings in zip(reading.texts, found, strict=True):
        told: set[tuple[str, int, int]] = set()
        for finding in findings:
            problem = _problem(text, finding)
            # Two severities may share what is odd; what stands in one place is said once.
            if (problem.code, problem.line, problem.column) in told:
                continue
            told.add((problem.code, problem.line, problem.column))
            allow, loc = next((one for one in _allows(text) if finding.code in one[0]), ({}, None))
            if loc is None:
                problems.append(problem)
                names[problem] = text.rule.name
                continue
            used.setdefault((text.document.path, loc), set()).add(finding.code)
            reason = allow[finding.code].strip()
            if reason:  # a missing one is told as an error
                allowed.append(Allowed(problem, reason))
    problems = [*_gathered(problems, names), *_wrong_allows(reading, used)]
    files = {path: number for number, path in enumerate(dict.fromkeys(text.document.path for text in reading.texts))}
    problems.sort(key=lambda problem: (files[problem.path], problem.line, problem.column))
    return Report(tuple(problems), tuple(allowed))


GATHERED = frozenset({"no-runbook", "no-hysteresis"})
"""What a file lacks rather than a rule has too much of: told once a file, with the names of its rules."""

MAX_NAMES = 5


def _gathered(problems: Sequence[Problem], rules: Mapping[Problem, str]) -> Iterator[Problem]:
    """The problems in their order; of those that are gathered the first of each file, which speaks for the others.

    `rules`: the name of the rule that a problem is about.
    """
    alike: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        if problem.code in GATHERED:
            alike.setdefault((problem.code, problem.path), []).append(problem)
    for problem in problems:
        first, *others = alike.get((problem.code, problem.path), [problem])
        if problem is not first:
            continue
        if others:
            names = dict.fromkeys(rules[other] for other in others)
            listed = ", ".join([*list(names)[:MAX_NAMES], *(["…"] if len(names) > MAX_NAMES else [])])
            count = "1 more rule" if len(names) == 1 else f"{len(names)} more rules"
            problem = replace(problem, message=f"{problem.message}; the same of {count} here: {listed}")
        yield problem


def _subjects(reading: Reading, tests: Tests | None, dictionary: Dictionary) -> list[Subject]:
    senders, ranges = Senders(dictionary), Ranges(dictionary)
    truth = Truth(ranges)
    seen: set[str] = set()
    subjects = []
    for text in reading.texts:
        path = text.document.path
        tested = tests.get(path) if tests is not None else None
        known = tests is not None and path in tests
        first = path not in seen
        seen.add(path)
        subjects.append(Subject(text.rule, path, dictionary, senders, ranges, truth, tested, known, first))
    return subjects


def _findings(subject: Subject) -> list[Finding]:
    """What the checks find in a rule, and what they find besides in what its overrides make of it."""
    found = [finding for check in RULE_CHECKS for finding in check(subject)]
    known = {(finding.code, finding.loc) for finding in found}
    for at, override in enumerate(subject.rule.overrides):
        if override.rule is None or not override.rule.conditions:
            continue
        for check in RULE_CHECKS:
            for finding in check(replace(subject, rule=override.rule)):
                loc: Loc = ("overrides", at)
                if finding.loc and finding.loc[0] in override.changes:
                    found.append(replace(finding, loc=(*loc, *finding.loc)))
                elif (finding.code, finding.loc) not in known:
                    # What is odd stands in the rule, and is so only under what the override changes.
                    found.append(replace(finding, loc=(*loc, "where"), span=None, at_key=True))
    return found


def _problem(text: RuleText, finding: Finding) -> Problem:
    loc = (*text.loc, *finding.loc)
    if finding.span is not None:
        place = text.document.place_in(loc, finding.span.start, finding.span.end)
    else:
        place = text.document.place(loc, key=finding.at_key)
    severity = codes()[finding.code].severity
    return text.document.problem(place, finding.code, finding.message, finding.hint, severity)


def _allows(text: RuleText) -> tuple[tuple[Mapping[str, str], Loc], ...]:
    """What the rule allows, then what its file does, each with where it says so."""
    return (text.allow, text.loc), (text.file_allow, ())


def _wrong_allows(reading: Reading, used: Mapping[tuple[str, Loc], set[str]]) -> Iterator[Problem]:
    done: set[tuple[str, Loc]] = set()
    for text in reading.texts:
        for allow, loc in _allows(text):
            where = (text.document.path, loc)
            if where not in done:
                done.add(where)
                yield from _wrong_in(text.document, loc, allow, used.get(where, set()))


def _wrong_in(document: Document, loc: Loc, allow: Mapping[str, str], used: set[str]) -> Iterator[Problem]:
    for name, reason in allow.items():
        place = document.place((*loc, "allow", name), key=True)
        code = codes().get(name)
        checks: Sequence[str] = [one.name for one in codes().values() if one.kind == "check"]
        if code is None:
            hint = closest(name, checks) or "`sentinel rules checks` lists them"
            yield document.problem(place, "unknown-check", f"there is no check '{printable(name)}'", hint)
        elif code.kind != "check":
            message = f"{name} is a fault, and no reason makes it work"
            yield document.problem(place, "unknown-check", message, "mend it; only checks can be allowed")
        elif not reason.strip():
            hint = f'say why it is right here: {name}: "..."'
            yield document.problem(place, "no-reason", "an allowance needs a reason", hint)
        elif name not in used:
            yield document.problem(place, "unused-allow", f"{name} is not found here", "remove it", "warning")
