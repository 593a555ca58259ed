"""Streaming statistics: the functions of the rule language, one a file, over shared windows.

A new function is a file that looks like the others and its line in `FUNCTIONS`.
"""

from sentinel.stats.abs import Abs
from sentinel.stats.absent import Absent
from sentinel.stats.age import Age
from sentinel.stats.baseline import Baseline
from sentinel.stats.best import Best
from sentinel.stats.change import Change
from sentinel.stats.count import Count
from sentinel.stats.delta import Delta
from sentinel.stats.drop import Drop
from sentinel.stats.ewma import Ewma
from sentinel.stats.falling import Falling
from sentinel.stats.firing import Firing
from sentinel.stats.first import First
from sentinel.stats.flat import Flat
from sentinel.stats.function import Function, Pointwise, Probe, Result, RunningFunction, Standing, WindowFunction
from sentinel.stats.held import Held
from sentinel.stats.initial import Initial
from sentinel.stats.last import Last
from sentinel.stats.max import Max
from sentinel.stats.mean import Mean
from sentinel.stats.median import Median
from sentinel.stats.min import Min
from sentinel.stats.nonfinite import Nonfinite
from sentinel.stats.pending import Pending
from sentinel.stats.quantile import Quantile
from sentinel.stats.reference import Reference
from sentinel.stats.rise import Rise
from sentinel.stats.rising import Rising
from sentinel.stats.seen import Seen
from sentinel.stats.share import Share
from sentinel.stats.slope import Slope
from sentinel.stats.spikes import Spikes
from sentinel.stats.std import Std
from sentinel.stats.sum import Sum
from sentinel.stats.worst import Worst
from sentinel.stats.zscore import Zscore

FUNCTIONS: dict[str, type[Function]] = {
    function.name: function
    for function in (
        Abs,
        Absent,
        Age,
        Baseline,
        Best,
        Change,
        Count,
        Delta,
        Drop,
        Ewma,
        Falling,
        Firing,
        First,
        Flat,
        Held,
        Initial,
        Last,
        Max,
        Mean,
        Median,
        Min,
        Nonfinite,
        Pending,
        Quantile,
        Reference,
        Rise,
        Rising,
        Seen,
        Share,
        Slope,
        Spikes,
        Std,
        Sum,
        Worst,
        Zscore,
    )
}

__all__ = [
    "FUNCTIONS",
    "Function",
    "Nonfinite",
    "Pointwise",
    "Probe",
    "Reference",
    "Result",
    "RunningFunction",
    "Standing",
    "WindowFunction",
]
