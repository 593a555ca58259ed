"""`sentinel explain`: why a rule says what it says of a run, or why it is quiet."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click
from rich.text import Text

from sentinel import wire
from sentinel.cli.numbers import Count
from sentinel.cli.options import reference_option
from sentinel.cli.outline import Branch, Page
from sentinel.cli.output import clean, counted, print_json
from sentinel.cli.paths import missing_file
from sentinel.errors import UsageError
from sentinel.suggestion import closest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sentinel.explain.finding import Finding
    from sentinel.explain.standing import Standing
    from sentinel.rules.model import Rule, RuleSet
    from sentinel.service.sight import Sight

STATES = {"firing": "bold red", "pending": "bold yellow", "inactive": "green"}

SEVERITIES = {"info": "cyan", "warning": "yellow", "critical": "bold red"}

TRUTHS: dict[bool | None, tuple[str, str]] = {
    True: ("true", "bold yellow"),
    False: ("false", "dim"),
    None: ("unknown", "magenta"),
}

MOST_SHOWN = 3
"""Quiet alerts of one rule that are shown in full."""

AIMS = {"fire": "to fire", "rise": "to rise", "resolve": "to resolve"}


@click.command("explain")
@click.argument("run", required=False)
@click.argument("rule", required=False)
@click.option("--from", "recording", metavar="FILE", help="Of a recorded run (JSONL, `-`: standard input).")
@click.option("--at", type=Count(), metavar="STEP", help="With --from: as it stood after this step.")
@click.option("--framework", help="With --from: whose keys they are (trl, verl...). Default: guessed.")
@click.option(
    "--rules",
    "rule_paths",
    multiple=True,
    metavar="PATH",
    help="Rule file, folder or pack. Default: those of the daemon's settings.",
)
@reference_option("A recorded run for reference(x). Default: those of the daemon's settings.")
@click.option("--config", type=click.Path(path_type=Path), help="The daemon's configuration: its rules and its Redis.")
@click.option("--url", help="Of Redis. Default: that of --config, SENTINEL_REDIS_URL or SENTINEL_URL, else embedded.")
@click.option("--labels", multiple=True, metavar="NAME=VALUE", help="Of a rule with several alerts: this one.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(
    run: str | None,
    rule: str | None,
    recording: str | None,
    at: int | None,
    framework: str | None,
    rule_paths: tuple[str, ...],
    reference_paths: tuple[Path, ...],
    config: Path | None,
    url: str | None,
    labels: tuple[str, ...],
    output: str,
) -> None:
    """Why RULE is quiet, pending or firing for RUN: each value, window and counter, and what would make it fire.

    Without RULE: all rules for the run, in a table. A live run is read from Redis as the daemon saved it and the
    stream went on; nothing is written. With --from, RUN may be left out.

    \b
    sentinel explain grpo-7b
    sentinel explain grpo-7b kl-high
    sentinel explain --from run.jsonl --at 60 kl-high
    """
    from sentinel.explain.standing import look_ahead, standings

    if recording is None and (at is not None or framework is not None):
        raise UsageError("--at and --framework go with --from FILE")
    if recording is not None and url is not None:
        raise UsageError("--url is that of a live run: leave it out beside --from")
    sight, rules, rule = see(run, rule, recording, at, framework, rule_paths, reference_paths, config, url)
    assert sight.run is not None
    chosen = [_named(rule, rules)] if rule is not None else list(rules)
    found = list(standings(sight.engine, sight.run, chosen, now=sight.now))
    if labels:
        found = _labelled(found, labels)
    if rule is not None and (output == "json" or len(found) <= MOST_SHOWN):
        found = [look_ahead(sight.engine, sight.run, standing) for standing in found]
    elif rule is not None:
        found = [
            look_ahead(sight.engine, sight.run, standing) if standing.state != "inactive" else standing
            for standing in found
        ]
    if output == "json":
        from sentinel.cli.explain_json import json_of_sight

        print_json(json_of_sight(sight, found))
        return
    page = Page()
    if rule is None:
        _table(page, sight, found)
        page.gap()
    else:
        _explain(page, sight, found)
    _source(page, sight)


# --- what is looked at ------------------------------------------------------------------------------------------


def see(
    run: str | None,
    rule: str | None,
    recording: str | None,
    at: int | None,
    framework: str | None,
    rule_paths: Sequence[str],
    reference_paths: Sequence[Path],
    config: Path | None,
    url: str | None,
) -> tuple[Sight, RuleSet, str | None]:
    """The run that is meant, the rules, and the rule's name. Raises UsageError for a run that is not there."""
    from sentinel.metrics import default
    from sentinel.resources import read_sources
    from sentinel.rules.loader import load_rules
    from sentinel.service.references import read_references
    from sentinel.service.settings import load_settings
    from sentinel.service.sight import look_at_recording, look_live

    dictionary = default()
    if framework is not None and framework not in dictionary.frameworks:
        hint = closest(framework, dictionary.frameworks) or f"there are: {', '.join(dictionary.frameworks)}"
        raise UsageError(f"no framework '{clean(framework)}' is known. {hint}")
    paths: Sequence[str] = rule_paths
    if not paths or (recording is None and url is None):
        settings, _ = load_settings(config)
        paths = paths or settings.rules
        reference_paths = reference_paths or [path.expanduser() for path in settings.references]
        socket = settings.state_folder / wire.SOCKET
        own = f"unix://{quote(str(socket))}" if config is not None and socket.exists() else None
        url = url or settings.redis.url or own or wire.default_url()
    rules = load_rules(read_sources(paths), dictionary)
    references = read_references(reference_paths, dictionary, framework=framework)
    if recording is None:
        if run is None:
            raise UsageError("name a run, or a recording with --from FILE")
        sight = asyncio.run(look_live(url or "", run, rules, dictionary, references=references))
    else:
        path = Path("/dev/stdin") if recording == "-" else Path(recording)
        if wrong := missing_file(path):
            raise UsageError(wrong)
        if run is not None and rule is None and rules.named(run) is not None:
            # A recording mostly holds one run, which need not be named.
            run, rule = None, run
        sight = look_at_recording(path, run, rules, dictionary, at=at, framework=framework, references=references)
        if sight.last_step is None and at is not None and sight.first_step is not None:
            raise UsageError(f"the run begins at step {sight.first_step}, after step {at}")
        if at is not None and sight.last_step is not None and not sight.later and at > sight.last_step:
            # What is told then is the end, which nobody asked for.
            raise UsageError(f"the run ends at step {sight.last_step}, before step {at}; without --at its end is told")
    if sight.run is None:
        raise UsageError(_unknown_run(run or "", sight, () if rule is not None else [one.name for one in rules]))
    return sight, rules, rule


