"""`sentinel metrics`: the metric dictionary, and what it makes of a recorded or a live run."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from sentinel.cli.options import reference_option
from sentinel.cli.output import JSON_VERSION, clean, counted, print_json
from sentinel.cli.paths import missing_file
from sentinel.cli.width import paragraph, table
from sentinel.errors import DecodeError, UsageError
from sentinel.metrics import Derivation, Dictionary, Identity, MetricInfo, Reading, default
from sentinel.metrics.keys import KeyRow
from sentinel.suggestion import closest

MAX_HINTS = 50
"""Unknown keys that get a suggestion: looking for one takes a few milliseconds."""


@click.command()
@click.argument("name", required=False)
@click.option("--find", "text", metavar="TEXT", help="List the metrics with TEXT in name, unit, layer or meaning.")
@click.option(
    "--from", "recording", metavar="FILE", help="Tell what this recorded run sends (JSONL, `-`: standard input)."
)
@click.option("--run", "live", metavar="RUN", help="Tell what this live run sends, as the daemon has it.")
@click.option(
    "--rules",
    "rule_paths",
    multiple=True,
    metavar="PATH",
    help="With --from or --run: which rules. Default: grpo, ppo, infra; for a live run those of the daemon's settings.",
)
@click.option(
    "--framework", help="With --from: whose keys they are (trl, verl...). Default: what the run says, or a guess."
)
@reference_option(
    "With --from or --run: a recorded run for reference(x). Default: for a live run those of the settings."
)
@click.option("--config", type=click.Path(path_type=Path), help="With --run: the daemon's configuration.")
@click.option("--url", help="With --run: of Redis. Default: as `sentinel explain`.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def metrics(
    name: str | None,
    text: str | None,
    recording: str | None,
    live: str | None,
    rule_paths: tuple[str, ...],
    framework: str | None,
    reference_paths: tuple[Path, ...],
    config: Path | None,
    url: str | None,
    output: str,
) -> None:
    """Look up what a metric is and what trainers call it, by its name or by a trainer's key; or list all.

    With --from or --run: what a recorded or a live run sends, what of it is unknown, and which rules that leaves
    without their metrics.
    """
    dictionary = default()
    if sum(given is not None for given in (name, text, recording, live)) > 1:
        raise UsageError("name one: a metric, a text with --find, a recording with --from, or a live run with --run")
    if live is None and (config is not None or url is not None):
        raise UsageError("--config and --url go with --run RUN")
    if recording is not None or live is not None:
        if recording is not None:
            _check_framework(framework, dictionary)
            reports = survey(recording, rule_paths, reference_paths, framework, dictionary)
        else:
            from sentinel.cli.live_metrics import survey_live

            if framework is not None:
                raise UsageError("--framework goes with --from FILE")
            reports = [survey_live(live or "", rule_paths, reference_paths, config, url, dictionary)]
        if output == "json":
            print_json({"version": JSON_VERSION, "runs": [_run_json(report) for report in reports]})
        else:
            click.echo("\n\n".join(_run_text(report) for report in reports))
        return
    if rule_paths or reference_paths or framework is not None:
        raise UsageError("--rules and --reference go with --from FILE or --run RUN, --framework with --from FILE")
    if name is None:
        listed = [info for info in dictionary.metrics.values() if text is None or _has(info, text)]
        if not listed:
            raise UsageError(f"no metric has '{clean(text or '')}' in its name, unit, layer or meaning")
        if output == "json":
            print_json({"version": JSON_VERSION, "metrics": [_json(info, dictionary) for info in listed]})
        else:
            rows = [(info.name, info.unit, info.layer, info.definition) for info in listed]
            click.echo(table([("METRIC", "UNIT", "LAYER", "WHAT IT IS"), *rows]))
        return
    found = look_up(name, dictionary)
    if not found:
        refusals = refused(name, dictionary)
        if refusals:
            said = "; ".join(f"{source} writes it: {row.note}" for source, row in refusals)
            raise UsageError(f"'{clean(name)}' has no canonical name on purpose. {said}")
        hint = closest(name, {*dictionary.names(), *dictionary.keys()})
        raise UsageError(f"there is no metric '{clean(name)}'. {hint or '`sentinel metrics` lists them.'}")
    if output == "json":
        print_json({"version": JSON_VERSION, "metrics": [_json(info, dictionary) for info in found]})
        return
    click.echo("\n\n".join(_text(info, dictionary) for info in found))


def _has(info: MetricInfo, text: str) -> bool:
    words = " ".join((info.name, info.unit, info.layer, info.definition))
    return text.casefold() in words.casefold()


def look_up(name: str, dictionary: Dictionary) -> list[MetricInfo]:
    """The entry of a canonical name, else those that trainers' own key `name` may stand for."""
    info = dictionary.metrics.get(name) or dictionary.describe(name)
    if info is not None:
        return [info]
    found = [dictionary.describe(canonical) for canonical in dictionary.meanings(name)]
    return list(dict.fromkeys(info for info in found if info is not None))


