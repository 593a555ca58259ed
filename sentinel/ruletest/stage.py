"""What the tests of one file share: the rules, compiled once for the keys of all of them."""

from __future__ import annotations

from sentinel.engine.engine import Engine
from sentinel.engine.program import Program
from sentinel.metrics import Dictionary
from sentinel.metrics import default as default_dictionary
from sentinel.rules.model import RuleSet
from sentinel.ruletest.document import TimelineDocument
from sentinel.ruletest.reading import Timelines
from sentinel.ruletest.script import RUN, reference_of


class Stage:
    """Gives each test an engine of its own over the shared rules.

    A test's rows are the same rows beside keys that it never logs; but compiling costs more than playing.
    """

    def __init__(self, file: Timelines, rules: RuleSet, dictionary: Dictionary | None = None) -> None:
        self.dictionary = dictionary or default_dictionary()
        self.program = Program(rules, self.dictionary)
        self._keys: dict[str | None, dict[str, None]] = {}
        for test in file.tests:
            self._keys.setdefault(self.framework(test), {}).update(dict.fromkeys(test.series))

    def framework(self, test: TimelineDocument) -> str | None:
        return test.framework or self.dictionary.guess(test.series)

    def engine(self, test: TimelineDocument) -> Engine:
        """An engine that has heard nothing yet."""
        references = reference_of(test, self.dictionary)
        engine = Engine(self.program.rules, program=self.program, references=references)
        framework, own = self.framework(test), list(test.series)
        keys = list(self._keys[framework])
        together = self.dictionary.translate(keys, framework)
        # Other keys can change what a key of this test is (verl's rewards beside its scores): then it stays alone.
        alone = self.dictionary.translate(own, framework)
        same = all(together.get(key) == name for key, name in alone.items())
        # What one test logs is derived in another that logs its parts alone.
        derived = {one.name for one in self.dictionary.derivations(alone.values())}
        if test.samples is None and same and derived.isdisjoint(together.values()):
            engine.expect(RUN, keys, framework)
        return engine
