"""The rules that a rule asks about, by `firing(ALERT)` and `pending(ALERT)`."""

from __future__ import annotations

from sentinel.rules.expression.nodes import alerts_of
from sentinel.rules.model import Rule, RuleSet


def asked_rules(rule: Rule, rules: RuleSet) -> list[Rule]:
    """The rules about whose alerts it asks, for some runs at least, and those about which these ask in turn."""
    found: dict[str, Rule] = {rule.name: rule}
    pending = [rule]
    while pending:
        one = pending.pop()
        for alert in (alert for variant in one.variants for root in variant.expressions() for alert in alerts_of(root)):
            other = rules.named(alert.name)
            if other is not None and other.name not in found:
                found[other.name] = other
                pending.append(other)
    return list(found.values())[1:]