def _unknown_run(run: str, sight: Sight, rules: Sequence[str]) -> str:
    """`rules`: of a word that stands alone, the rules that it may name."""
    names = list(sight.others)
    if not sight.live and rules and not closest(run, names, near=0.8):
        hint = closest(run, rules) or f"rules: {', '.join(rules[:10])}{', ...' if len(rules) > 10 else ''}"
        listed = ", ".join(clean(name) for name in names[:10])
        return f"'{clean(run)}' is neither a rule nor a run of the recording. {hint} Its runs: {listed}"
    if not names:
        return f"nothing is known of a run '{clean(run)}': no run has been published to this Redis"
    listed = ", ".join(clean(name) for name in names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    hint = closest(run, names)
    return f"there is no run '{clean(run)}'. {hint + ' ' if hint else ''}There are: {listed}"


def _named(name: str, rules: RuleSet) -> Rule:
    found = rules.named(name)
    if found is None:
        names = [rule.name for rule in rules]
        hint = closest(name, names) or f"There are {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
        raise UsageError(f"there is no rule '{clean(name)}' among those in force. {hint}")
    return found


def _labelled(found: Sequence[Standing], wanted: Sequence[str]) -> list[Standing]:
    pairs = []
    for text in wanted:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"--labels is written NAME=VALUE, not '{clean(text)}'")
        pairs.append((name, value))
    chosen = [standing for standing in found if all(pair in standing.labels for pair in pairs)]
    if not chosen:
        there = sorted({_labels(standing) for standing in found if standing.labels})
        listed = "; ".join(there[:10]) or "it makes one alert, without labels"
        raise UsageError(f"no alert of the rule has these labels. There are: {clean(listed)}")
    return chosen


def _labels(standing: Standing) -> str:
    return ", ".join(f"{key}={value}" for key, value in standing.labels)


# --- on a terminal ----------------------------------------------------------------------------------------------


