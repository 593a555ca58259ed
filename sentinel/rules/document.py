"""The schema of a rule file: what may stand where, and what each value is read as.

Expressions, lengths of time and sentences are parsed here, at the door, so that nothing behind it holds unread text.
A value that cannot be read reports its faults with offsets; the loader gives them line and column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from sentinel.metrics import Dictionary
from sentinel.metrics import default as default_dictionary
from sentinel.rules.expression.check import compile_text
from sentinel.rules.expression.nodes import Extent, Node
from sentinel.rules.expression.parse import ExpressionError, Fault, Literal, parse_extent, parse_literal
from sentinel.rules.lint.codes import codes
from sentinel.rules.symptoms import symptoms
from sentinel.rules.template import DEFAULT_SUMMARY, TemplateError, parse_template
from sentinel.rules.variables import NAME_PATTERN as VARIABLE_PATTERN
from sentinel.rules.variables import Variables, with_lines
from sentinel.stats.window import Axis
from sentinel.suggestion import closest

NAME_PATTERN = r"[a-z0-9][a-z0-9-]{0,62}"


class _Parsed:
    """A text that is read by `parse(text, dictionary, variables)`; numbers and booleans count as the text that stands
    there."""

    def __init__(
        self, parse: Callable[[str, Dictionary, Mapping[str, Literal]], object], schema: dict[str, Any]
    ) -> None:
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
        context = info.context or {}
        dictionary = context.get("dictionary") or default_dictionary()
        variables: Variables = context.get("variables") or {}
        try:
            return self.parse(value, dictionary, context.get("literals") or {})
        except (ExpressionError, TemplateError) as error:
            faults = with_lines(error.faults, value, variables)
            raise PydanticCustomError("bad-text", "{message}", {"faults": faults, "message": str(error)}) from None


def _name(text: str, dictionary: Dictionary, variables: Mapping[str, Literal]) -> str:
    if re.fullmatch(NAME_PATTERN, text):
        return text
    remedy = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63]
    raise PydanticCustomError(
        "bad-name",
        "a rule's name has up to 63 lower-case letters, digits and hyphens",
        {"hint": f"for example {remedy}" if remedy else "for example kl-high"},
    )


def _symptom(text: str, dictionary: Dictionary, variables: Mapping[str, Literal]) -> str:
    if text in symptoms():
        return text
    # Half a word that fits says more than letters that are alike: reward-collapse is no reward-noise.
    kin = [name for name in symptoms() if name.partition("-")[0] == text.partition("-")[0]]
    hint = closest(text, symptoms(), near=0.85) or (f"there are: {', '.join(kin)}" if kin else "")
    hint = hint or closest(text, symptoms(), near=0.75) or "`sentinel rules symptoms` lists them"
    raise PydanticCustomError("unknown-symptom", "there is no such symptom", {"hint": hint})


def _extent(text: str, dictionary: Dictionary, variables: Mapping[str, Literal]) -> Extent:
    return parse_extent(text, variables)


def _steps(text: str, dictionary: Dictionary, variables: Mapping[str, Literal]) -> int:
    extent = parse_extent(text, variables)
    if extent.axis is not Axis.STEPS:
        raise ExpressionError([Fault(0, len(text), "bad-extent", "this is counted in steps", "write 50 steps")])
    return int(extent.size)


def _summary(text: str, dictionary: Dictionary, variables: Mapping[str, Literal]) -> str:
    return parse_template(text).text


def _variable(text: str, dictionary: Dictionary, variables: Mapping[str, Literal]) -> Literal:
    return parse_literal(text)


def _phases(given: object) -> tuple[str, ...]:
    """One name of a phase, or a list of them."""
    names = given if isinstance(given, list) else [given]
    texts = [str(name) for name in names if isinstance(name, str | int) and not isinstance(name, bool)]
    if not names or len(texts) < len(names) or not all(text.strip() and len(text) <= 200 for text in texts):
        hint = "early, middle, late, or what the trainer's phase events say; several in a list"
        raise PydanticCustomError("bad-phase", "a phase is a name", {"hint": hint})
    return tuple(dict.fromkeys(texts))


_SYMPTOM = {"enum": list(symptoms()), "enumDescriptions": [symptom.meaning for symptom in symptoms().values()]}
_CONDITION = {"minLength": 1, "maxLength": 1000, "examples": ["kl.ref > 0.5"]}
_ALLOW = {
    "type": "object",
    "propertyNames": {"enum": [code.name for code in codes().values() if code.kind == "check"]},
    "additionalProperties": {"type": "string", "minLength": 1},
    "examples": [{"single-spike": "one value that is not a number is enough"}],
}
_EXTENT = {
    "pattern": r"^\s*([0-9]+\s*(steps?|samples?)|[0-9]+(\.[0-9]+)?(ms|s|m|h|d)|vars\.[A-Za-z0-9_]+)\s*$",
    "examples": ["3 steps", "3 samples", "5m", "vars.patience"],
}
_STEPS = {"pattern": r"^\s*([0-9]+\s*steps?|vars\.[A-Za-z0-9_]+)\s*$", "examples": ["50 steps"]}
_PHASE_NAME = {"type": "string", "minLength": 1, "maxLength": 200, "examples": ["early", "middle", "late"]}
_PHASES = {"anyOf": [_PHASE_NAME, {"type": "array", "items": _PHASE_NAME, "minItems": 1}]}

Name = Annotated[str, _Parsed(_name, {"pattern": f"^{NAME_PATTERN}$", "examples": ["kl-high"]})]
SymptomName = Annotated[str, _Parsed(_symptom, _SYMPTOM)]
Condition = Annotated[Node, _Parsed(compile_text, _CONDITION)]
Length = Annotated[Extent, _Parsed(_extent, _EXTENT)]
Steps = Annotated[int, _Parsed(_steps, _STEPS)]
Summary = Annotated[str, _Parsed(_summary, {"maxLength": 500, "examples": [DEFAULT_SUMMARY]})]
Variable = Annotated[Literal, _Parsed(_variable, {"type": ["string", "number"], "examples": [0.5, "20%", "3 steps"]})]
Phases = Annotated[tuple[str, ...], BeforeValidator(_phases), WithJsonSchema(_PHASES)]
Allow = Annotated[dict[str, str], WithJsonSchema(_ALLOW)]


def _known_framework(where: dict[str, str]) -> dict[str, str]:
    framework, known = where.get("framework"), default_dictionary().frameworks
    if framework is not None and framework not in known:
        hint = closest(framework, known) or f"there are: {', '.join(known)}"
        raise PydanticCustomError("unknown-framework", "no trainer has this name", {"hint": hint})
    return where


def _not_for_all(where: dict[str, str]) -> dict[str, str]:
    if not where:
        hint = "name a label, such as {team: math}; what is for all runs stands in the rule itself"
        raise PydanticCustomError("no-labels", "an override is for some runs, and this is for all", {"hint": hint})
    return where


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class RunbookDocument(_Strict):
    """What a person does about it."""

    causes: list[str] = Field(default=[], description="Likely causes, the likeliest first.")
    look_at: list[str] = Field(default=[], description="Where to look, in order.")
    do: list[str] = Field(default=[], description="What to do.")


Where = Annotated[dict[str, str], AfterValidator(_known_framework)]


class OverrideDocument(_Strict):
    """What the rule is for the runs that carry some labels. A condition that is null is left out."""

    where: Annotated[Where, AfterValidator(_not_for_all)] = Field(
        description="Labels that a run must carry, or its framework.", json_schema_extra={"minProperties": 1}
    )
    info: Condition | None = Field(default=None, description="In the place of the rule's own; null removes it.")
    warning: Condition | None = Field(default=None, description="In the place of the rule's own; null removes it.")
    critical: Condition | None = Field(default=None, description="In the place of the rule's own; null removes it.")
    hold: Length | None = Field(default=None, alias="for", description="In the place of the rule's own.")
    keep_firing_for: Length | None = Field(default=None, description="In the place of the rule's own.")
    until: Condition | None = Field(default=None, description="In the place of the rule's own.")
    after: Steps = Field(default=0, description="In the place of the rule's own.")
    taints: bool = Field(default=False, description="In the place of the rule's own.")
    summary: Summary = Field(default="", description="In the place of the rule's own.")
    enabled: bool = Field(default=True, description="false: the rule is off for these runs.")


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
    phase: Phases = Field(default=(), description="The phases of a run in which the rule is evaluated.")
    where: Where = Field(default={}, description="Labels that a run must carry, or its framework.")
    taints: bool | None = Field(default=None, description="Whether checkpoints saved from the onset on are suspect.")
    summary: Summary = Field(default=DEFAULT_SUMMARY, description="The alert in a sentence, with {value} and the like.")
    runbook: RunbookDocument = Field(default=RunbookDocument(), description="What a person does about it.")
    overrides: list[OverrideDocument] = Field(
        default=[], description="What the rule is for some runs. The first that matches a run's labels counts."
    )
    allow: Allow = Field(default={}, description="Checks that the rule may trip, each with the reason why.")


class RuleFile(_Strict):
    """A file of alerting rules."""

    allow: Allow = Field(default={}, description="Checks that each rule of the file may trip, with the reason why.")
    vars: dict[str, Variable] = Field(
        default={},
        description="Numbers that the rules share: vars.NAME in a condition, a window, for, keep_firing_for, after.",
        json_schema_extra={"propertyNames": {"pattern": f"^{VARIABLE_PATTERN}$"}},
    )
    rules: list[RuleDocument] = Field(description="The rules, in the order in which they are listed.")


def json_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a rule file, for editors."""
    schema = RuleFile.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "sentinel rules"
    rule = schema["$defs"]["RuleDocument"]
    rule["anyOf"] = [{"required": [severity]} for severity in ("info", "warning", "critical")]
    for name, field in rule["properties"].items():
        # An optional key is left out; it is never empty.
        if "anyOf" in field and "default" in field and field["default"] is None:
            rule["properties"][name] = {**field.pop("anyOf")[0], **{k: v for k, v in field.items() if k != "default"}}
    return schema
