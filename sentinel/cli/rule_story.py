"""`sentinel rules explain`: what a rule means, what it needs, and how soon it can speak."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from sentinel.cli.outline import Branch, Page
from sentinel.cli.output import clean, counted, print_json
from sentinel.errors import RuleError, UsageError
from sentinel.suggestion import closest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sentinel.explain.story import Need, Story
    from sentinel.explain.warmup import Wait
    from sentinel.explain.words import Clause
    from sentinel.rules.model import Rule, RuleSet

COLORS = {"info": "cyan", "warning": "yellow", "critical": "bold red"}

SHORT = 160
"""Characters of a condition in words that are told as a sentence; a longer one is told part by part."""


@click.command("explain")
@click.argument("rule")
@click.option("--rules", "rule_paths", multiple=True, metavar="PATH", help="Rule file, folder or pack.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(rule: str, rule_paths: tuple[str, ...], output: str) -> None:
    """Say what RULE means in plain words, what it needs of a run, and how soon it can speak and fire.

    Without --rules, the shipped packs are searched, the default one first.
    """
    from sentinel.explain.story import tell
    from sentinel.metrics import default

    found, rules, path = _find(rule, rule_paths)
    story = tell(found, default(), rules)
    tests = list(_tests(found, path))
    if output == "json":
        from sentinel.cli.explain_json import json_of_story

        print_json(json_of_story(story, tests))
        return
    _print(Page(), story, tests)


def _find(name: str, paths: Sequence[str]) -> tuple[Rule, RuleSet, Path]:
    """The rule, those loaded with it, and its file."""
    from sentinel.metrics import default
    from sentinel.resources import PACKS, pack_path, read_sources, rule_files, shown
    from sentinel.rules.loader import load_rules

    known: dict[str, None] = {}
    groups = [list(paths)] if paths else [[str(pack_path(pack))] for pack in PACKS]
    for group in groups:
        rules = load_rules(read_sources(group), default())
        rule = rules.named(name)
        if rule is not None:
            source = rule.source.rpartition(":")[0]
            return rule, rules, next(file for file in rule_files(group) if shown(file) == source)
        known |= dict.fromkeys(one.name for one in rules)
    some = ", ".join(list(known)[:10]) + (", ..." if len(known) > 10 else "")
    hint = closest(name, known) or f"There are {some}; `sentinel rules list` tells all"
    where = "among these rules" if paths else "in the shipped packs"
    raise UsageError(f"there is no rule '{clean(name)}' {where}. {hint}")


def _tests(rule: Rule, path: Path) -> Iterator[dict[str, Any]]:
    """The time-lines beside the rule's file that speak of it."""
    from sentinel.resources import TEST_SUFFIX, read_source
    from sentinel.ruletest import read_tests

    beside = path.with_name(path.stem + TEST_SUFFIX)
    if not beside.is_file():
        return
    try:
        file = read_tests(*read_source(beside))
    except RuleError:
        return  # `sentinel rules test` says what is wrong with it
    for index, test in enumerate(file.tests):
        fires = [one for one in test.expect if one.alert == rule.name]
        place = f"{file.path}:{file.line(index)}"
        for one in fires:
            yield {"name": test.name, "place": place, "must": "fire", "severity": one.severity, "step": one.fires_at}
        if rule.name in test.silent:
            yield {"name": test.name, "place": place, "must": "stay silent", "severity": None, "step": None}
        if any(rule.name in stands for stands in test.at.values()):
            yield {"name": test.name, "place": place, "must": "stand as it says", "severity": None, "step": None}


# --- on a terminal ----------------------------------------------------------------------------------------------


