"""Verdicts added up: for all rules, for each file of rules, for each label, for each rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from sentinel.rules.model import Rule
from sentinel.score.labels import labels
from sentinel.score.verdict import Finding, Outcome, Verdict, outcome_of


@dataclass(frozen=True, slots=True)
class Delays:
    """How long after the onset trouble was told, in one unit: over the runs in which it was detected."""

    median: float
    p90: int
    longest: int


def delays_of(values: Sequence[int]) -> Delays | None:
    """`p90` is the smallest value that at least nine in ten do not exceed (nearest rank). None for no values."""
    if not values:
        return None
    ordered = sorted(values)
    return Delays(float(median(ordered)), ordered[math.ceil(0.9 * len(ordered)) - 1], ordered[-1])


@dataclass(frozen=True, slots=True)
class Tally:
    """One line of a score.

    - `broken`: runs that should be detected; `detected`, `late`, `early`, `missed`: what became of them.
    - `steps`, `rows`: the delays of the detected ones, in training steps and in logged rows.
    - `false_alarms`: on healthy runs, `alarmed` of them; `early_alarms`: before the onset.
    - `benign_alarms`, `other_alarms`: see `sentinel.score.verdict.Sort`.
    - `healthy_steps`, `healthy_rows`: over which alarms are false: healthy runs, and what lies before the onsets.
    """

    name: str
    broken: int
    detected: int
    late: int
    early: int
    missed: tuple[str, ...]
    steps: Delays | None
    rows: Delays | None
    false_alarms: int
    alarmed: int
    early_alarms: int
    benign_alarms: int
    other_alarms: int
    healthy_steps: int
    healthy_rows: int
    symptom: str = ""
    source: str = ""

    @property
    def share(self) -> float | None:
        """Of the runs that should be detected, the share that was; None when there are none."""
        return self.detected / self.broken if self.broken else None

    @property
    def per_1000_steps(self) -> float | None:
        """False and early alarms for each 1,000 healthy training steps; None without such steps."""
        return _rate(self.false_alarms + self.early_alarms, self.healthy_steps)

    @property
    def per_1000_rows(self) -> float | None:
        """The same for each 1,000 healthy logged rows."""
        return _rate(self.false_alarms + self.early_alarms, self.healthy_rows)


def _rate(alarms: int, over: int) -> float | None:
    return 1000 * alarms / over if over else None


@dataclass(frozen=True, slots=True)
class Healthy:
    """The healthy runs alone, without what lies before the onsets of others."""

    runs: int
    alarmed: int
    alarms: int
    steps: int
    rows: int

    @property
    def per_1000_steps(self) -> float | None:
        return _rate(self.alarms, self.steps)


@dataclass(frozen=True, slots=True)
class Score:
    """The whole. `verdicts`, `rules`: worst first. `kinds`: how many runs of each kind."""

    total: Tally
    healthy: Healthy
    files: tuple[Tally, ...]
    labels: tuple[Tally, ...]
    rules: tuple[Tally, ...]
    verdicts: tuple[Verdict, ...]
    kinds: Mapping[str, int] = field(default_factory=dict)


def score(verdicts: Iterable[Verdict], rules: Sequence[Rule]) -> Score:
    """Add up verdicts on runs that were played through `rules`. The order of the verdicts does not matter."""
    ordered = tuple(sorted(verdicts, key=_badness))
    healthy = [verdict for verdict in ordered if verdict.run.kind == "healthy"]
    sources = dict.fromkeys(file_of(rule.source) for rule in rules)
    given = dict.fromkeys(label for verdict in ordered for label in verdict.run.labels if verdict.run.kind == "broken")
    return Score(
        total=_tally("all rules", ordered),
        healthy=Healthy(
            runs=len(healthy),
            alarmed=sum(verdict.outcome == "alarmed" for verdict in healthy),
            alarms=sum(len(verdict.false_alarms) for verdict in healthy),
            steps=sum(verdict.healthy_steps for verdict in healthy),
            rows=sum(verdict.healthy_rows for verdict in healthy),
        ),
        files=tuple(_of_file(source, ordered) for source in sources),
        labels=tuple(sorted((_of_label(label, ordered) for label in given if labels()[label].fitting), key=_weakness)),
        rules=tuple(sorted((_of_rule(rule, ordered) for rule in rules), key=_weakness)),
        verdicts=ordered,
        kinds={
            kind: sum(verdict.run.kind == kind for verdict in ordered)
            for kind in ("broken", "healthy", "benign", "unjudged")
        },
    )


def file_of(source: str) -> str:
    """The file of a rule's `file:line`."""
    return source.rpartition(":")[0] or source


