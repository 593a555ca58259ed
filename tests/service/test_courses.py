"""Recordings are played in order, by one process or by several, with the same result."""

from pathlib import Path

import pytest

from sentinel.errors import RuleError, UsageError
from sentinel.resources import read_sources
from sentinel.service.courses import Job, courses

DATA = Path(__file__).parents[1] / "data" / "score"
FILES = sorted(DATA.glob("*.jsonl"))


def jobs(rules: int = 1) -> list[Job]:
    return [Job(path, path.name, number) for path in FILES for number in range(rules)]


def sources(*names: str) -> list[list[tuple[str, bytes]]]:
    return [read_sources([DATA / name]) for name in names]


def test_courses_come_in_the_order_of_the_files_and_hold_what_fired() -> None:
    found = list(courses(jobs(), sources("old.yaml"), processes=1))
    assert [course.file for course in found] == [path.name for path in FILES]
    fired = {course.file: [(one.alert, one.step) for one in course.episodes] for course in found}
    assert fired["jump.jsonl"] == [("kl-high", 12)]
    assert fired["nan.jsonl"] == [("nonfinite", 15)]
    assert fired["quiet.jsonl"] == []
    assert all(len(course.steps) == 20 and course.rejected == 0 for course in found)


def test_several_processes_and_several_sets_of_rules_give_the_same() -> None:
    both = sources("old.yaml", "new.yaml")
    alone = list(courses(jobs(2), both, processes=1))
    assert list(courses(jobs(2), both, processes=2)) == alone
    assert alone[::2] == list(courses(jobs(), both[:1]))


def test_rules_that_miss_their_metrics_are_named() -> None:
    (course,) = courses(
        [Job(FILES[0], "x")],
        [[("r.yaml", b"rules:\n  - {alert: gpu-idle, symptom: gpu-idle, warning: gpu.util < 30}\n")]],
    )
    assert course.not_evaluable == ("gpu-idle",)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_recording_that_cannot_be_read_and_bad_rules_are_errors_in_any_process(
    processes: int, tmp_path: Path
) -> None:
    gone = [Job(FILES[0], "a"), Job(tmp_path / "gone.jsonl", "b")]
    with pytest.raises(UsageError, match="cannot read"):
        list(courses(gone, sources("old.yaml"), processes=processes))
    with pytest.raises(RuleError):
        list(courses(jobs(), [[("bad.yaml", b"rules: 3\n")]], processes=processes))


def test_what_is_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text("".join(f'{{"step": {step}, "kl": 0.1, "note": "{"x" * 90}"}}\n' for step in range(6000)))
    told: list[int] = []
    list(courses([Job(path, "long")], sources("old.yaml"), on_read=told.append))
    assert len(told) >= 2
    assert 250_000 * len(told) <= sum(told) <= path.stat().st_size
