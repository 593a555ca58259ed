"""The JSON schema for editors takes what the loader takes, and refuses what it can see is wrong."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sentinel.documents import read_document
from sentinel.resources import PACKS, pack_path
from sentinel.rules.document import RuleDocument, json_schema

RULE = "rules:\n  - alert: kl-high\n    symptom: kl-high\n    warning: kl.ref > 0.1\n    for: 3 steps\n"

KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
UNJUDGED = {"$schema", "$defs", "type", "title", "description", "examples", "default", "enumDescriptions"}


def faults(schema: dict[str, Any], value: Any, root: dict[str, Any]) -> list[str]:
    """What is wrong with `value`, by those words of JSON Schema that our schema uses. Another word is a failure."""
    found: list[str] = []
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, KINDS[kind]) or (kind != "boolean" and isinstance(value, bool))):
        return [f"not a {kind}: {value!r}"]
    for word, given in schema.items():
        match word:
            case "$ref":
                target = root
                for part in given.removeprefix("#/").split("/"):
                    target = target[part]
                found += faults(target, value, root)
            case "enum":
                found += [f"{value!r} is not listed"] if value not in given else []
            case "pattern":
                found += [f"{value!r} does not match"] if not re.search(given, value) else []
            case "minLength":
                found += ["too short"] if len(value) < given else []
            case "maxLength":
                found += ["too long"] if len(value) > given else []
            case "required":
                found += [f"{key} is missing" for key in given if key not in value]
            case "properties":
                for key in value:
                    found += faults(given[key], value[key], root) if key in given else []
            case "additionalProperties":
                extra = [key for key in value if key not in schema.get("properties", {})]
                if given is False:
                    found += [f"{key} is not known" for key in extra]
                elif isinstance(given, dict):
                    found += [fault for key in extra for fault in faults(given, value[key], root)]
            case "propertyNames":
                found += [fault for key in value for fault in faults(given, key, root)]
            case "items":
                found += [fault for item in value for fault in faults(given, item, root)]
            case "anyOf":
                found += ["fits none"] if all(faults(part, value, root) for part in given) else []
            case _:
                assert word in UNJUDGED, f"the schema says {word}, which this test does not judge"
    return found


def judged(text: str | bytes) -> list[str]:
    schema = json_schema()
    return faults(schema, read_document(text, "x").value, schema)


@pytest.mark.parametrize("pack", PACKS)
def test_the_shipped_packs_fit(pack: str) -> None:
    assert judged(pack_path(pack).read_bytes()) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for: 3 steps", "for: 5m"),
        ("for: 3 steps", "for: 3samples"),
        ("for: 3 steps", "after: 50 steps"),
        ("for: 3 steps", "where: {framework: trl, team: x}"),
        ("for: 3 steps", "allow: {single-spike: one is enough}"),
        ("for: 3 steps", "runbook: {do: [look]}"),
        ("rules:", "allow: {no-runbook: in the wiki}\nrules:"),
    ],
)
def test_what_the_loader_takes_fits(old: str, new: str) -> None:
    assert judged(RULE.replace(old, new, 1)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rules:", "rulez:"),
        ("alert: kl-high", "alert: KL high"),
        ("symptom: kl-high", "symptom: kl-hgh"),
        ("    symptom: kl-high\n", ""),
        ("    warning: kl.ref > 0.1\n", ""),
        ("for: 3 steps", "for: 3"),
        ("for: 3 steps", "for: '3'"),
        ("for: 3 steps", "for: soon"),
        ("for: 3 steps", "after: 5m"),
        ("for: 3 steps", "fro: 3 steps"),
        ("for: 3 steps", "taints: yes"),
        ("for: 3 steps", "runbook: {do: look}"),
        ("for: 3 steps", "runbook: {doo: [look]}"),
        ("for: 3 steps", "where: [trl]"),
        ("for: 3 steps", "allow: {single-spik: x}"),
        ("for: 3 steps", "allow: {unknown-metric: x}"),
        ("for: 3 steps", "allow: {single-spike: ''}"),
        ("for: 3 steps", f"summary: {'x' * 501}"),
    ],
)
def test_what_an_editor_can_see_is_wrong_is_refused(old: str, new: str) -> None:
    assert judged(RULE.replace(old, new, 1)) != []


def test_each_key_says_what_it_is() -> None:
    schema = json_schema()
    for definition in [schema, *schema["$defs"].values()]:
        for name, field in definition["properties"].items():
            target = schema["$defs"][field["$ref"].rpartition("/")[2]] if "$ref" in field else field
            assert target.get("description"), name


def test_each_key_that_takes_a_text_of_a_certain_form_shows_an_example() -> None:
    fields = json_schema()["$defs"]["RuleDocument"]["properties"]
    assert {field.alias or name for name, field in RuleDocument.model_fields.items()} >= fields.keys()
    for name in (
        "alert",
        "info",
        "warning",
        "critical",
        "for",
        "keep_firing_for",
        "until",
        "after",
        "summary",
        "allow",
    ):
        assert fields[name].get("examples"), name
