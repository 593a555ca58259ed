"""Recorded runs, read from files to compare others with."""

import json

import pytest

from sentinel.errors import UsageError
from sentinel.metrics import default
from sentinel.service.references import read_references


def written(folder, name, *rows):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_a_file_is_named_by_its_stem_and_read_as_a_replay_reads_it(tmp_path):
    rows = [{"step": step, "kl": 0.1 * step, "reward": 0.5} for step in (1, 2)]
    found = read_references([written(tmp_path, "good.jsonl", *rows)], default())
    assert list(found) == ["good"]
    assert found["good"].at("kl.ref", 2) == pytest.approx(0.2)


def test_the_framework_can_be_said(tmp_path):
    path = written(tmp_path, "good.jsonl", {"step": 1, "actor/kl_loss": 0.1})
    assert set(read_references([path], default(), framework="verl")["good"].series) == {"kl.ref"}


def test_what_cannot_be_a_reference_is_told_with_its_file(tmp_path):
    empty = written(tmp_path, "empty.jsonl", {"type": "run_started", "run": "a"})
    two = written(tmp_path, "two.jsonl", *({"type": "step", "run": run, "step": 1, "metrics": {}} for run in "ab"))
    nonsense = tmp_path / "nonsense.jsonl"
    nonsense.write_text("not json\n")
    good = written(tmp_path, "good.jsonl", {"step": 1, "kl": 0.1})
    again = written(tmp_path / "other", "good.jsonl", {"step": 1, "kl": 0.1})
    for paths, message in (
        ([tmp_path / "missing.jsonl"], "there is no reference file .*missing.jsonl"),
        ([tmp_path], "there is no reference file"),
        ([empty], "empty.jsonl cannot be a reference: it holds no step"),
        ([nonsense], "nonsense.jsonl cannot be a reference: it holds no step: .*:1: not JSON"),
        ([two], "two.jsonl cannot be a reference: it holds several runs, a and b"),
        ([good, again], "two reference runs are named 'good': .* Rename one"),
    ):
        with pytest.raises(UsageError, match=message):
            read_references(paths, default())