def _table(page: Page, sight: Sight, found: Sequence[Standing]) -> None:
    run = sight.run
    assert run is not None
    page.line(_title(sight), Text(f", {counted(len({one.rule.name for one in found}), 'rule')}"))
    page.gap()
    rows = [[Text(name, "dim") for name in ("RULE", "STATE", "SINCE", "WHY")]]
    order = {"firing": 0, "pending": 1, "inactive": 2}
    for standing in sorted(_together(found), key=lambda one: order[one[0].state]):
        first, count = standing
        name = first.rule.name
        if count > 1:
            name += f" ({count} series)"
        elif first.labels:
            name += f" {{{_labels(first)}}}"
        since = "" if first.since_step is None else f"step {first.since_step}"
        why = "each of them is a number" if count > 1 and first.why.endswith(" is a number") else first.why
        if first.state != "inactive" and (compared := _compared(first)):
            why = f"{compared}; {why}"
        rows.append([Text(clean(name), "bold"), _state(first), Text(since), Text(clean(why))])
    page.table(rows)


def _compared(standing: Standing) -> str:
    """The two numbers that make an alert open: `0.42 > 0.3`; empty where it is no comparison that holds."""
    from sentinel.explain.finding import against

    condition = next((found for severity, found in standing.conditions if severity == standing.severity), None)
    while condition is not None and condition.kind in ("and", "or"):
        condition = next((part for part in condition.parts if part.truth), None)
    if condition is None or condition.kind != "comparison" or not condition.truth:
        return ""
    left, right = against(condition)
    return f"{left} {condition.op} {right}"


def _together(found: Sequence[Standing]) -> list[tuple[Standing, int]]:
    """Standings, the quiet ones of one rule and one reason as one, with how many they are."""
    groups: dict[object, list[Standing]] = {}
    for at, standing in enumerate(found):
        quiet = standing.state == "inactive" and standing.labels
        groups.setdefault((standing.rule.name, standing.reason) if quiet else at, []).append(standing)
    return [(group[0], len(group)) for group in groups.values()]


def _title(sight: Sight) -> Text:
    run = sight.run
    assert run is not None
    step = f"step {run.step}" if run.step >= 0 else "no step yet"
    attempt = f", attempt {run.attempt}" if run.attempt > 1 else ""
    over = "" if run.status == "running" else f", over ({run.status})"
    return Text("run ").append(clean(run.id), "bold").append(f" at {step}{attempt}{over}")


def _state(standing: Standing) -> Text:
    if standing.state == "inactive" and standing.reason != "false":
        words = {"where": "not for it", "no-series": "not evaluable", "ended": "over"}
        return Text(words.get(standing.reason, standing.reason.replace("-", " ")), "magenta")
    text = Text().append("quiet" if standing.state == "inactive" else standing.state, STATES[standing.state])
    if standing.severity is not None and standing.state == "firing":
        text.append(f" {standing.severity}", SEVERITIES[standing.severity])
    return text


def _explain(page: Page, sight: Sight, found: Sequence[Standing]) -> None:
    quiet = [standing for standing in found if standing.state == "inactive"]
    brief = quiet if len(found) > MOST_SHOWN else []
    for standing in found:
        if standing not in brief:
            _one(page, sight, standing)
            page.gap()
    if brief:
        told = f"{len(brief)} more alerts are quiet"
        if len(brief) == len(found):
            told = f"{len(brief)} alerts for {_title(sight).plain}, one for each series, all of them quiet"
        page.line(Text(brief[0].rule.name, "bold"), f": {told}")
        page.facts([(_labels(standing), standing.why) for standing in brief])
        page.line(Text(f"--labels '{_labels(brief[0])}' shows one in full", "dim"))
        page.gap()


