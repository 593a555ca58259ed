"""What a change of rules changes in the alerts of a run."""

from hypothesis import given
from hypothesis import strategies as st

from sentinel.score.difference import compare_courses
from tests.score.course_builder import course, episode

STEPS = range(101)


def kl(*fired, **more):
    return episode("kl-high", *fired, steps=STEPS, **more)


def fates(before, after):
    found = compare_courses(course(STEPS, *before), course(STEPS, *after))
    return [(each.fate, each.episode.step) for each in found]


def test_the_same_episode_is_kept():
    assert fates([kl(("warning", 10), ended=20)], [kl(("warning", 10), ended=20)]) == [("kept", 10)]


def test_an_episode_of_one_side_alone_is_added_or_removed():
    drop = episode("reward-drop", ("critical", 30), steps=STEPS)
    assert fates([kl(("warning", 10))], [drop]) == [("removed", 10), ("added", 30)]


def test_what_overlaps_has_moved_when_a_step_a_severity_the_onset_or_the_end_is_another():
    old = kl(("warning", 10), ended=20)
    for new in (
        kl(("warning", 12), ended=20, onset=10),
        kl(("warning", 10), ("critical", 15), ended=20),
        kl(("critical", 10), ended=20),
        kl(("warning", 10), ended=20, onset=8),
        kl(("warning", 10), ended=22),
        kl(("warning", 10)),
    ):
        assert [fate for fate, _ in fates([old], [new])] == ["moved"]


def test_what_does_not_overlap_is_other_trouble():
    assert fates([kl(("warning", 10), ended=20)], [kl(("warning", 21))]) == [("removed", 10), ("added", 21)]


def test_an_episode_added_in_the_middle_moves_no_other():
    old = [kl(("warning", 10), ended=20), kl(("warning", 60))]
    new = [old[0], kl(("warning", 30), ended=40), old[1]]
    assert fates(old, new) == [("kept", 10), ("added", 30), ("kept", 60)]


def _episodes(pairs):
    """Episodes one after the other, from the gaps and lengths between them."""
    found, at = [], 0
    for gap, length in pairs:
        start = at + gap
        if start + length > 100:
            break
        found.append(kl(("warning", start), ended=start + length))
        at = start + length + 1
    return found


several = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=6).map(_episodes)


@given(several, several)
def test_every_episode_of_both_sides_is_told_once_and_the_other_way_round_is_the_mirror_image(before, after):
    found = compare_courses(course(STEPS, *before), course(STEPS, *after))
    assert [each.before for each in found if each.before] == before
    assert [each.after for each in found if each.after] == after
    mirror = {"added": "removed", "removed": "added", "moved": "moved", "kept": "kept"}
    back = compare_courses(course(STEPS, *after), course(STEPS, *before))
    assert sorted(each.fate for each in back) == sorted(mirror[each.fate] for each in found)
