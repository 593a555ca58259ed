"""What a live run sends, for `sentinel metrics --run`: read as `sentinel explain` reads it."""

from __future__ import annotations

from pathlib import Path

from sentinel.cli.explain import see
from sentinel.cli.metrics import Report, read_keys
from sentinel.explain.trial import usual_row
from sentinel.metrics import Dictionary


def survey_live(
    run: str,
    rule_paths: tuple[str, ...],
    reference_paths: tuple[Path, ...],
    config: Path | None,
    url: str | None,
    dictionary: Dictionary,
) -> Report:
    """The keys of the run and what they are. How often each came is not remembered, so `rows` holds zeros.

    Raises UsageError for a run that nobody has heard of, and BusUnavailable.
    """
    sight, rules, _ = see(run, None, None, None, None, rule_paths, reference_paths, config, url)
    state = sight.run
    assert state is not None
    report = Report(state.id, version=state.version, config=dict(state.config), rules=len(rules))
    newest = usual_row(state)
    for key in state.names:
        report.rows[key] = 0
        report.last[key] = newest.get(key)
    # A framework that was guessed is not told as one that the run named.
    guess = dictionary.identify(key.partition("{")[0] for key in state.names).framework
    report.framework = state.framework if state.version is not None or state.framework != guess else None
    report.not_evaluable = {found.rule: list(found.missing) for found in sight.engine.not_evaluable(state.id)}
    read_keys(report, dictionary)
    return report
