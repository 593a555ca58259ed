"""The table of labels speaks of symptoms that there are."""

from sentinel.rules.symptoms import symptoms
from sentinel.score.labels import labels, least_severity


def test_each_label_that_must_be_detected_has_symptoms_and_no_other_has():
    for label in labels().values():
        assert bool(label.fitting) == (label.kind == "broken"), label.name
        assert set(label.fitting) <= symptoms().keys(), label.name
        assert label.meaning


def test_each_symptom_is_a_label_that_it_fits():
    for name in symptoms():
        assert name in labels()[name].fitting


def test_an_alert_counts_from_warning_on_and_from_info_where_the_symptom_is_no_more():
    assert least_severity("kl-high") == "warning"
    assert least_severity("reward-plateau") == "info"
