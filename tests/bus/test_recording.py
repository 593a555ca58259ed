from pathlib import Path

import pytest

from sentinel.bus.recording import read_recording, run_of
from sentinel.errors import DecodeError, UsageError
from sentinel.events import Checkpoint, StepMetrics


def test_rows_and_events_come_in_order_and_bad_lines_do_not_stop_them(tmp_path):
    path = tmp_path / "grpo-7b.jsonl"
    path.write_text(
        '{"step": 1, "kl": 0.1}\n\ngarbage\n{"v":1,"type":"checkpoint","step":1,"path":"out/1"}\n{"step": 2, "kl": 0.2'
    )
    step, bad, checkpoint, cut = read_recording(path)
    assert step.event == StepMetrics(run="grpo-7b", step=1, metrics={"kl": 0.1}, position="grpo-7b.jsonl:1")
    assert checkpoint.event == Checkpoint(run="grpo-7b", step=1, path="out/1", position="grpo-7b.jsonl:4")
    assert isinstance(bad, DecodeError)
    assert (bad.reason, str(bad).startswith(f"{path}:3: ")) == ("bad-json", True)
    assert isinstance(cut, DecodeError)
    assert f"{path}:5" in str(cut)


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_a_usage_error(tmp_path, name):
    with pytest.raises(UsageError, match="cannot read"):
        list(read_recording(tmp_path / name))


def test_the_run_of_a_file_is_its_stem_made_printable():
    assert run_of(Path("a/grpo-7b.jsonl")) == "grpo-7b"
    assert run_of(Path("a/x\ny.jsonl")) == "x_y"
    assert len(run_of(Path("x" * 250))) == 200
