"""Fields of a test file that are written as a short text and read by a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_core import PydanticCustomError, core_schema

NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
"""A number without a sign, as a regular expression."""


class TextError(Exception):
    """A text that cannot be read: what is wrong with its characters `start` to `end`, and the remedy."""

    def __init__(self, code: str, message: str, hint: str, start: int, end: int) -> None:
        super().__init__(message)
        self.code, self.hint, self.start, self.end = code, hint, start, end


class Read:
    """Annotates a field whose text (or bare number) `read` turns into a value. `read` raises TextError.

    `key`: the field is the key of a mapping, so that the carets go under the key.
    """

    def __init__(self, read: Callable[[str], object], *, key: bool = False) -> None:
        self.read = read
        self.key = key

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validate)

    def _validate(self, value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise PydanticCustomError("string_type", "this must be a text")
        try:
            return self.read(str(value))
        except TextError as fault:
            place = {"at_key": True} if self.key else {"start": fault.start, "end": fault.end}
            context = {**place, "hint": fault.hint, "message": str(fault)}
            raise PydanticCustomError(fault.code, "{message}", context) from None
