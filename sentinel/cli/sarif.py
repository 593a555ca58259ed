"""Problems as a SARIF 2.1.0 log, which code hosts and editors take in.

Each code is a rule of the tool, with its page as help. What a rule file allows is there too, as suppressed with its
reason. Columns count Unicode characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from sentinel.errors import Problem, UsageError
from sentinel.resources import check_page
from sentinel.rules.lint.codes import codes
from sentinel.rules.lint.linter import Allowed

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif_of_problems(
    problems: Sequence[Problem], version: str, *, allowed: Sequence[Allowed] = (), docs_url: str = ""
) -> dict[str, Any]:
    """A log with one run. `docs_url`: where the pages are served; without it rules have help and no address."""
    results = [(problem, "") for problem in problems] + [(one.problem, one.reason) for one in allowed]
    names = sorted({problem.code for problem, _ in results})
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "sentinel",
                        "version": version,
                        "rules": [_rule(name, docs_url) for name in names],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(problem, names.index(problem.code), reason) for problem, reason in results],
            }
        ],
    }


def _rule(name: str, docs_url: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": name}
    code = codes().get(name)
    if code is None:
        return rule
    rule["shortDescription"] = {"text": code.meaning}
    rule["defaultConfiguration"] = {"level": _LEVELS[code.severity]}
    try:
        page = check_page(name)
    except UsageError:
        page = code.meaning  # an installation without its pages still reports
    rule["help"] = {"text": page, "markdown": page}
    if docs_url:
        rule["helpUri"] = f"{docs_url.rstrip('/')}/{name}.md"
    return rule


def _result(problem: Problem, index: int, reason: str) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": {"uri": _uri(problem.path)}}
    if problem.line:
        where["region"] = {
            "startLine": problem.line,
            "startColumn": problem.column,
            "endColumn": problem.column + problem.width,
        }
    text = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    result = {
        "ruleId": problem.code,
        "ruleIndex": index,
        "level": _LEVELS.get(problem.severity, "error"),
        "message": {"text": text},
        "locations": [{"physicalLocation": where}],
    }
    if reason:
        result["suppressions"] = [{"kind": "inSource", "justification": reason}]
    return result


def _uri(path: str) -> str:
    return f"file://{quote(path)}" if path.startswith("/") else quote(path)
