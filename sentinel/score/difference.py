"""What a change of rules changes in the alerts of recorded runs.

Episodes of the same alert, with the same labels and in the same attempt, are the same trouble when they overlap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sentinel.score.course import Course, Episode
from sentinel.score.verdict import Finding, Outcome, Verdict

Fate = Literal["added", "removed", "moved", "kept"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One episode before and after; `before` is None for one that was added, `after` for one that was removed.

    moved: it fires, rises or ends elsewhere, or its severity or onset is another.

    Of labelled recordings: `was`, `now`: what the two were judged to be; `outcomes`: that of the run, before and after.
    """

    file: str
    fate: Fate
    before: Episode | None
    after: Episode | None
    was: tuple[Finding, ...] = ()
    now: tuple[Finding, ...] = ()
    outcomes: tuple[Outcome, Outcome] | None = None

    @property
    def episode(self) -> Episode:
        """The newer of the two."""
        found = self.after or self.before
        assert found is not None
        return found


def compare_courses(old: Course, new: Course) -> tuple[Difference, ...]:
    """All episodes of one recording under the old rules and the new, in the order of the steps at which they fire."""
    found: list[Difference] = []
    before, after = _by_identity(old.episodes), _by_identity(new.episodes)
    for identity in dict.fromkeys([*before, *after]):
        pairs = _paired(before.get(identity, ()), after.get(identity, ()))
        found += (Difference(new.file, _fate(*pair), *pair) for pair in pairs)
    return tuple(sorted(found, key=lambda each: (each.episode.moments[0].row, each.episode.alert)))


def with_verdicts(found: Iterable[Difference], before: Verdict, after: Verdict) -> tuple[Difference, ...]:
    """The differences of one labelled recording, with what became of them by the old rules and the new."""
    return tuple(
        replace(
            one,
            was=_findings(one.before, before),
            now=_findings(one.after, after),
            outcomes=(before.outcome, after.outcome),
        )
        for one in found
    )


def _findings(episode: Episode | None, verdict: Verdict) -> tuple[Finding, ...]:
    return tuple(found for found in verdict.findings if found.episode == episode)


def _by_identity(episodes: Iterable[Episode]) -> dict[tuple[object, ...], list[Episode]]:
    found: dict[tuple[object, ...], list[Episode]] = {}
    for episode in episodes:
        found.setdefault((episode.run, episode.attempt, episode.alert, episode.labels), []).append(episode)
    return found


def _paired(before: Sequence[Episode], after: Sequence[Episode]) -> Iterable[tuple[Episode | None, Episode | None]]:
    """Pairs in the order of time: those that overlap together, the others alone. Each list is in order of time."""
    left, right = deque(before), deque(after)
    while left and right:
        if _over_before(left[0], right[0]):
            yield left.popleft(), None
        elif _over_before(right[0], left[0]):
            yield None, right.popleft()
        else:
            yield left.popleft(), right.popleft()
    yield from ((episode, None) for episode in left)
    yield from ((None, episode) for episode in right)


def _over_before(first: Episode, second: Episode) -> bool:
    return first.ending is not None and first.ending.row < second.moments[0].row


def _fate(before: Episode | None, after: Episode | None) -> Fate:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    same = (before.moments, before.onset_step, before.ending) == (after.moments, after.onset_step, after.ending)
    return "kept" if same else "moved"
