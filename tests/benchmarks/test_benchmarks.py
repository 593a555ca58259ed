"""The benchmarks run, and print the figures that they promise. How large these are is not judged here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.marginal import KINDS
from benchmarks.workload import METRICS, Workload, entry_id, rules
from sentinel.decode import decode, entry_time
from sentinel.engine.engine import Engine

ROOT = Path(__file__).parents[2]


@pytest.mark.process
def test_a_quick_run_prints_and_saves_every_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    main(["--quick", "--json", str(tmp_path / "figures.json")])
    saved = json.loads((tmp_path / "figures.json").read_text())
    names = {figure["name"] for figure in saved["figures"]}
    printed = capsys.readouterr().out
    assert all(name in printed for name in names)
    for promised in (
        "calibration",
        "10 runs, windows of 100: floor (read, decode)",
        "10 runs, windows of 100: rules alone",
        "10 runs, windows of 100: whole / floor",
        "20 runs, windows of 100: whole / floor",
        "10 runs, windows of 1,000: whole in turns of the loop",
        "XADD to the Slack request: median",
        "one run of 30 metrics, windows of 100: allocated",
        "replay of 1,000 steps through 30 rules",
        "replay through the pack grpo / floor",
        "60 rules: read and check",
        "a threshold: one more rule / floor",
        "from sentinel import Publisher",
        "sentinel --version, the whole process",
    ):
        assert promised in names
    # What one more rule costs is a difference, which a busy machine can turn round in a single short round.
    differences = tuple(name for name, _ in KINDS)
    assert all(figure["value"] > 0 for figure in saved["figures"] if not figure["name"].startswith(differences))


def test_the_load_is_thirty_metrics_and_thirty_rules_that_can_all_be_evaluated_and_stay_silent() -> None:
    assert len(METRICS) == 30
    assert len(rules()) == 30
    engine, load = Engine(rules()), Workload()
    for step in range(250):
        entry = entry_id(0, step)
        event = decode({b"event": load.event(0, step)}, position=entry, time=entry_time(entry)).event
        assert not engine.handle(event)
    assert engine.not_evaluable("run-0") == ()
