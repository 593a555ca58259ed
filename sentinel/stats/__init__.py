"""Streaming statistics: the functions of the rule language, one a file, over shared windows.

A new function is a file that looks like the others and its line in `FUNCTIONS`.
"""

from sentinel.stats.absent import Absent
from sentinel.stats.age import Age
from sentinel.stats.best import Best
from sentinel.stats.change import Change
from sentinel.stats.delta import Delta
from sentinel.stats.drop import Drop
from sentinel.stats.function import Function, Probe, Result, RunningFunction, WindowFunction
from sentinel.stats.initial import Initial
from sentinel.stats.max import Max
from sentinel.stats.mean import Mean
from sentinel.stats.median import Median
from sentinel.stats.min import Min
from sentinel.stats.nonfinite import Nonfinite
from sentinel.stats.rise import Rise
from sentinel.stats.std import Std

FUNCTIONS: dict[str, type[Function]] = {
    function.name: function
    for function in (
        Absent,
        Age,
        Best,
        Change,
        Delta,
        Drop,
        Initial,
        Max,
        Mean,
        Median,
        Min,
        Nonfinite,
        Rise,
        Std,
    )
}

__all__ = ["FUNCTIONS", "Function", "Nonfinite", "Probe", "Result", "RunningFunction", "WindowFunction"]
