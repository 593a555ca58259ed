"""Running parts of windows. Several statistics over one window share them: `max` and `drop` one maximum."""

from sentinel.stats.parts.line import Line
from sentinel.stats.parts.maximum import Maximum
from sentinel.stats.parts.minimum import Minimum
from sentinel.stats.parts.moments import Moments
from sentinel.stats.parts.order import Order
from sentinel.stats.parts.part import Part, PlacedPart
from sentinel.stats.parts.total import Total

__all__ = ["Line", "Maximum", "Minimum", "Moments", "Order", "Part", "PlacedPart", "Total"]
