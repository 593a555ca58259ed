"""Two sets of rules, and what differs in their text."""

from sentinel.rules.loader import load_rules
from sentinel.score.edits import Edit, compare_rules

OLD = """\
rules:
  - {alert: kl-high, symptom: kl-high, warning: kl.ref > 0.1, for: 3 steps, summary: "KL {value}"}
  - {alert: clip-high, symptom: clip-high, warning: clip_frac > 40%, runbook: {causes: [steps too large]}}
  - {alert: nonfinite, symptom: nonfinite, critical: nonfinite(*)}
  - {alert: length-jump, symptom: length-jump, info: length.mean > 9}
"""
NEW = """\
rules:
  - {alert: kl-high, symptom: kl-high, warning: kl.ref > 0.2, critical: kl.ref > 1, where: {framework: trl},
     summary: "KL"}
  - {alert: clip-high, symptom: clip-high, warning: "clip_frac  >  40%", runbook: {causes: [stale samples]}}
  - {alert: stall, symptom: stall, critical: "age(reward.mean) > 5m"}
  - {alert: nonfinite, symptom: nonfinite, critical: nonfinite(*)}
"""


def compared(old=OLD, new=NEW):
    return {rule.name: rule for rule in compare_rules(*(load_rules([("r.yaml", text)]) for text in (old, new)))}


def test_each_rule_is_added_removed_changed_reworded_or_unchanged():
    found = compared()
    assert {name: rule.change for name, rule in found.items()} == {
        "kl-high": "changed",
        "clip-high": "reworded",
        "stall": "added",
        "nonfinite": "unchanged",
        "length-jump": "removed",
    }
    assert list(found)[-1] == "length-jump"


def test_an_edit_names_the_key_as_a_rule_file_does():
    edits = {edit.key: edit for edit in compared()["kl-high"].edits}
    assert edits["warning"] == Edit("warning", "kl.ref > 0.1", "kl.ref > 0.2")
    assert edits["critical"] == Edit("critical", "", "kl.ref > 1.0")
    assert edits["for"] == Edit("for", "3 steps", "")
    assert edits["where"] == Edit("where", "", "framework: trl")
    assert edits["summary"] == Edit("summary", "KL {value}", "KL")
    assert len(edits) == 5


def test_a_rule_that_is_written_otherwise_and_means_the_same_is_unchanged_but_for_its_words():
    (edit,) = compared()["clip-high"].edits
    assert edit == Edit("runbook", "causes: steps too large", "causes: stale samples")


def test_the_same_rules_are_unchanged():
    assert {rule.change for rule in compared(OLD, OLD).values()} == {"unchanged"}