def refused(key: str, dictionary: Dictionary) -> list[tuple[str, KeyRow]]:
    """(trainer, row) of the rows that know a key and refuse it a canonical name."""
    return [
        (source, one.row)
        for source in dictionary.sources
        for one in dictionary.table(source).candidates(key)
        if one.row.name is None
    ]


# --- a run ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Report:
    """What one run sends. `framework`, `version`: as the run or the user says.

    `rows`: how often each key came, 0 where that is not known; `last`: its newest value. `readings`: what each key is.
    `dropped`: metrics that are no numbers, with the reason. `not_evaluable`: rule → what it misses.
    `kin`: of what is missed, metrics of the same kind that the run sends.
    """

    run: str
    framework: str | None = None
    version: str | None = None
    config: dict[str, object] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    last: dict[str, float | None] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    identity: Identity = field(default_factory=lambda: Identity(None))
    readings: dict[str, Reading] = field(default_factory=dict)
    nearest: dict[str, list[str]] = field(default_factory=dict)
    derived: tuple[Derivation, ...] = ()
    values: dict[str, float | None] = field(default_factory=dict)
    not_evaluable: dict[str, list[str]] = field(default_factory=dict)
    kin: dict[str, list[str]] = field(default_factory=dict)
    rules: int = 0
    rejected: int = 0


def survey(
    recording: str,
    rule_paths: tuple[str, ...],
    reference_paths: tuple[Path, ...],
    framework: str | None,
    dictionary: Dictionary,
) -> list[Report]:
    """The runs of a recording, in the order in which they began. Raises UsageError, and RuleError for bad rules."""
    # Looking a name up needs no engine and no rules.
    from sentinel.bus.recording import read_recording
    from sentinel.engine.engine import Engine
    from sentinel.events import RunStarted, Sample, StepMetrics
    from sentinel.resources import DEFAULT_PACKS, read_sources
    from sentinel.rules.loader import load_rules
    from sentinel.service.references import read_references

    rules = load_rules(read_sources(rule_paths or DEFAULT_PACKS), dictionary)
    path = Path("/dev/stdin") if recording == "-" else Path(recording)
    if wrong := missing_file(path):
        raise UsageError(wrong)
    references = read_references(reference_paths, dictionary, framework=framework)
    engine = Engine(rules, dictionary=dictionary, references=references)
    reports: dict[str, Report] = {}
    rejected = 0
    for item in read_recording(path):
        if isinstance(item, DecodeError):
            rejected += 1
            continue
        event = item.event
        report = reports.get(event.run)
        if report is None:
            report = reports[event.run] = Report(event.run, framework=framework, rules=len(rules.rules))
            if framework is not None and not isinstance(event, RunStarted):
                engine.handle(RunStarted(run=event.run, framework=framework, time=event.time, position=event.position))
        for key, reason in item.dropped:
            report.dropped[f"{key}: {reason}"] += 1
        if isinstance(event, RunStarted):
            event.framework = framework or event.framework
            report.framework, report.version, report.config = event.framework, event.version, dict(event.config)
        elif isinstance(event, StepMetrics | Sample):
            report.rows.update(event.metrics.keys())
            report.last.update(event.metrics)
        engine.handle(event)
    if not reports:
        raise UsageError(f"{clean(recording)} holds no event" + (f" ({rejected} lines rejected)" if rejected else ""))
    for report in reports.values():
        report.rejected = rejected
        report.not_evaluable = {missing.rule: list(missing.missing) for missing in engine.not_evaluable(report.run)}
        read_keys(report, dictionary)
    return list(reports.values())


