"""The registry of verdicts has those that are judged, in the order of judgement."""

from collections import Counter

from openslob.analyze.verdict_registry import NAMES, REGISTRY, Severity, VerdictGroup, invalidates
from openslob.analyze.verdicts import OF_ANY_LOAD, VERDICTS


def test_it_has_each_verdict_once_in_the_order_of_judgement():
    assert list(NAMES) == [verdict.__name__ for verdict in VERDICTS]
    assert max(Counter(NAMES).values()) == 1
    assert {verdict.__name__ for verdict in OF_ANY_LOAD} <= set(NAMES)


def test_every_question_has_a_verdict_and_every_severity_is_used():
    assert {row.group for row in REGISTRY} == set(VerdictGroup)
    assert {row.severity for row in REGISTRY} == set(Severity)


def test_what_disturbs_or_limits_a_run_makes_no_figure_invalid():
    about = {row.group for row in REGISTRY if invalidates(row.name)}
    assert about == {VerdictGroup.VALID, VerdictGroup.READ}
