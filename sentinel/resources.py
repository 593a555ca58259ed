"""Files that sentinel reads on a person's behalf: the rule packs that ship with it, and the paths given to it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sentinel.errors import UsageError

PACKS: tuple[str, ...] = ("grpo", "ppo", "infra", "strict", "classic", "essential")
"""The shipped rule packs."""

DEFAULT_PACKS: tuple[str, ...] = ("grpo", "ppo", "infra")
"""The packs in force when nobody says otherwise: policy, critic, machines."""

TOGETHER: frozenset[str] = frozenset({*DEFAULT_PACKS, "strict"})
"""The packs that can be in force together. Each of the others stands alone, and may use their names."""

TEST_SUFFIX = ".test.yaml"
"""`grpo.test.yaml` holds the tests of `grpo.yaml`."""

Source = tuple[str, bytes]
"""A path as a person would write it, and what is in the file."""


def packs_dir() -> Path:
    """The folder of the shipped packs: inside an installed package, `rules/` in a working copy.

    Raises UsageError when neither is there.
    """
    package = Path(__file__).parent
    for folder in (package / "packs", package.parent / "rules"):
        if folder.is_dir():
            return folder
    raise UsageError(f"the shipped rules are missing: there is no {package / 'packs'}. Install sentinel again.")


def pack_path(name: str) -> Path:
    """The file of a shipped pack. Raises UsageError for a name that is not in `PACKS`."""
    if name not in PACKS:
        raise UsageError(f"there is no rule pack '{name}': {', '.join(PACKS)} ship with sentinel")
    return packs_dir() / f"{name}.yaml"


def recording_path(name: str) -> Path:
    """A recorded run that ships with sentinel. Raises UsageError when it is not there."""
    package = Path(__file__).parent
    for folder in (package / "recordings", package.parent / "examples" / "recordings"):
        if (folder / name).is_file():
            return folder / name
    raise UsageError(f"the recording {name} is missing. Install sentinel again.")


def check_page(code: str) -> str:
    """The page of a code that `sentinel rules validate` can say, in Markdown. Raises UsageError when it is missing."""
    package = Path(__file__).parent
    for folder in (package / "checks", package.parent / "docs" / "checks"):
        if (folder / f"{code}.md").is_file():
            return (folder / f"{code}.md").read_text("utf-8")
    raise UsageError(f"the page {code}.md is missing. Install sentinel again.")


def rule_files(paths: Sequence[str | Path]) -> list[Path]:
    """The rule files that paths stand for, each once, in order.

    A folder stands for its `*.yaml` and `*.yml` by name, without `*.test.yaml`; the bare name of a shipped pack for
    that pack, unless there is such a file. Raises UsageError naming every path that is not there or holds no rules.
    """
    found: list[Path] = []
    wrong: list[str] = []
    for given in paths:
        path = Path(given)
        if path.is_dir():
            try:
                inside = sorted(file for file in path.iterdir() if is_rule_file_name(file.name) and file.is_file())
            except OSError as error:
                wrong.append(f"cannot read {path}: {error.strerror}")
                continue
            if not inside:
                wrong.append(f"no rule files (*.yaml) in {path}")
            found += inside
        elif path.exists():
            found.append(path)
        elif str(given) in PACKS:
            found.append(pack_path(str(given)))
        else:
            wrong.append(f"no such file: {path}")
    if wrong:
        raise UsageError("; ".join(wrong))
    return list(dict.fromkeys(found))


def pack_groups(files: Sequence[Path]) -> list[list[Path]]:
    """Shipped packs by who can be in force with whom: those of `TOGETHER` in one group, each other one alone."""
    together = [file for file in files if file.stem in TOGETHER]
    alone = [[file] for file in files if file.stem not in TOGETHER]
    return [together, *alone] if together else alone


def read_sources(paths: Sequence[str | Path]) -> list[Source]:
    """The rule files that paths stand for (see `rule_files`), with their bytes. Raises UsageError."""
    return [read_source(path) for path in rule_files(paths)]


def read_source(path: Path) -> Source:
    """One file, unjudged. Raises UsageError when it cannot be read."""
    try:
        return shown(path), path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None


def shown(path: Path) -> str:
    """A path as problems and alerts name it: relative to the working folder when it lies below, a shipped pack by
    its place in the project."""
    if path.parent == packs_dir():
        return f"rules/{path.name}"
    try:
        return str(path.resolve().relative_to(Path.cwd())) if path.is_absolute() else str(path)
    except (ValueError, OSError):
        return str(path)


def is_rule_file_name(name: str) -> bool:
    """Whether a file of a folder of rules holds rules, and not their tests."""
    return name.endswith((".yaml", ".yml")) and not name.endswith((TEST_SUFFIX, ".test.yml"))
