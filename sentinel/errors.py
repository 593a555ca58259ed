"""Every error that sentinel raises, and who must act on it.

SentinelError
├── DecodeError            a stream entry cannot be understood: whoever publishes
├── RuleError              a rule file is wrong: whoever wrote it (carries all problems at once)
├── ConfigError            the daemon's configuration is wrong: the operator (exit 78)
├── UsageError             a command was called wrongly or its input cannot be read (exit 2)
│   └── InputError         a file given to a command is wrong: whoever wrote it (carries all problems at once)
├── SnapshotError          saved state cannot be used: nobody, the daemon starts cold and says so
├── BusUnavailable         Redis cannot be reached or refuses: the operator (exit 75 at start)
└── DeliveryError          a receiver did not take a message
    ├── DeliveryRetry      try again later (rate limit, server error, ambiguous loss)
    └── DeliveryRefused    trying again changes nothing (token, channel, payload)
"""

from __future__ import annotations

from dataclasses import dataclass, field


class SentinelError(Exception):
    """Base of all errors that sentinel raises on purpose."""


class DecodeError(SentinelError):
    """A stream entry cannot be understood.

    `reason` is a short stable word (`bad-json`, `missing-run`...): it is a metric label and a group in the list
    of rejected entries. The message says it in a sentence, with the place.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in a file a person wrote. `line` and `column` count from 1; 0 means the file as a whole.

    `code` is stable and names the check (`unknown-metric`); `excerpt` is the offending line of the file;
    `width` is how many characters the carets under it span; `hint` is the remedy, a sentence.
    """

    path: str
    line: int
    column: int
    code: str
    message: str
    hint: str = ""
    excerpt: str = ""
    width: int = 1
    severity: str = "error"

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path


class RuleError(SentinelError):
    """One or more rule files are wrong. All problems are in `problems`, in file order."""

    def __init__(self, problems: list[Problem]) -> None:
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(f"{first.place}: {first.message}{more}")
        self.problems = problems


class ConfigError(SentinelError):
    """The daemon's configuration is wrong. `problems` may be empty when no file is at fault."""

    def __init__(self, message: str, problems: list[Problem] | None = None) -> None:
        super().__init__(message)
        self.problems = problems or []


class UsageError(SentinelError):
    """A command was called wrongly, or its input cannot be read."""


class InputError(UsageError):
    """A file that a person wrote for a command is wrong. All problems are in `problems`, in file order."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(f"{problems[0].place}: {problems[0].message}")
        self.problems = problems


class SnapshotError(SentinelError):
    """Saved state cannot be used: cut, corrupt, or written by a newer version."""


class BusUnavailable(SentinelError):
    """Redis cannot be reached, or refuses what we need. The message names the remedy."""


@dataclass
class DeliveryError(SentinelError):
    """A receiver did not take a message.

    `code`: the receiver's own word (`ratelimited`, `channel_not_found`, `http_503`). `ambiguous`: the receiver may
    have taken it, the answer was lost; the same message id must be used when it is sent again.
    """

    code: str
    message: str = ""
    ambiguous: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__init__(self.message or self.code)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code


@dataclass
class DeliveryRetry(DeliveryError):
    """Try again, not before `retry_after` seconds when the receiver named a time."""

    retry_after: float | None = field(default=None, kw_only=True)


@dataclass
class DeliveryRefused(DeliveryError):
    """Trying again changes nothing until a person mends something.

    `lost_reference`: the message to edit is gone; posting anew would work.
    """

    lost_reference: bool = field(default=False, kw_only=True)
