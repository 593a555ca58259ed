"""Numbers that a run's configuration states, as rules speak of them: `config.beta`, and the planned steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sentinel.rules.expression.nodes import Context, Node, walk

CONFIG = "config."
"""What the names of configured numbers begin with."""

PROGRESS = "progress"

PHASE = "phase"

PHASE_STEP = "phase_step"

MAX_STEPS = (
    "max_steps",
    "total_training_steps",
    "trainer.total_training_steps",
    "trainer.max_steps",
    "grpo.max_num_steps",
    "max_num_steps",
    "max_train_steps",
    "num_training_steps",
    "total_steps",
    "num_rollout",
)
"""Where trainers configure how many steps a run is to have. The first that is above zero counts: -1 means that
something else decides."""


def constants_of(expressions: Iterable[Node]) -> tuple[str, ...]:
    """The names in expressions that a run's configuration answers, each once."""
    names: dict[str, None] = {}
    for expression in expressions:
        for node in walk(expression):
            if isinstance(node, Context) and (node.name == PROGRESS or node.name.startswith(CONFIG)):
                names[node.name] = None
    return tuple(names)


def read_constants(config: Mapping[str, Any], names: Iterable[str]) -> dict[str, float]:
    """The numbers behind `names`; those that the configuration does not state are left out.

    Behind `progress` it is the number of planned steps.
    """
    found: dict[str, float] = {}
    for name in names:
        if name == PROGRESS:
            steps = (configured(config, path) for path in MAX_STEPS)
            value = next((x for x in steps if x > 0.0), math.nan)
        else:
            value = configured(config, name.removeprefix(CONFIG))
        if not math.isnan(value):
            found[name] = value
    return found


def configured(config: Mapping[str, Any], path: str) -> float:
    """The number at a dotted path, through nested objects or under a key with dots; NaN when there is none.

    True is 1 and false is 0. A text is no number, whatever it reads like.
    """
    value = _find(config, path.split("."))
    if isinstance(value, bool | int | float) and abs(value) < 1e100:
        return float(value)
    return math.nan


def _find(node: Mapping[str, Any], parts: Sequence[str]) -> Any:
    for end in range(len(parts), 0, -1):
        value = node.get(".".join(parts[:end]))
        if end < len(parts):
            value = _find(value, parts[end:]) if isinstance(value, Mapping) else None
        if value is not None:
            return value
    return None
