"""Rule files as they were at a revision of git: `git:main:rules/grpo.yaml`, or a folder of them."""

from __future__ import annotations

import subprocess

from sentinel.errors import UsageError
from sentinel.resources import Source, is_rule_file_name

PREFIX = "git:"

_PATIENCE = 30.0
"""Seconds after which git is taken to hang."""


def read_revision(given: str) -> list[Source]:
    """The rule files that `git:REVISION:PATH` stands for, from the repository around the working folder.

    `PATH` is relative to the repository's top, or to the working folder when it begins with `./`. Raises UsageError
    when git, the revision or the path is not there.
    """
    revision, colon, path = given.removeprefix(PREFIX).partition(":")
    if not revision or not colon or not path:
        raise UsageError(f"'{given}' is no revision's file: write git:main:rules/grpo.yaml")
    # Git itself must not take what a person wrote for an option.
    if revision.startswith("-"):
        raise UsageError(f"'{revision}' is no revision of git")
    spot = f"{revision}:{path.rstrip('/')}"
    kind = _git("cat-file", "-t", spot).decode().strip()
    if kind == "blob":
        return [(given, _git("cat-file", "blob", spot))]
    names = sorted(_git("ls-tree", "-z", "--name-only", spot).decode("utf-8", "replace").split("\0"))
    found = [(f"{given.rstrip('/')}/{name}", f"{spot}/{name}") for name in names if is_rule_file_name(name)]
    if not found:
        raise UsageError(f"no rule files (*.yaml) in {given}")
    return [(shown, _git("cat-file", "blob", inside)) for shown, inside in found]


def _git(*words: str) -> bytes:
    try:
        done = subprocess.run(["git", *words], capture_output=True, timeout=_PATIENCE)  # noqa: S603, S607 - no shell; the person's own git
    except FileNotFoundError:
        raise UsageError("git is not installed, so no revision can be read; name a file instead") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {words[0]} took longer than {_PATIENCE:.0f} s") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it says nothing"]
        raise UsageError(f"git cannot read {words[-1]}: {said[0].removeprefix('fatal: ')}")
    return done.stdout
