"""What trainers call their numbers, and what the numbers are."""

from sentinel.metrics.derivation import Derivation
from sentinel.metrics.dictionary import Dictionary, Reading, default
from sentinel.metrics.identity import Identity
from sentinel.metrics.metric import MetricInfo
from sentinel.metrics.versions import Versions

__all__ = ["Derivation", "Dictionary", "Identity", "MetricInfo", "Reading", "Versions", "default"]