def read_keys(report: Report, dictionary: Dictionary) -> None:
    """What the dictionary makes of the run's keys."""
    bare = {key: key.partition("{")[0] for key in report.rows}
    report.identity = dictionary.identify(bare.values())
    framework = report.framework or report.identity.framework
    readings = dictionary.read(list(dict.fromkeys(bare.values())), framework, report.version, report.config)
    report.readings = {key: readings[bare[key]] for key in report.rows}
    for key, reading in report.readings.items():
        if reading.name is not None and reading.standing != "second":
            report.values.setdefault(reading.name, report.last[key])
    report.derived = dictionary.derivations(report.values)
    for one in report.derived:
        report.values[one.name] = one.compute(report.values)
    for name in {name for missing in report.not_evaluable.values() for name in missing}:
        if found := dictionary.kin(name, report.values):
            report.kin[name] = found
    unknown = [key for key, reading in report.readings.items() if reading.standing == "unknown"]
    if unknown:
        known = sorted(dictionary.names() | dictionary.keys())
        for key in unknown[:MAX_HINTS]:
            report.nearest[key] = difflib.get_close_matches(key[:80], known, n=2, cutoff=0.7)


def _check_framework(framework: str | None, dictionary: Dictionary) -> None:
    if framework is not None and framework not in dictionary.frameworks:
        hint = closest(framework, dictionary.frameworks) or f"there are: {', '.join(dictionary.frameworks)}"
        raise UsageError(f"no framework '{clean(framework)}' is known. {hint}")


def _run_text(report: Report) -> str:
    lines = [f"run {clean(report.run)}: {counted(len(report.rows), 'key')}"]
    if report.framework is not None:
        lines.append(
            f"framework: {clean(report.framework)} {clean(report.version or '')}".rstrip() + ", as it was said"
        )
    if report.framework is None or report.framework != report.identity.framework:
        lines.append(f"framework, guessed from the keys: {report.identity}")
    lines += [f"  {clean(reason)}" for reason in report.identity.evidence]
    named = [(key, reading) for key, reading in report.readings.items() if reading.standing in ("named", "canonical")]
    if named:
        rows = [
            (clean(key), _full(reading), _value(report.last[key]), str(report.rows[key] or "-"), _estimator(reading))
            for key, reading in named
        ]
        lines += ["", table([("KEY", "METRIC", "LAST", "ROWS", "ESTIMATOR"), *rows])]
    if report.derived:
        lines += ["", "derived:"]
        lines.append(
            table(
                [(one.name, f"= {one.formula}", _value(report.values[one.name])) for one in report.derived], indent="  "
            )
        )
    for standing, title in (
        ("second", "a second key for a name that is taken:"),
        ("refused", "known, without a canonical name on purpose:"),
    ):
        found = [(key, reading) for key, reading in report.readings.items() if reading.standing == standing]
        if found:
            lines += ["", title]
            lines.append(table([(clean(key), _full(reading) or _note(reading)) for key, reading in found], indent="  "))
    unknown = [key for key, reading in report.readings.items() if reading.standing == "unknown"]
    if unknown:
        lines += ["", "unknown; rules can use them in backticks:"]
        lines.append(table([(clean(key), _near(report.nearest.get(key, []))) for key in unknown], indent="  "))
    if report.dropped:
        lines += ["", "not numbers:", *(f"  {clean(reason)} ({count})" for reason, count in report.dropped.items())]
    lines += ["", f"{report.rules - len(report.not_evaluable)} of {counted(report.rules, 'rule')} can be evaluated"]
    for rule, missing in report.not_evaluable.items():
        needed = ", ".join(
            f"{name} (it sends {', '.join(report.kin[name])})" if name in report.kin else name for name in missing
        )
        lines.append(paragraph(f"  {clean(rule)} needs {clean(needed)}", "    "))
    if report.rejected:
        lines.append(f"{counted(report.rejected, 'line')} could not be understood")
    return "\n".join(lines)


