"""Slack's limits on a message, in Slack's words.

Each problem reads as in the real answer: `must be less than 3001 characters [json-pointer:/blocks/0/text/text]`. A
block type that is not known here is refused: a test that passes must not rest on something never checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MOST_BLOCKS = 50
MOST_TEXT = 40_000
MOST_BLOCK_TEXT = 13_200
"""Characters in all blocks together. It is in no document; people who hit `msg_blocks_too_long` measured it."""

_KEYS: dict[str, set[str]] = {
    "header": {"text"},
    "section": {"text", "fields", "accessory", "expand"},
    "divider": set(),
    "context": {"elements"},
    "actions": {"elements"},
    "image": {"image_url", "alt_text", "title"},
}


def problems(blocks: object) -> list[str]:
    """Everything wrong with a `blocks` argument; empty when Slack would take it."""
    if not isinstance(blocks, list):
        return ["must be an array [json-pointer:/blocks]"]
    found = []
    if len(blocks) > MOST_BLOCKS:
        found.append(f"no more than {MOST_BLOCKS} items allowed [json-pointer:/blocks]")
    ids: set[str] = set()
    for index, block in enumerate(blocks):
        at = f"/blocks/{index}"
        found += _block(block, at)
        block_id = block.get("block_id") if isinstance(block, dict) else None
        if isinstance(block_id, str):
            if block_id in ids:
                found.append(f"`block_id` {block_id} already exists [json-pointer:{at}/block_id]")
            ids.add(block_id)
            found += _length(block_id, 255, f"{at}/block_id")
    return found


def block_text(value: object) -> Iterator[str]:
    """Every text that the blocks show."""
    if isinstance(value, list):
        for item in value:
            yield from block_text(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in ("text", "alt_text", "title") and isinstance(item, str):
                yield item
            else:
                yield from block_text(item)


def markup_text(value: object) -> Iterator[str]:
    """Every text in which Slack interprets markup: those of `mrkdwn` objects."""
    if isinstance(value, list):
        for item in value:
            yield from markup_text(item)
    elif isinstance(value, dict):
        if value.get("type") == "mrkdwn" and isinstance(value.get("text"), str):
            yield value["text"]
        else:
            for item in value.values():
                yield from markup_text(item)


def _block(block: object, at: str) -> list[str]:
    if not isinstance(block, dict):
        return [f"must provide an object [json-pointer:{at}]"]
    kind = block.get("type")
    if not isinstance(kind, str):
        return [f"missing required field: type [json-pointer:{at}]"]
    if kind not in _KEYS:
        return [f"unsupported type: {kind} [json-pointer:{at}/type]"]
    found = [
        f"invalid additional property: {key} [json-pointer:{at}]"
        for key in block
        if key not in _KEYS[kind] | {"type", "block_id"}
    ]
    match kind:
        case "header":
            found += _required(block, "text", at) or _text(block["text"], 150, f"{at}/text", ("plain_text",))
        case "section":
            found += _section(block, at)
        case "context":
            found += _elements(block, at, 10)
            for index, element in enumerate(_list(block.get("elements"))):
                where = f"{at}/elements/{index}"
                if isinstance(element, dict) and element.get("type") == "image":
                    found += _image(element, where)
                else:
                    found += _text(element, 3000, where)
        case "actions":
            found += _elements(block, at, 25)
            for index, element in enumerate(_list(block.get("elements"))):
                found += _button(element, f"{at}/elements/{index}")
        case "image":
            found += _image(block, at)
    return found


def _section(block: dict[str, Any], at: str) -> list[str]:
    found = []
    if "text" not in block and "fields" not in block:
        found.append(f"missing required field: text [json-pointer:{at}]")
    if "text" in block:
        found += _text(block["text"], 3000, f"{at}/text")
    if "fields" in block:
        fields = block["fields"]
        if not isinstance(fields, list) or not fields:
            found.append(f"must contain at least 1 item [json-pointer:{at}/fields]")
        elif len(fields) > 10:
            found.append(f"no more than 10 items allowed [json-pointer:{at}/fields]")
        for index, item in enumerate(_list(fields)):
            found += _text(item, 2000, f"{at}/fields/{index}")
    accessory = block.get("accessory")
    if accessory is not None:
        where = f"{at}/accessory"
        is_image = isinstance(accessory, dict) and accessory.get("type") == "image"
        found += _image(accessory, where) if is_image else _button(accessory, where)
    return found


def _elements(block: dict[str, Any], at: str, most: int) -> list[str]:
    elements = block.get("elements")
    if not isinstance(elements, list):
        return [f"missing required field: elements [json-pointer:{at}]"]
    if not elements:
        return [f"must contain at least 1 item [json-pointer:{at}/elements]"]
    if len(elements) > most:
        return [f"no more than {most} items allowed [json-pointer:{at}/elements]"]
    return []


def _text(value: object, most: int, at: str, kinds: tuple[str, ...] = ("plain_text", "mrkdwn")) -> list[str]:
    if not isinstance(value, dict):
        return [f"must provide an object [json-pointer:{at}]"]
    kind = value.get("type")
    if kind not in kinds:
        return [f"must be a valid enum value [json-pointer:{at}/type]"]
    allowed = {"type", "text", "emoji" if kind == "plain_text" else "verbatim"}
    found = [f"invalid additional property: {key} [json-pointer:{at}]" for key in value if key not in allowed]
    text = value.get("text")
    if not isinstance(text, str):
        return [*found, f"missing required field: text [json-pointer:{at}]"]
    wrong = _length(text, most, f"{at}/text")
    if wrong:
        found += [f"failed to match all allowed schemas [json-pointer:{at}]", *wrong]
    return found


def _image(value: object, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"must provide an object [json-pointer:{at}]"]
    found = []
    for key, most in (("image_url", 3000), ("alt_text", 2000)):
        found += _required(value, key, at) or _length(str(value[key]), most, f"{at}/{key}")
    return found


def _button(value: object, at: str) -> list[str]:
    if not isinstance(value, dict) or value.get("type") != "button":
        return [f"unsupported type [json-pointer:{at}]"]
    found = _required(value, "text", at) or _text(value["text"], 75, f"{at}/text", ("plain_text",))
    for key, most in (("action_id", 255), ("value", 2000), ("url", 3000)):
        if key in value:
            found += _length(str(value[key]), most, f"{at}/{key}")
    if value.get("style", "primary") not in ("primary", "danger"):
        found.append(f"must be a valid enum value [json-pointer:{at}/style]")
    return found


def _required(value: dict[str, Any], key: str, at: str) -> list[str]:
    return [] if key in value else [f"missing required field: {key} [json-pointer:{at}]"]


def _length(text: str, most: int, at: str) -> list[str]:
    if not text:
        return [f"must be more than 0 characters [json-pointer:{at}]"]
    if len(text) > most:
        return [f"must be less than {most + 1} characters [json-pointer:{at}]"]
    return []


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
