"""What a test names and nothing answers to: an alert, a framework, a series.

A name that is misspelt must be an error: a test that is about nothing would pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.documents import Loc, printable
from sentinel.errors import Problem
from sentinel.metrics import Dictionary
from sentinel.rules.expression.nodes import Metric
from sentinel.rules.model import Rule, RuleSet
from sentinel.ruletest.document import TimelineDocument
from sentinel.ruletest.performance import Performance
from sentinel.ruletest.reading import Timelines
from sentinel.ruletest.stage import Stage
from sentinel.suggestion import closest


def unknown_names(file: Timelines, index: int, rules: RuleSet, stage: Stage) -> Iterator[Problem]:
    """The names in a test that no rule, no framework and no metric has."""
    test, document, names = file.tests[index], file.document, {rule.name for rule in rules}
    for loc, name, key in _alerts(test, index):
        if name not in names:
            hint = closest(name, names) or f"rules: {', '.join(sorted(names))}"
            message = f"no rule is named '{printable(name)}'"
            yield document.problem(document.place(loc, key=key), "unknown-alert", message, hint)
    frameworks = stage.dictionary.frameworks
    if test.framework is not None and test.framework not in frameworks:
        hint = closest(test.framework, frameworks) or f"there are: {', '.join(frameworks)}"
        message = f"no framework is named '{printable(test.framework)}'"
        place = document.place(("tests", index, "framework"))
        yield document.problem(place, "unknown-framework", message, hint)
    yield from _unknown_series(file, index, rules, stage.dictionary)


def _alerts(test: TimelineDocument, index: int) -> Iterator[tuple[Loc, str, bool]]:
    """Where a test names an alert, the name, and whether it is a key there."""
    for at, entry in enumerate(test.expect):
        yield ("tests", index, "expect", at, "alert"), entry.alert, False
    for at, name in enumerate(test.silent):
        yield ("tests", index, "silent", at), name, False
    for when in test.at:
        for name in test.at[when]:
            yield ("tests", index, "at", when.text, name), name, True


def _unknown_series(file: Timelines, index: int, rules: RuleSet, dictionary: Dictionary) -> Iterator[Problem]:
    test, document = file.tests[index], file.document
    places: list[tuple[Loc, str]] = [(("tests", index, "series", key), key) for key in test.series]
    if test.samples is not None:
        places += [(("tests", index, "samples", "series", key), key) for key in test.samples.series]
    strange = [(loc, key) for loc, key in places if not is_known(key, dictionary)]
    if not strange:
        return
    named = {name for _, name, _ in _alerts(test, index)}
    own = {metric.name for rule in rules for metric in _metrics(rule) if metric.raw}
    if any(metric.name == "*" for rule in rules if rule.name in named for metric in _metrics(rule)):
        return  # the test is about a rule that reads whatever is logged
    for loc, key in strange:
        if {key, key.partition("{")[0]}.isdisjoint(own):
            hint = closest(key, {*dictionary.names(), *own}, near=0.7) or closest(key, dictionary.keys(), near=0.7)
            hint = hint or "a trainer's own key works where a rule has it in backticks"
            message = f"no metric is named '{printable(key)}', and no rule here reads it"
            yield document.problem(document.place(loc, key=True), "unknown-series", message, hint)


def is_known(key: str, dictionary: Dictionary) -> bool:
    """Whether a series is named as a metric of the dictionary, or as any trainer or system names one."""
    bare = key.partition("{")[0]
    if dictionary.describe(bare) is not None:
        return True
    return any(dictionary.table(source).knows(bare) for source in dictionary.sources)


def _metrics(rule: Rule) -> Iterator[Metric]:
    for variant in rule.variants:
        yield from variant.metrics()


def not_tested(file: Timelines, index: int, played: Performance) -> Iterator[Problem]:
    """The alerts in `expect` and `silent` that the run of a test gave no chance to fire.

    A test that says in `at` where such an alert stands, `unknown` mostly, knows what it does.
    """
    test, document, missing = file.tests[index], file.document, played.missing()
    stated = {name for alerts in test.at.values() for name, entry in alerts.items() if entry.state is not None}
    for loc, name, _ in _alerts(test, index):
        if loc[2] == "at" or name not in missing or (loc[2] == "silent" and name in stated):
            continue
        lacks = missing[name]
        message = f"{name} could not be evaluated in this test: it needs {', '.join(lacks)}"
        yield document.problem(document.place(loc), "not-evaluable", message, _remedy(test, name, lacks))


def _remedy(test: TimelineDocument, alert: str, lacks: tuple[str, ...]) -> str:
    logged = [*test.series, *(test.samples.series if test.samples is not None else ())]
    for lack in lacks:
        for key in logged:
            if lack.partition("{")[0] != key.partition("{")[0] and closest(key, [lack], near=0.75):
                return f"did you mean {lack} for {printable(key)}?"
    shown = ", ".join(map(printable, logged[:5])) + (", ..." if len(logged) > 5 else "")
    return f"the test logs {shown}; if that is what it is about, say `at: {{end: {{{alert}: unknown}}}}`"
