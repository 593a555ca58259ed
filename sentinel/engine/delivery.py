"""Which of a publisher's events have come, so that one that was sent twice counts once.

A publisher numbers its events. When the answer to a batch is lost it sends the batch again: without the numbers, two
hundred repeated steps would look like a run that went back to its beginning.
"""

from __future__ import annotations

import msgspec

MOST_HOLES = 256
"""Numbers below the newest that may still come; an event that Redis refused at first comes after later ones."""

MOST_PUBLISHERS = 32
"""Publishers of one run that are remembered: a new one for each process that starts."""


class Delivery(msgspec.Struct):
    """One publisher's events: the newest number that came, and the ones below it that did not."""

    newest: int = -1
    holes: list[int] = []

    def admit(self, number: int) -> bool:
        """True the first time that a number comes."""
        if number == self.newest + 1:
            self.newest = number
            return True
        if number > self.newest:
            first = max(self.newest + 1, number - MOST_HOLES)
            self.holes = [*self.holes, *range(first, number)][-MOST_HOLES:]
            self.newest = number
            return True
        if number in self.holes:
            self.holes.remove(number)
            return True
        return False


def admit(deliveries: dict[str, Delivery], publisher: str, number: int) -> bool:
    """Whether a publisher's event is new. Remembers it; forgets the publisher heard of first when there are many."""
    delivery = deliveries.get(publisher)
    if delivery is None:
        if len(deliveries) >= MOST_PUBLISHERS:
            del deliveries[next(iter(deliveries))]
        # The first number that we see may not be its first: we can have come later.
        deliveries[publisher] = Delivery(number)
        return True
    return delivery.admit(number)
