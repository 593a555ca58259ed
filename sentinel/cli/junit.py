"""Results of rule tests as JUnit XML, which CI systems show: one suite a file, one case a test."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

import click

from sentinel.cli.output import clean
from sentinel.cli.strip import text_of_result
from sentinel.ruletest import Result


def junit_of_results(results: Sequence[Result]) -> str:
    """A document of the schema that Jenkins, GitLab and GitHub's reporters read.

    It has no times: a test is played in milliseconds, and the same file gives the same text.
    """
    suites: dict[str, list[Result]] = {}
    for result in results:
        suites.setdefault(result.path, []).append(result)
    root = ElementTree.Element("testsuites", {"name": "sentinel rules test", **_counts(results)})
    for path, own in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": _plain(path), **_counts(own)})
        for result in own:
            # The class is the file: reporters group by it, and show the two names side by side.
            case = ElementTree.SubElement(suite, "testcase", classname=_plain(path), name=_plain(result.name))
            if result.outcome != "PASS":
                _add_fault(case, result)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}'


def _counts(results: Sequence[Result]) -> dict[str, str]:
    return {
        "tests": str(len(results)),
        "failures": str(sum(result.outcome == "FAIL" for result in results)),
        "errors": str(sum(result.outcome == "ERROR" for result in results)),
    }


def _add_fault(case: ElementTree.Element, result: Result) -> None:
    kind = "failure" if result.outcome == "FAIL" else "error"
    first = result.problems[0]
    more = f" (and {len(result.problems) - 1} more)" if len(result.problems) > 1 else ""
    fault = ElementTree.SubElement(case, kind, type=first.code, message=_plain(f"{first.message}{more}"))
    fault.text = _plain("\n".join(click.unstyle(line) for line in text_of_result(result)), newlines=True)


def _plain(text: str, *, newlines: bool = False) -> str:
    """Without the characters that XML 1.0 cannot hold, and that nobody wants to see: they are escaped as in Python."""
    return clean(text, newlines=newlines)
