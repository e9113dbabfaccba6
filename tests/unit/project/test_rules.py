"""A changed threshold changes the version of the rules by which records say that they were judged."""

import json
import sys

from factories.forgeries import SEALED, checked
from factories.paths import ROOT
from openslob.analyze import rebuild
from openslob.analyze.verdict_registry import RULES_VERSION

sys.path.insert(0, str(ROOT / "tools"))

import record_rules


def test_thresholds_and_severities_are_those_of_the_version_of_the_rules():
    known, now = json.loads(record_rules.FILE.read_text()), json.loads(json.dumps(record_rules.rules()))
    changed = sorted(name for name in {*known["rules"], *now} if known["rules"].get(name) != now.get(name))
    assert changed == [], "raise RULES_VERSION in analyze/verdict_registry.py, and run python tools/record_rules.py"
    assert known["version"] == RULES_VERSION, "run python tools/record_rules.py"


def test_rules_are_the_thresholds_of_every_part_that_judges():
    rules = record_rules.rules()
    for name in (
        "verdict limit_found", "openslob.analyze.verdicts.course.MAX_IDLE_PCT",
        "openslob.analyze.other_sessions.MAX_SHARE_PCT",
    ):  # fmt: skip
        assert rules[name], name
    assert any(name.startswith("openslob.analyze.causes.") for name in rules)
    assert rules["openslob.analyze.verdicts.bottleneck.SATURATED_PCT"] == 95.0


def test_under_the_same_version_a_record_is_judged_as_it_was(monkeypatch):
    # Of another version of the program sentences may differ, and nothing else may.
    monkeypatch.setattr(rebuild, "__version__", "a later one")
    assert checked(SEALED).faults == [], "rules changed without a threshold: raise RULES_VERSION all the same"
