"""What other languages call our functions: for people who come with `avg` and `stddev` in their fingers."""

from __future__ import annotations

from collections.abc import Collection

from sentinel.stats import FUNCTIONS
from sentinel.suggestion import closest

ELSEWHERE = {
    "avg": "mean",
    "average": "mean",
    "sma": "mean",
    "moving_average": "mean",
    "rolling_mean": "mean",
    "maximum": "max",
    "minimum": "min",
    "stddev": "std",
    "stdev": "std",
    "sd": "std",
    "percentile": "quantile",
    "ema": "ewma",
    "ewm": "ewma",
    "diff": "delta",
    "pct_change": "change",
    "increase": "rise",
    "decrease": "drop",
    "rate": "slope",
    "deriv": "slope",
    "trend": "slope",
    "increasing": "rising",
    "decreasing": "falling",
    "isnan": "nonfinite",
    "isinf": "nonfinite",
    "nan": "nonfinite",
    "missing": "absent",
    "stale": "age",
}
"""Names in Prometheus, pandas and SQL, in lower case, and the nearest function of ours."""


def meant_function(name: str) -> str:
    """The remedy for a function that there is not: how the one that is meant is written, or else what there is.

    >>> meant_function("avg_over_time")
    'write mean(x, window)'
    """
    plain = name.lower().removesuffix("_over_time")
    meant = ELSEWHERE.get(plain, plain)
    if meant in FUNCTIONS:
        return f"write {FUNCTIONS[meant].signature}"
    return closest(name, FUNCTIONS) or f"functions: {', '.join(sorted(FUNCTIONS))}"


def meant_metric(name: str, known: Collection[str]) -> str:
    """The remedy for a name that is a function and a metric in one word, or a truth; empty for any other.

    >>> meant_metric("initial_entropy", {"entropy"})
    'write initial(entropy)'
    """
    if name.lower() in ("true", "false", "yes", "no", "always", "never"):
        return "a condition asks something of a metric: kl.ref > 0.5"
    for given in FUNCTIONS | ELSEWHERE:
        for rest in (name.removeprefix(f"{given}_"), name.removesuffix(f"_{given}"), name.removesuffix(f".{given}")):
            if rest != name and rest in known:
                function = FUNCTIONS[ELSEWHERE.get(given, given)]
                return f"write {function.signature.replace('x', rest, 1)}"
    return ""
