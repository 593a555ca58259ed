"""A canonical metric: one kind of number, under the name that rules use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from sentinel.metrics.placeholders import pattern
from sentinel.metrics.table import read_table

Better = Literal["higher", "lower", "-"]

LAYERS = ("objective", "constraint", "diagnostic", "infra", "timing")
STAGES = ("sampling", "reward", "advantage", "update", "-")
AGGREGATIONS = ("token-mean", "sequence-mean", "group", "batch", "last", "-")
COLUMNS = ("name", "definition", "unit", "range", "layer", "stage", "better", "bad", "aggregation")


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """One canonical metric; `-` stands for none in each text.

    - `name` may hold `<name>`, a free part: `reward.component.<name>`.
    - `unit`: `nats/token`, `fraction` (0 to 1), `percent` (0 to 100), `tokens`, `s`...
    - `range`: the values that make sense, in words: `0..1`, `>=0`, `any`.
    - `layer`: what it is for: objective, constraint, diagnostic, infra, timing.
    - `stage`: the part of a step it speaks of: sampling, reward, advantage, update.
    - `better`: the direction that rules of change take for good. `bad`: which way is bad, in words.
    - `aggregation`: how most trainers make one number of many; the key's own row may differ.
    """

    name: str
    definition: str
    unit: str
    range: str
    layer: str
    stage: str
    better: Better
    bad: str
    aggregation: str

    @property
    def free(self) -> bool:
        """Whether the name has free parts."""
        return "<" in self.name

    def matches(self, name: str) -> bool:
        """Whether `name` is this metric with its free parts filled."""
        head, _, rest = self.name.partition("<")
        if not name.startswith(head) or not name.endswith(rest.rpartition(">")[2]):
            return False
        return pattern(self.name, FREE).fullmatch(name) is not None


FREE = r"[A-Za-z0-9_.@*]+"
"""What may stand in the free part of a canonical name."""


def read_metrics() -> dict[str, MetricInfo]:
    """The shipped canonical metrics by name, in the table's order."""
    metrics = {}
    for name, definition, unit, range_, layer, stage, better, bad, aggregation in read_table("canonical.tsv", COLUMNS):
        direction = cast(Better, better)
        metrics[name] = MetricInfo(name, definition, unit, range_, layer, stage, direction, bad, aggregation)
    return metrics