def _of_file(file: str, verdicts: Sequence[Verdict]) -> Tally:
    return _tally(file, verdicts, of=lambda found: file_of(found.episode.source) == file)


def _of_label(label: str, verdicts: Sequence[Verdict]) -> Tally:
    fitting = labels()[label].fitting
    return _tally(
        label,
        [verdict for verdict in verdicts if label in verdict.run.labels],
        of=lambda found: found.episode.symptom in fitting,
    )


def _of_rule(rule: Rule, verdicts: Sequence[Verdict]) -> Tally:
    return _tally(
        rule.name,
        verdicts,
        of=lambda found: found.episode.alert == rule.name,
        wanted=lambda verdict: rule.symptom in verdict.run.fitting,
        symptom=rule.symptom,
        source=rule.source,
    )


def _tally(
    name: str,
    verdicts: Sequence[Verdict],
    *,
    of: Callable[[Finding], bool] = lambda found: True,
    wanted: Callable[[Verdict], bool] = lambda verdict: True,
    symptom: str = "",
    source: str = "",
) -> Tally:
    """Add up what the findings say that `of` selects; `wanted`: the broken runs that these should detect."""
    outcomes: dict[Outcome, list[str]] = {"detected": [], "late": [], "early": [], "missed": []}
    steps: list[int] = []
    rows: list[int] = []
    counts = dict.fromkeys(("false", "early", "benign", "other"), 0)
    alarmed = 0
    for verdict in verdicts:
        own = [found for found in verdict.findings if of(found)]
        for found in own:
            if found.sort in counts:
                counts[found.sort] += 1
        alarmed += any(found.sort == "false" for found in own)
        if verdict.run.kind != "broken" or not wanted(verdict):
            continue
        outcomes[outcome_of(own)].append(verdict.run.file)
        delays = [(found.delay_rows or 0, found.delay_steps or 0) for found in own if found.sort == "detected"]
        if delays:
            rows.append(min(delays)[0])
            steps.append(min(delays)[1])
    return Tally(
        name=name,
        broken=sum(map(len, outcomes.values())),
        detected=len(outcomes["detected"]),
        late=len(outcomes["late"]),
        early=len(outcomes["early"]),
        missed=tuple(sorted(outcomes["missed"])),
        steps=delays_of(steps),
        rows=delays_of(rows),
        false_alarms=counts["false"],
        alarmed=alarmed,
        early_alarms=counts["early"],
        benign_alarms=counts["benign"],
        other_alarms=counts["other"],
        healthy_steps=sum(verdict.healthy_steps for verdict in verdicts),
        healthy_rows=sum(verdict.healthy_rows for verdict in verdicts),
        symptom=symptom,
        source=source,
    )


def _weakness(tally: Tally) -> tuple[float, float, int, str]:
    """Worst first: many false alarms, then much that was missed."""
    alarms = tally.false_alarms + tally.early_alarms
    return (-alarms, tally.share if tally.share is not None else 2.0, -tally.broken, tally.name)


_ORDER: tuple[Outcome, ...] = ("missed", "late", "early", "alarmed", "detected", "silent", "unjudged")


def _badness(verdict: Verdict) -> tuple[int, int, int, str]:
    """Worst first: what was missed, then false alarms, then long delays."""
    first = verdict.first
    delay = 0 if first is None or first.delay_rows is None else first.delay_rows
    benign = verdict.run.kind == "benign"
    return (_ORDER.index(verdict.outcome) + 10 * benign, -len(verdict.false_alarms), -delay, verdict.run.file)