def _run_json(report: Report) -> dict[str, Any]:
    return {
        "run": report.run,
        "framework": report.framework or report.identity.framework,
        "version": report.version,
        "guess": {
            "framework": report.identity.framework,
            "versions": str(report.identity.versions),
            "evidence": list(report.identity.evidence),
        },
        "keys": [
            {
                "key": key,
                "standing": reading.standing,
                "name": reading.name,
                "labels": dict(reading.labels),
                "rows": report.rows[key] or None,
                "last": _finite(report.last[key]),
                "estimator": reading.row.estimator if reading.row is not None else None,
                "aggregation": reading.row.aggregation if reading.row is not None else None,
                "note": reading.row.note if reading.row is not None else None,
                "nearest": report.nearest.get(key, []),
            }
            for key, reading in report.readings.items()
        ],
        "derived": [
            {"name": one.name, "formula": one.formula, "last": _finite(report.values[one.name])}
            for one in report.derived
        ],
        "dropped": dict(report.dropped),
        "rules": report.rules,
        "not_evaluable": report.not_evaluable,
        "kin": report.kin,
        "rejected": report.rejected,
    }


def _full(reading: Reading) -> str:
    labels = ",".join(f"{name}={value}" for name, value in reading.labels)
    return f"{reading.name or ''}{{{labels}}}" if labels else reading.name or ""


def _estimator(reading: Reading) -> str:
    return (reading.row.estimator if reading.row is not None else None) or ""


def _note(reading: Reading) -> str:
    return (reading.row.note if reading.row is not None else None) or ""


def _near(names: list[str]) -> str:
    return f"near {' and '.join(names)}" if names else ""


def _value(value: float | None) -> str:
    return "null" if value is None else f"{value:.6g}"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


# --- the dictionary ---------------------------------------------------------------------------------------------


def _json(info: MetricInfo, dictionary: Dictionary) -> dict[str, Any]:
    return {
        "name": info.name,
        "definition": info.definition,
        "unit": _cell(info.unit),
        "range": _cell(info.range),
        "layer": info.layer,
        "stage": _cell(info.stage),
        "better": _cell(info.better),
        "bad": _cell(info.bad),
        "aggregation": _cell(info.aggregation),
        "keys": [{"framework": source, "key": key} for source, key in dictionary.keys_of(info.name)],
        "logged_as": [
            {
                "framework": source,
                "key": row.key,
                "name": row.name,
                "versions": str(row.versions),
                "when": list(row.when),
                "algorithm": row.algorithm,
                "aggregation": row.aggregation,
                "estimator": row.estimator,
                "note": row.note,
            }
            for source, row in dictionary.rows_of(info.name)
        ],
        "derived": [
            {"formula": one.formula, "note": _cell(one.note)}
            for one in dictionary.all_derivations()
            if one.name == info.name
        ],
    }


def _cell(text: str) -> str | None:
    return None if text == "-" else text


def _text(info: MetricInfo, dictionary: Dictionary) -> str:
    lines = [paragraph(f"{info.name}: {info.definition}")]
    facts = [
        ("unit", info.unit),
        ("range", info.range),
        ("layer", info.layer),
        ("stage", info.stage),
        ("better", info.better),
        ("bad", info.bad),
        ("aggregation", info.aggregation),
    ]
    lines += [f"  {label}: {fact}" for label, fact in facts if fact != "-"]
    rows = dictionary.rows_of(info.name)
    if rows:
        lines.append("  logged as:")
        lines.append(table([(source, row.key, _terms(row)) for source, row in rows], indent="    "))
    derived = [one for one in dictionary.all_derivations() if one.name == info.name]
    lines += [
        paragraph(f"  else: {one.formula}{f' ({one.note})' if one.note != '-' else ''}", "    ") for one in derived
    ]
    return "\n".join(lines)


def _terms(row: KeyRow) -> str:
    """What a reader must know of a key: how it is made, and where it holds."""
    terms = [row.estimator, row.aggregation, row.algorithm]
    versions = str(row.versions)
    terms += [versions if versions != "any version" else None]
    terms += [f"when {' and '.join(_term(term) for term in row.when)}" if row.when else None]
    return "; ".join(term for term in terms if term)


def _term(term: str) -> str:
    if term.startswith("config."):
        return term
    return f"{term[1:]} is not logged" if term[0] == "!" else f"{term} is logged"