def _one(page: Page, sight: Sight, standing: Standing) -> None:
    name = Text().append(standing.rule.name, "bold")
    if standing.labels:
        name.append(f" {{{clean(_labels(standing))}}}")
    page.line(name, " for ", _title(sight))
    page.line(_state(standing), ": ", standing.why)
    page.gap()
    facts: list[tuple[str, Text | str]] = []
    for prospect in standing.prospects:
        label = AIMS[prospect.aim]
        told = f"{prospect.words} (step {prospect.step})" if prospect.rows else prospect.words
        if prospect.aim != "resolve" and len(standing.conditions) > 1:
            told = f"{prospect.severity}: {told}"
        facts.append((label if label not in [fact[0] for fact in facts] else "or", told))
    if standing.state != "inactive" and standing.since_step is not None:
        facts.append(("onset", f"step {standing.since_step}"))
    for counter in standing.counters:
        if counter.extent is not None:
            since = f", since step {counter.since_step}" if counter.since_step is not None else ""
            facts.append((f"for ({counter.severity})", f"{counter.words}{since}"))
    if standing.over is not None:
        facts.append(("keep firing for", standing.over.words))
    if standing.asked_step is not None and sight.run is not None and standing.asked_step != sight.run.step:
        facts.append(("asked at", f"step {standing.asked_step}, when one of its metrics came last"))
    page.facts(facts)
    seen: set[str] = set()
    for severity, finding in standing.conditions:
        page.gap()
        page.line(Text(severity, SEVERITIES[severity]))
        page.tree(_branch(finding, seen))
    if standing.until is not None:
        page.gap()
        page.line("until")
        page.tree(_branch(standing.until, seen))


def _branch(finding: Finding, seen: set[str]) -> Branch:
    """A finding as a branch; what was shown with its parts before is shown without them."""
    from sentinel.explain.finding import against, shown

    mark = Text(*TRUTHS[finding.truth]) if finding.condition else Text()
    style = "" if not finding.condition or finding.truth is not False else "dim"
    unit = f" {finding.unit}" if finding.unit and finding.value is not None else ""
    match finding.kind:
        case "and":
            text, value = Text("all of", "italic"), Text()
        case "or":
            text, value = Text("any of", "italic"), Text()
        case "not":
            text, value = Text("not", "italic"), Text()
        case "comparison":
            left, right = against(finding)
            left, right = left.replace("unknown", "?"), right.replace("unknown", "?")
            text, value = Text(_text(finding), style), Text(f"{left} {finding.op} {right}", "bold")
        case _ if finding.condition:
            text, value = Text(_text(finding), style), Text(finding.note, "dim")
        case _:
            text = Text(_text(finding))
            value = Text().append(
                shown(finding.value, percent=finding.percent), "bold" if finding.value is not None else "magenta"
            )
            value.append(unit, "dim")
            if finding.note:
                value.append(f", {clean(finding.note)}", "dim")
    again = finding.text in seen and finding.kind not in ("and", "or", "not")
    seen.add(finding.text)
    parts = [] if again else [_branch(part, seen) for part in _parts(finding) if not _told(part, finding, seen)]
    return Branch(text, mark, value, parts)


def _text(finding: Finding) -> str:
    """The expression, its numbers without a zero that says nothing."""
    return clean(re.sub(r"(?<![\w.])(\d+)\.0(?![\d])", r"\1", finding.text))


def _parts(finding: Finding) -> Iterator[Finding]:
    """What a line has below it, each once: sums and products are passed over for what they are made of."""
    told: set[str] = set()
    for part in finding.parts:
        for one in _parts(part) if part.kind == "arithmetic" and not part.note else (part,):
            if one.text not in told:
                told.add(one.text)
                yield one


def _told(part: Finding, above: Finding, seen: set[str]) -> bool:
    """Whether there is no more to say of a part: its value stands on the line above, or it was shown before."""
    if part.condition:
        return False
    if above.kind == "comparison" and part.kind in ("metric", "fact"):
        return not part.note and part.value is not None
    return part.text in seen


def _source(page: Page, sight: Sight) -> None:
    """Where it was seen, and how old that is."""
    from sentinel.service.sight import age_text

    if sight.live:
        saved = "" if sight.snapshot_age is None else f"a snapshot {age_text(sight.snapshot_age)} old and "
        newest = "" if sight.event_age is None else f"; the run's newest event is {age_text(sight.event_age)} old"
        events = counted(sight.entries, "event") + (" since" if saved else " of the stream")
        page.line(Text(f"seen from {saved}{events}{newest}", "dim"))
    else:
        page.line(Text(f"seen from {counted(sight.entries, 'event')} of the recording", "dim"))
    for note in sight.notes:
        page.line(Text("note: ", "yellow"), note)
    if sight.rejected:
        entries = "1 entry" if sight.rejected == 1 else f"{sight.rejected} entries"
        page.line(Text("note: ", "yellow"), f"{entries} could not be understood")