def _print(page: Page, story: Story, tests: Sequence[dict[str, Any]]) -> None:
    from sentinel.rules.symptoms import symptoms

    rule = story.rule
    symptom = symptoms().get(rule.symptom)
    page.line(Text(rule.name, "bold"), f"  {rule.symptom}", Text(f"  {clean(rule.source)}", "dim"))
    if symptom is not None:
        page.line(Text(symptom.meaning, "dim"))
    page.gap()
    for limit in story.limits:
        page.line(limit)
    for (severity, sentence), (_, outline) in zip(story.sentences, story.outlines, strict=True):
        if len(sentence) <= SHORT or not outline.parts:
            page.line(Text(severity, COLORS[severity]), sentence.removeprefix(severity))
            continue
        page.line(Text(severity, COLORS[severity]), f" when {outline.words}{story.hold}:")
        page.branches([_branch(part) for part in outline.parts], margin=2)
        page.gap()
    page.line(story.ends)
    page.line(story.taints)
    page.gap()
    page.facts(
        [
            ("speaks", _wait(story.speaks)),
            ("fires", _wait(story.fires)),
            ("at best", _best(story)),
            ("keeps", _keeps(story)),
            *((("unknown" if at == 0 else ""), note) for at, note in enumerate(story.unknown)),
        ]
    )
    page.gap()
    for need in story.needs:
        _need(page, need)
    if story.config:
        page.line("and of the run's configuration: ", Text(", ".join(map(clean, story.config)), "bold"))
        page.gap()
    if story.recorded:
        page.line("and of a reference run (--reference, `references`): ", Text(", ".join(story.recorded), "bold"))
        page.gap()
    if story.asks:
        page.line("and asks about the alerts of ", Text(", ".join(story.asks), "bold"))
        page.gap()
    book = rule.runbook
    page.facts(
        [
            ((label if at == 0 else ""), clean(text))
            for label, texts in (("causes", book.causes), ("look at", book.look_at), ("do", book.do))
            for at, text in enumerate(texts)
        ]
    )
    if any((book.causes, book.look_at, book.do)):
        page.gap()
    if not tests:
        page.line(Text("no test: ", "yellow"), "no time-line beside the rule's file speaks of it")
    else:
        page.line(counted(len(tests), "test"))
        page.facts([(_must(test), f"{clean(test['name'])} ({clean(test['place'])})") for test in tests])


def _branch(clause: Clause) -> Branch:
    style = "italic" if clause.parts else ""
    return Branch(Text(clean(clause.words), style), parts=[_branch(part) for part in clause.parts])


def _wait(wait: Wait) -> str:
    """When, in a run that logs every step."""
    from sentinel.explain.words import seconds_spelled

    rows = "from the first logged value on" if wait.steps == 1 else f"from the {_ordinal(wait.steps)} logged value on"
    return f"{rows}, and not within the first {seconds_spelled(wait.seconds)}" if wait.seconds else rows


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def _best(story: Story) -> str:
    from sentinel.explain.story import SECONDS_PER_STEP
    from sentinel.explain.words import seconds_spelled
    from sentinel.rules.expression.nodes import Call, walk
    from sentinel.stats.window import Axis

    if story.fastest_silence is not None:
        return f"after {seconds_spelled(math.ceil(story.fastest_silence))} of silence, tried on an even run"
    if story.fastest is None:
        return "not found by trying"
    rows = "with the first bad value" if story.fastest == 1 else f"{story.fastest} logged values after the onset"
    nodes = [node for expression in story.rule.expressions() for node in walk(expression)]
    extents = [node.window for node in nodes if isinstance(node, Call)] + [story.rule.hold]
    timed = any(extent is not None and extent.axis is Axis.TIME for extent in extents)
    return f"{rows}, tried on an even run" + (f" of {SECONDS_PER_STEP:.0f} s a step" if timed else "")


def _keeps(story: Story) -> str:
    if not story.bytes:
        return "no values of a run"
    return f"about {_bytes(story.bytes)} of each run{', with ten series behind the *' if _wild(story) else ''}"


def _bytes(size: int) -> str:
    return f"{size} bytes" if size < 1000 else f"{size / 1000:.1f} kB"


def _wild(story: Story) -> bool:
    return any(metric.wild for metric in story.rule.metrics())


def _need(page: Page, need: Need) -> None:
    """A metric, what it is, and who logs it."""
    info = need.info
    told = "each series that the run logs" if need.metric == "*" else "the trainer's own key"
    if info is not None:
        told = info.definition + (f" ({info.unit})" if info.unit != "-" else "")
    page.line("needs ", Text(clean(need.metric), "bold"), f": {told}")
    by_source: dict[str, list[str]] = {}
    for source, row in need.rows:
        terms = []
        if str(row.versions) != "any version":
            terms.append(str(row.versions))
        terms += [term if term.startswith("config.") else _logged(term) for term in row.when]
        text = row.key + (f" ({'; '.join(terms)})" if terms else "")
        by_source.setdefault(source, []).append(text)
    page.facts([(source, clean(", ".join(dict.fromkeys(keys)))) for source, keys in by_source.items()])
    page.gap()


def _logged(term: str) -> str:
    return f"without {term[1:]}" if term[0] == "!" else f"with {term}"


def _must(test: dict[str, Any]) -> str:
    if test["must"] != "fire":
        return str(test["must"])
    severity = f" {test['severity']}" if test["severity"] else ""
    return f"fires{severity}" + (f" at step {test['step']}" if test["step"] is not None else "")
