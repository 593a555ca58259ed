"""Why a rule can say nothing of a run, as a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from sentinel.engine.context import PHASE
from sentinel.engine.evaluable import A_REFERENCE, IN_CONFIGURATION, IN_REFERENCE


def why_not_evaluable(missing: Sequence[str]) -> str:
    """What the run lacks, from the names that the engine gives it (`sentinel.engine.evaluable.NotEvaluable`)."""
    logged, configured, recorded, said = [], [], [], []
    for name in missing:
        if name == PHASE:
            said.append("its phase is not known: that takes a phase event, or the planned steps in its configuration")
        elif name == A_REFERENCE:
            said.append("it has no reference run")
        elif name.endswith(IN_CONFIGURATION):
            configured.append(name.removesuffix(IN_CONFIGURATION))
        elif name.endswith(IN_REFERENCE):
            recorded.append(name.removesuffix(IN_REFERENCE))
        else:
            logged.append(name)
    if recorded:
        said.insert(0, f"its reference run has never logged {', '.join(recorded)}")
    if configured:
        said.insert(0, f"its configuration does not state {', '.join(configured)}")
    if logged:
        said.insert(0, f"the run has never logged {', '.join(logged)}")
    return "; ".join(said)
