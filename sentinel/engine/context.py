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
    "max_steps",  # TRL, ms-swift, unsloth (transformers' TrainingArguments; -1: the epochs decide); prime-rl
    "trainer.total_training_steps",  # verl: overrides the steps that its epochs make; null unless set
    "total_training_steps",  # the same, from verl's trainer section alone
    "trainer.max_steps",  # EasyR1 (overrides its episodes), prime-rl
    "orchestrator.max_steps",  # prime-rl
    "grpo.max_num_steps",  # NeMo-RL
    "max_num_steps",  # the same, from NeMo-RL's grpo section alone
    "num_training_steps",  # open-instruct: worked out from total_episodes when the run begins
    "num_rollout",  # slime: rollout steps; worked out from the data set when it is not given
)
"""Where trainers configure how many steps a run is to have. OpenRLHF and SkyRL count episodes and epochs, of which the
steps do not follow."""

UNPLANNED = 1_000_000
"""From here on a number of steps is no plan: NeMo-RL's examples set it where the epochs are to decide."""


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
            value = next((x for x in steps if 0.0 < x < UNPLANNED), math.nan)
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
