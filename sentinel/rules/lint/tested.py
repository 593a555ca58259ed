"""Which alerts the tests beside a rule file expect to fire."""

from __future__ import annotations

from sentinel.documents import DocumentError, read_document


def expected_alerts(path: str, text: bytes | str) -> frozenset[str]:
    """The names under `expect` in a test file, and those that `at` says are firing at some step.

    It is read leniently: whether a test file is right is said elsewhere.
    """
    document = read_lenient(path, text)
    tests = document.get("tests")
    found = set()
    for test in tests if isinstance(tests, list) else ():
        expected = test.get("expect") if isinstance(test, dict) else None
        for entry in expected if isinstance(expected, list) else ():
            name = entry.get("alert") if isinstance(entry, dict) else None
            if isinstance(name, str):
                found.add(name)
        moments = test.get("at") if isinstance(test, dict) else None
        for states in moments.values() if isinstance(moments, dict) else ():
            for name, state in states.items() if isinstance(states, dict) else ():
                if "firing" in str(state.get("state", "") if isinstance(state, dict) else state):
                    found.add(name)
    return frozenset(found)


def named_rules(path: str, text: bytes | str) -> tuple[str, ...]:
    """The rule files that a test file names, relative to itself; empty when it is about the one beside it."""
    named = read_lenient(path, text).get("rules")
    return tuple(name for name in named if isinstance(name, str)) if isinstance(named, list) else ()


def read_lenient(path: str, text: bytes | str) -> dict[str, object]:
    """The top of a document, whatever is wrong with it."""
    try:
        value = read_document(text, path).value
    except DocumentError as error:
        value = error.document.value if error.document is not None else None
    return value if isinstance(value, dict) else {}
