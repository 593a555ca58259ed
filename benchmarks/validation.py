"""Validation: how long it takes to read and check many rules."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

from benchmarks.report import Figure
from benchmarks.stopwatch import calibrate
from benchmarks.workload import rules
from sentinel.rules.expression.parse import forget
from sentinel.rules.loader import read_rules


def validated(count: int, rounds: int) -> list[Figure]:
    """CPU seconds to read and check `count` rules, the same in turns of the plain loop, and the whole command."""
    text = rule_file(count)
    spent, turns = [], []
    read_rules([("warm.yaml", text)])
    for _ in range(rounds):
        loop = calibrate()
        forget()
        began = process_time()
        reading = read_rules([("many.yaml", text)])
        spent.append(process_time() - began)
        turns.append(spent[-1] / loop)
    assert len(reading.rules) == count and not reading.errors, reading.errors[:3]
    with TemporaryDirectory(prefix="sentinel-bench-") as folder:
        path = Path(folder) / "many.yaml"
        path.write_text(text)
        whole = []
        for _ in range(rounds):
            before = _children()
            subprocess.run(
                [sys.executable, "-m", "sentinel", "rules", "validate", str(path)], capture_output=True, check=True
            )
            whole.append(_children() - before)
    return [
        Figure(f"{count} rules: read and check", median(spent), "s", min(spent), max(spent)),
        Figure(f"{count} rules: in millions of turns of the loop", median(turns), "turns", min(turns), max(turns)),
        Figure(
            f"{count} rules: sentinel rules validate, the whole process", median(whole), "s", min(whole), max(whole)
        ),
    ]


def _children() -> float:
    """CPU seconds of the processes that this one has waited for."""
    times = os.times()
    return times.children_user + times.children_system


def rule_file(count: int) -> str:
    """The thirty rules of the load, again and again under other names and with other windows."""
    lines = ["rules:"]
    for at, rule in enumerate(islice(cycle(rules(100)), count)):
        lines.append(f"  - alert: rule-{at}\n    symptom: {rule.symptom}")
        for severity, condition in rule.conditions:
            text = str(condition).replace("100 steps", f"{20 + at // 30} steps")
            lines.append(f'    {severity}: "{text}"')
        lines.append('    for: 3 steps\n    summary: "{value:.3g} is beyond {threshold:.3g}"')
        lines.append("    runbook: {causes: [a step too large], look_at: [entropy], do: [lower the learning rate]}")
    return "\n".join(lines) + "\n"
