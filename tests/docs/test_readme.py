"""The message that the README shows is the one that the demo's recording leads to."""

import json
import re

from sentinel.alerts.incident import IncidentBook
from sentinel.bus.recording import read_recording
from sentinel.engine.engine import Engine
from sentinel.metrics import default
from sentinel.notify.slack import render
from sentinel.resources import DEFAULT_PACKS, read_sources, recording_path
from sentinel.rules.loader import load_rules
from sentinel.service.demo import RECORDING, RUN
from tests.scenarios.recordings import ROOT

SHOWN = re.search(r"^```\n(🔴(?:.|\n)*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)


def the_last_message() -> str:
    engine, book = Engine(load_rules(read_sources(DEFAULT_PACKS), default())), IncidentBook()
    told = []
    for item in read_recording(recording_path(RECORDING)):
        item.event.run = RUN
        said = engine.handle(item.event)
        told += book.apply(said, engine.runs[RUN]) if said else []
    return json.dumps(render(told[-1])["blocks"], ensure_ascii=False)


def test_the_message_that_the_readme_shows_is_what_the_demo_ends_with():
    assert SHOWN is not None
    plain = re.sub(r"[*`]", "", the_last_message().replace("\\n", " "))
    said = " ".join(plain.split())
    missing = [line for line in SHOWN[1].splitlines() if " ".join(line.split()) not in said]
    assert not missing
