import json
import math
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel import wire


def test_all_keys_of_a_partition_share_one_hash_tag():
    names = [
        wire.events_key,
        wire.rejected_key,
        wire.state_key,
        wire.alerts_key,
        wire.outbox_key,
        wire.told_key,
        wire.unusable_key,
        wire.snapshot_key,
        wire.unusable_snapshot_key,
    ]
    keys = [name(3) for name in names]
    assert all(key.startswith("sentinel:{3}:") for key in keys)
    assert len(set(keys)) == len(keys)
    assert wire.events_key(0) == "sentinel:{0}:events"


@pytest.mark.parametrize(
    ("run", "partitions", "expected"),
    [("grpo-7b", 8, 6), ("", 8, 0), ("ppo-é", 5, 1), ("x" * 200, 1000, 582), ("grpo-7b", 1, 0)],
)
def test_the_partition_of_a_run_is_fixed_for_all_time(run, partitions, expected):
    assert wire.partition_of(run, partitions) == expected


def test_there_is_no_partition_of_none():
    with pytest.raises(ValueError, match="1 or more"):
        wire.partition_of("r", 0)


@given(st.text(), st.integers(1, 1000))
def test_every_run_has_a_partition(run, partitions):
    assert 0 <= wire.partition_of(run, partitions) < partitions


@pytest.mark.parametrize("text", ["1_000", " 1", "1 ", "0x1f", "٣", "", "1e", ".", "+", "true", "nanx", "1/10", "1,5"])
def test_text_that_only_python_or_nobody_takes_for_a_number_is_refused(text):
    with pytest.raises(ValueError, match=r"^not a number$"):
        wire.number_of_text(text)


@pytest.mark.parametrize("text", ["1e400", "-1e400", "9" * 4300])
def test_a_number_beyond_a_double_is_told_apart(text):
    with pytest.raises(ValueError, match="double range"):
        wire.number_of_text(text)


def test_words_for_what_is_not_finite_are_numbers():
    assert math.isnan(wire.number_of_text("NaN"))
    assert wire.number_of_text("Infinity") == math.inf
    assert wire.number_of_text("-inf") == -math.inf
    assert wire.number_of_text("null") is None
    assert wire.number_of_text("None") is None


@given(st.floats())
def test_every_double_survives_its_own_text(value):
    back = wire.number_of_text(repr(value))
    assert back == value or (math.isnan(value) and math.isnan(back))


def test_what_a_trainer_holds_becomes_a_double():
    assert wire.number_of(3) == 3.0
    assert wire.number_of(np.float32(0.5)) == 0.5
    assert wire.number_of(np.int64(7)) == 7.0
    assert wire.number_of(Decimal("0.25")) == 0.25
    assert wire.number_of("0.123") == 0.123
    assert wire.number_of(None) is None


@pytest.mark.parametrize("value", [True, np.bool_(True), [1.0], {}, np.zeros(3), 10**400, "up", object(), 1j])
def test_what_is_no_measurement_is_refused(value):
    with pytest.raises(ValueError, match="not a number"):
        wire.number_of(value)


def test_an_event_is_compact_json_with_its_version():
    raw = wire.encode({"type": "step", "run": "r", "step": 1, "metrics": {"kl": math.nan, "a": math.inf}})
    assert raw == b'{"v":1,"type":"step","run":"r","step":1,"metrics":{"kl":NaN,"a":Infinity}}'


def test_values_that_json_does_not_know_become_text():
    assert json.loads(wire.encode({"config": {"when": Decimal("1.5"), "odd": "\ud800"}}))["config"] == {
        "when": "1.5",
        "odd": "\ud800",
    }


def test_the_trainers_side_imports_nothing_but_the_standard_library():
    script = (
        "import sys; import sentinel.wire, sentinel.publisher; "
        "print([m for m in sys.modules if m.split('.')[0] in ('msgspec','pydantic','redis','aiohttp','structlog')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
