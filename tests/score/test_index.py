"""An index is read, or every fault in it is said with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.score.index import MAX_PROBLEMS, Labelled, read_index
from tests.scenarios.recordings import DATA


def read(text: str) -> tuple[Labelled, ...]:
    reading = read_index(text, "INDEX.tsv")
    assert not reading.problems
    return reading.runs


def test_a_row_is_a_file_its_labels_and_the_onset():
    (run,) = read("file\tlabels\tonset\na.jsonl\tnan;grad_spike\t12\n")
    assert (run.file, run.kind, run.labels, run.onset, run.deadline) == (
        "a.jsonl",
        "broken",
        ("nan", "grad_spike"),
        12,
        None,
    )
    assert run.fitting == {"nonfinite": "warning", "grad-spike": "warning", "grad-divergence": "warning"}
    assert run.place == "INDEX.tsv:2"


@pytest.mark.parametrize(
    ("given_labels", "kind"),
    [
        ("healthy", "healthy"),
        ("healthy;length_collapse", "benign"),
        ("healthy;other", "benign"),
        ("unclear", "unjudged"),
        ("other", "unjudged"),
        ("unclear;nan", "unjudged"),
        ("nan;other", "broken"),
        ("kl-high", "broken"),
    ],
)
def test_labels_say_what_is_asked_of_a_run(given_labels, kind):
    (run,) = read(f"file\tlabels\tonset_step\na.jsonl\t{given_labels}\t3\n")
    assert run.kind == kind
    assert bool(run.fitting) == (kind == "broken")


def test_kind_accepted_and_least_severity_stand_in_for_labels():
    text = (
        "file\tkind\tonset\tdeadline\taccepted\tleast_severity\n"
        "a.jsonl\tmust-fire\t10\t20\tkl-high kl-spike\tcritical\n"
        "b.jsonl\tmust-stay-silent\t-\t-\t-\twarning\n"
    )
    first, second = read(text)
    assert (first.kind, first.onset, first.deadline) == ("broken", 10, 20)
    assert first.fitting == {"kl-high": "critical", "kl-spike": "critical"}
    assert (second.kind, second.onset) == ("healthy", None)


def test_quotes_comments_blank_lines_windows_ends_and_a_byte_order_mark_do_no_harm():
    text = '\ufefffile\tlabels\treason\r\n# a note\r\n\r\na.jsonl\thealthy\t"odd\tx\r\n'.replace("\tx", "")
    (run,) = read(text)
    assert (run.file, run.kind) == ("a.jsonl", "healthy")


def test_both_collections_of_recordings_can_be_read():
    for name in ("runs/INDEX.tsv", "scenarios/EXPECT.tsv", "score/INDEX.tsv"):
        assert read((DATA / name).read_text())


@pytest.mark.parametrize(
    ("text", "place", "code", "hint"),
    [
        ("", "INDEX.tsv:1:1", "no-index", "names the columns"),
        ("file\tlabels\n", "INDEX.tsv:1:1", "no-rows", "a row is"),
        ("files\tlabels\nx\thealthy\n", "INDEX.tsv:1:1", "no-file-column", "did you mean 'files'?"),
        ("file\tlabel\nx\thealthy\n", "INDEX.tsv:1:1", "no-labels-column", "did you mean 'label'?"),
        ("file\tlabels\tfile\nx\thealthy\n", "INDEX.tsv:1:13", "duplicate-column", "remove one"),
        ("file\tlabels\n\thealthy\n", "INDEX.tsv:2:1", "no-file", "the first cells"),
        ("file\tlabels\nx\tnan;helthy\n", "INDEX.tsv:2:7", "unknown-label", "did you mean 'healthy'?"),
        ("file\tlabels\nx\t\n", "INDEX.tsv:2:3", "no-label", "healthy"),
        ("file\tlabels\tonset\nx\tnan\t\n", "INDEX.tsv:2:7", "no-onset", "1 when it was there"),
        ("file\tlabels\nx\tnan\n", "INDEX.tsv:2:1", "no-onset", "1 when it was there"),
        ("file\tlabels\tonset\nx\tnan\tsoon\n", "INDEX.tsv:2:7", "bad-step", "whole number"),
        ("file\tlabels\tonset\tdeadline\nx\tnan\t9\t7\n", "INDEX.tsv:2:9", "deadline-order", "exchange"),
        ("file\tkind\tonset\nx\tfire\t9\n", "INDEX.tsv:2:3", "unknown-kind", "must-fire or"),
        ("file\tkind\tonset\nx\tmust-fire\t9\n", "INDEX.tsv:2:1", "no-symptom", "fill in"),
        ("file\tkind\taccepted\nx\tmust-fire\tkl-hi\n", "INDEX.tsv:2:13", "unknown-symptom", "kl-high"),
        ("file\tkind\tleast_severity\nx\tmust-stay-silent\tloud\n", "INDEX.tsv:2:20", "unknown-severity", "info"),
        ("file\tlabels\nx\thealthy\nx\tunclear\n", "INDEX.tsv:3:1", "duplicate-file", "first on line 2"),
        ("file\tlabels\nx\thealthy\tmore\n", "INDEX.tsv:2:11", "too-many-cells", "one tab"),
    ],
)
def test_a_fault_is_said_with_its_place_and_a_remedy(text, place, code, hint):
    reading = read_index(text, "INDEX.tsv")
    (problem,) = [found for found in reading.problems if found.code == code]
    assert problem.place == place
    assert hint in problem.hint


def test_all_faults_are_said_at_once_up_to_a_bound():
    reading = read_index("file\tlabels\n" + "x\tnonsense\n" * 500, "INDEX.tsv")
    assert len(reading.problems) == MAX_PROBLEMS


PIECES = st.sampled_from(["file", "labels", "onset", "\t", "\n", "nan", "healthy", "x", ";", "-", "7"])


@given(st.text() | st.lists(PIECES).map("".join) | st.lists(PIECES).map(lambda rest: "file\tlabels\n" + "".join(rest)))
def test_any_text_gives_runs_or_problems_and_never_an_exception(text):
    reading = read_index(text, "INDEX.tsv")
    assert reading.runs or reading.problems
