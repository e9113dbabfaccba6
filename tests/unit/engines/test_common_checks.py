"""Checks that are the same for every engine: where the data are, and whose the sessions are that a run finds."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from factories.tables import table
from openslob.core.errors import SlobError
from openslob.core.workload import DataSpec, Workload
from openslob.engines import common_checks
from openslob.engines.common_checks import (
    check_connections,
    check_data,
    check_loop,
    place_remedies,
    require_own_storage,
)
from openslob.engines.facts import DataState, Finding, ServerFacts
from openslob.engines.flavour import Identity

SMALL = Workload(schemas=2, scale="100", scan_table_sz="5", work_unit=4)
FACTS = ServerFacts("Product", "1.0", 4096, 1000, 50, {}, True, tablespace="SLOB4K")


def test_a_specification_without_tablespace_has_the_fingerprint_it_always_had():
    assert SMALL.data(8192).fingerprint() == "0fb93e44a375fc29"
    placed = SMALL.data(4096, "SLOB4K")
    assert (placed.tablespace, placed.block_size) == ("SLOB4K", 4096)
    assert len({SMALL.data(4096).fingerprint(), placed.fingerprint(), SMALL.data(4096, "B").fingerprint()}) == 3


def test_a_service_that_takes_no_statement_for_a_setting_is_not_given_one_by_a_superuser():
    own = "as a superuser in database bench"
    found = [Finding(name, "why", f"{name} x", False, by=own) for name in ("ALTER SYSTEM SET", "ALTER ROLE")]
    assert list(place_remedies(found, "", ("ALTER SYSTEM",))) == found
    placed = list(place_remedies(found, "in the DB parameter group", ("ALTER SYSTEM",)))
    assert [each.by for each in placed] == ["in the DB parameter group", own]
    assert [each.remedy for each in placed] == [each.remedy for each in found]


def test_a_server_that_runs_no_loop_is_offered_that_of_the_client():
    identity = Identity("TinyDB", "1", "MySQL", "8.0.1", "", "", no_loop="it has no procedures")
    tiny, of_client = replace(FACTS, product="TinyDB", identity=identity), SMALL.changed(loop="client")
    (finding,) = check_loop(SMALL, tiny)
    assert finding.blocking
    assert finding.why == "TinyDB can't run the work loop: it has no procedures"
    assert "--loop client" in finding.remedy
    assert not [*check_loop(of_client, tiny), *check_loop(SMALL, FACTS)]


def test_data_of_another_tablespace_do_not_fit():
    state = DataState(SMALL.data(FACTS.block_size, FACTS.tablespace), True, "now", {1: 100, 2: 100})
    assert not list(check_data(SMALL, FACTS, state))
    (finding,) = check_data(SMALL, replace(FACTS, tablespace="OTHER"), state)
    assert finding.blocking
    assert "SLOB4K" in finding.why
    assert "OTHER" in finding.why


@table("placed", [{"tablespace": "SLOB4K"}, {"block_size": 4096}])
def test_an_engine_without_tablespaces_refuses_them(placed):
    plain = DataSpec(schemas=2, scale_blocks=100, scan_blocks=5, obfuscate=False)
    require_own_storage(plain, "host/db")
    with pytest.raises(SlobError, match="host/db can only"):
        require_own_storage(replace(plain, **placed), "host/db")


def test_sessions_of_a_driver_that_lives_are_not_taken_from_it(monkeypatch):
    monkeypatch.setattr(common_checks, "LOCK_PATIENCE_S", 0.01)
    lapsing = iter([["process 7"], []])
    common_checks.require_no_driver("here/slob", lambda: next(lapsing))
    with pytest.raises(SlobError, match=r" here/slob, .* \(see process 7\)"):
        common_checks.require_no_driver("here/slob", lambda: ["process 7"])


def test_too_little_data_is_one_finding_with_both_cures():
    state = DataState(DataSpec(8, 512, 128, False), True, "", {})
    facts = replace(FACTS, tablespace=None, block_size=8192)
    (found,) = check_data(Workload(schemas=16, scale="1G"), facts, state)
    assert re.findall(r"([A-Z]{2,}) asks for ([\d,]+) and ([\d,]+) ", found.why) == [
        ("SCHEMAS", "16", "8"), ("SCALE", "131,072", "512"),
    ]  # fmt: skip
    assert re.findall(r"[A-Z]{2,}|`.*`$", found.remedy) == ["SCHEMAS", "SCALE", "`slob load --schemas 16 --scale 1G`"]
    (scan,) = check_data(Workload(schemas=8, scale="512", scan_pct=5, scan_table_sz="200"), facts, state)
    assert scan.remedy.endswith("`slob load --schemas 8 --scale 512 --scan-table-sz 200`")


@table(
    ("free", "limit", "by", "says"),
    [
        (1005, "", "", None),
        (None, "", "", None),
        (1004, "", "", "slob server start NAME --max-sessions 1000"),
        (1004, "ALTER ROLE x CONNECTION LIMIT 1005", "a superuser", "ALTER ROLE x CONNECTION LIMIT 1005"),
    ],
)
def test_too_few_connections_are_told_with_what_limits_them(free, limit, by, says):
    asked = []
    found = list(
        check_connections(Workload(sessions=1000), free, lambda needed: asked.append(needed) or limit, "a superuser")
    )
    assert [(says in each.remedy, each.by, each.blocking) for each in found] == ([(True, by, True)] if says else [])
    assert [each.why for each in found] == ["1,000 sessions need 1,005 connections and 1,004 are free"] * len(found)
    assert asked == [1005] * len(found)
