"""The checks, one a file. A new one is a file that looks like the others, a line here and in `codes.tsv`, a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sentinel.rules.lint.checks.always_fires import always_fires
from sentinel.rules.lint.checks.duplicate_condition import duplicate_condition
from sentinel.rules.lint.checks.fixed_threshold import fixed_threshold
from sentinel.rules.lint.checks.float_equality import float_equality
from sentinel.rules.lint.checks.for_outlasts_window import for_outlasts_window
from sentinel.rules.lint.checks.likely_typo import likely_typo
from sentinel.rules.lint.checks.long_after import long_after
from sentinel.rules.lint.checks.may_divide_by_zero import may_divide_by_zero
from sentinel.rules.lint.checks.never_fires import never_fires
from sentinel.rules.lint.checks.never_known import never_known
from sentinel.rules.lint.checks.never_sent import never_sent
from sentinel.rules.lint.checks.no_hysteresis import no_hysteresis
from sentinel.rules.lint.checks.no_runbook import no_runbook
from sentinel.rules.lint.checks.no_test import no_test
from sentinel.rules.lint.checks.one_sided_kl import one_sided_kl
from sentinel.rules.lint.checks.percent_twice import percent_twice
from sentinel.rules.lint.checks.raw_best import raw_best
from sentinel.rules.lint.checks.redundant_part import redundant_part
from sentinel.rules.lint.checks.resolves_itself import resolves_itself
from sentinel.rules.lint.checks.sent_by_none import sent_by_none
from sentinel.rules.lint.checks.single_spike import single_spike
from sentinel.rules.lint.checks.sparse_window import sparse_window
from sentinel.rules.lint.checks.threshold_order import threshold_order
from sentinel.rules.lint.checks.until_overlaps import until_overlaps
from sentinel.rules.lint.checks.until_unreachable import until_unreachable
from sentinel.rules.lint.checks.valueless_summary import valueless_summary
from sentinel.rules.lint.checks.waits_twice import waits_twice
from sentinel.rules.lint.checks.wall_clock_window import wall_clock_window
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject

RULE_CHECKS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    never_fires,
    always_fires,
    never_known,
    never_sent,
    redundant_part,
    threshold_order,
    until_unreachable,
    until_overlaps,
    for_outlasts_window,
    single_spike,
    float_equality,
    no_runbook,
    no_test,
    waits_twice,
    sparse_window,
    wall_clock_window,
    fixed_threshold,
    sent_by_none,
    long_after,
    valueless_summary,
    percent_twice,
    likely_typo,
    may_divide_by_zero,
    one_sided_kl,
    no_hysteresis,
    resolves_itself,
    raw_best,
)

SET_CHECKS: tuple[Callable[[Sequence[Subject]], Iterator[tuple[Subject, Finding]]], ...] = (duplicate_condition,)

__all__ = ["RULE_CHECKS", "SET_CHECKS"]
