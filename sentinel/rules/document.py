"""The schema of a rule file: what may stand where, and what each value is read as.

Expressions, lengths of time and sentences are parsed here, at the door, so that nothing behind it holds unread text.
A value that cannot be read reports its faults with offsets; the loader gives them line and column.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from sentinel.metrics import Dictionary
from sentinel.metrics import default as default_dictionary
from sentinel.rules.expression.check import compile_text
from sentinel.rules.expression.nodes import Extent, Node
from sentinel.rules.expression.parse import ExpressionError, parse_extent
from sentinel.rules.symptoms import symptoms
from sentinel.rules.template import TemplateError, parse_template
from sentinel.stats.window import Axis
from sentinel.suggestion import closest

NAME_PATTERN = r"[a-z0-9][a-z0-9-]{0,62}"

DEFAULT_SUMMARY = "{metric} is {value:.3g}, {severity} beyond {threshold:.3g}"


class _Parsed:
    """A text that is read by `parse(text, dictionary)`; numbers and booleans count as the text that stands there."""

    def __init__(self, parse: Callable[[str, Dictionary], object], schema: dict[str, Any]) -> None:
        self.parse = parse
        self.schema = schema

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._validate)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", **self.schema}

    def _validate(self, value: object, info: core_schema.ValidationInfo) -> object:
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, int | float):
            value = str(value)
        if not isinstance(value, str):
            raise PydanticCustomError("string_type", "this must be a text")
        dictionary = (info.context or {}).get("dictionary") or default_dictionary()
        try:
            return self.parse(value, dictionary)
        except (ExpressionError, TemplateError) as error:
            raise PydanticCustomError(
                "bad-text", "{message}", {"faults": error.faults, "message": str(error)}
            ) from None


def _name(text: str, dictionary: Dictionary) -> str:
    if re.fullmatch(NAME_PATTERN, text):
        return text
    remedy = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63]
    raise PydanticCustomError(
        "bad-name",
        "a rule's name has up to 63 lower-case letters, digits and hyphens",
        {"hint": f"for example {remedy}" if remedy else "for example kl-high"},
    )


def _symptom(text: str, dictionary: Dictionary) -> str:
    if text in symptoms():
        return text
    hint = closest(text, symptoms()) or "`sentinel rules schema` lists them"
    raise PydanticCustomError("unknown-symptom", "there is no such symptom", {"hint": hint})


def _extent(text: str, dictionary: Dictionary) -> Extent:
    return parse_extent(text)


def _steps(text: str, dictionary: Dictionary) -> int:
    extent = parse_extent(text)
    if extent.axis is not Axis.STEPS:
        raise PydanticCustomError("bad-extent", "this is counted in steps", {"hint": "write 50 steps"})
    return int(extent.size)


def _summary(text: str, dictionary: Dictionary) -> str:
    return parse_template(text).text


def _phase(text: str, dictionary: Dictionary) -> str:
    raise PydanticCustomError("not-supported", "'phase' is not supported yet", {"hint": "use after", "at_key": True})


_CONDITION = {"minLength": 1, "maxLength": 1000, "examples": ["kl.ref > 0.5"]}
_EXTENT = {"examples": ["3 steps", "3 samples", "5m"]}

Name = Annotated[str, _Parsed(_name, {"pattern": f"^{NAME_PATTERN}$"})]
SymptomName = Annotated[str, _Parsed(_symptom, {"enum": list(symptoms())})]
Condition = Annotated[Node, _Parsed(compile_text, _CONDITION)]
Length = Annotated[Extent, _Parsed(_extent, _EXTENT)]
Steps = Annotated[int, _Parsed(_steps, {"examples": ["50 steps"]})]
Summary = Annotated[str, _Parsed(_summary, {"maxLength": 500})]
Phase = Annotated[str, _Parsed(_phase, {"description": "Not supported yet."})]


def _known_framework(where: dict[str, str]) -> dict[str, str]:
    framework, known = where.get("framework"), default_dictionary().frameworks
    if framework is not None and framework not in known:
        hint = closest(framework, known) or f"there are: {', '.join(known)}"
        raise PydanticCustomError("unknown-framework", "no trainer has this name", {"hint": hint})
    return where


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class RunbookDocument(_Strict):
    """What a person does about it."""

    causes: list[str] = Field(default=[], description="Likely causes, the likeliest first.")
    look_at: list[str] = Field(default=[], description="Where to look, in order.")
    do: list[str] = Field(default=[], description="What to do.")


class RuleDocument(_Strict):
    """One alerting rule. At least one of `info`, `warning` and `critical` is given."""

    alert: Name = Field(description="The rule's name, unique among the rules in force.")
    symptom: SymptomName = Field(description="What the rule looks for.")
    info: Condition | None = Field(default=None, description="Condition for an alert of severity info.")
    warning: Condition | None = Field(default=None, description="Condition for an alert of severity warning.")
    critical: Condition | None = Field(default=None, description="Condition for an alert of severity critical.")
    hold: Length | None = Field(default=None, alias="for", description="How long a condition holds before it fires.")
    keep_firing_for: Length | None = Field(default=None, description="How long it is over before it resolves.")
    until: Condition | None = Field(default=None, description="Resolve only when this holds (hysteresis).")
    after: Steps = Field(default=0, description="Steps of an attempt during which the rule is not evaluated.")
    where: Annotated[dict[str, str], AfterValidator(_known_framework)] = Field(
        default={}, description="Labels that a run must carry, or its framework."
    )
    taints: bool | None = Field(default=None, description="Whether checkpoints saved from the onset on are suspect.")
    summary: Summary = Field(default=DEFAULT_SUMMARY, description="The alert in a sentence, with {value} and the like.")
    runbook: RunbookDocument = Field(default=RunbookDocument(), description="What a person does about it.")
    phase: Phase | None = Field(default=None, description="Not supported yet.")


class RuleFile(_Strict):
    """A file of alerting rules."""

    rules: list[RuleDocument] = Field(description="The rules, in the order in which they are listed.")


def json_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a rule file, for editors."""
    schema = RuleFile.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "sentinel rules"
    rule = schema["$defs"]["RuleDocument"]
    rule["anyOf"] = [{"required": [severity]} for severity in ("info", "warning", "critical")]
    rule["properties"].pop("phase")
    for name, field in rule["properties"].items():
        # An optional key is left out; it is never empty.
        if "anyOf" in field:
            rule["properties"][name] = {**field.pop("anyOf")[0], **{k: v for k, v in field.items() if k != "default"}}
    return schema
