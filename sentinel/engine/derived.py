"""Metrics that a run does not log and that can be calculated from what it logs.

They enter an event beside the logged ones, under keys that no trainer can write, and are series like others from there
on. Only those are calculated that some rule in force names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sentinel.engine.bind import Labels, SeriesName, name_series
from sentinel.events import MetricValue
from sentinel.metrics import Derivation, Dictionary
from sentinel.rules.expression.nodes import metrics_of
from sentinel.rules.model import RuleSet

MARK = "\0"
"""What the key of a derived series begins with; a logged key is printable."""


@dataclass(frozen=True, slots=True)
class DerivedSeries:
    """One derived series of a run. `needs`: (canonical name, key) of each that it is calculated from."""

    series: SeriesName
    derivation: Derivation
    needs: tuple[tuple[str, str], ...]


def derived_series(
    series: Sequence[SeriesName], wanted: frozenset[str], dictionary: Dictionary
) -> tuple[DerivedSeries, ...]:
    """What must be derived of `wanted` canonical names for a run that logs `series`, each after what it needs.

    The parts of a metric have the same labels, which are then its own: a GPU's share of used memory is made of that
    GPU's bytes.
    """
    if not wanted:
        return ()
    by_labels: dict[Labels, dict[str, str]] = {}
    for one in series:
        by_labels.setdefault(one.labels, {}).setdefault(one.name, one.raw)
    return tuple(found for labels, keys in by_labels.items() for found in _derived(labels, keys, wanted, dictionary))


def _derived(
    labels: Labels, keys: dict[str, str], wanted: frozenset[str], dictionary: Dictionary
) -> Iterable[DerivedSeries]:
    possible = dictionary.derivations(keys)
    needed = set(wanted)
    for derivation in reversed(possible):
        if derivation.name in needed:
            needed.update(derivation.needs)
    for derivation in possible:
        if derivation.name in needed:
            bare = SeriesName(derivation.name, labels, "")
            found = name_series(derivation.name, labels, MARK + bare.full, derived=True)
            keys[derivation.name] = found.raw
            yield DerivedSeries(found, derivation, tuple((need, keys[need]) for need in derivation.needs))


def names_wanted(rules: RuleSet) -> frozenset[str]:
    """The metrics that rules call by one canonical name. `*` stands for what is logged."""
    variants = (variant for rule in rules for variant in rule.variants)
    expressions = (expression for variant in variants for expression in variant.expressions())
    metrics = (metric for expression in expressions for metric in metrics_of(expression))
    return frozenset(metric.name for metric in metrics if not metric.raw and not metric.wild)


def name_of(key: str) -> str:
    """The full name of the derived series under `key`; empty for a logged key."""
    return key[len(MARK) :] if key.startswith(MARK) else ""


def with_derived(
    row: Mapping[str, MetricValue], earlier: Mapping[str, MetricValue], derived: Sequence[DerivedSeries]
) -> Mapping[str, MetricValue]:
    """A row with what can be calculated from it; the very same row when that is nothing.

    `earlier`: what other rows of the same step had; what these alone gave is not given again. Of what is no number
    comes NaN, of a null a null, and of a division by zero nothing.
    """
    whole = {**earlier, **row} if earlier else dict(row)
    new = set(row) if earlier else set()
    for one in derived:
        values: dict[str, MetricValue] = {}
        for name, key in one.needs:
            if key not in whole:
                break
            values[name] = whole[key]
        else:
            value: MetricValue = one.derivation.compute(values)
            if value is None and None not in values.values():
                if all(map(_is_number, values.values())):
                    continue
                value = math.nan
            whole[one.series.raw] = value
            if earlier and any(key in new for _, key in one.needs):
                new.add(one.series.raw)
    if not earlier:
        return whole if len(whole) > len(row) else row
    return {key: value for key, value in whole.items() if key in new} if len(new) > len(row) else row


def _is_number(value: MetricValue) -> bool:
    return value is not None and math.isfinite(value)
