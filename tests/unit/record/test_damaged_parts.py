"""A record that was edited by hand is read, or refused in one line that names the part: readers meet no other type."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from factories import effort
from factories.paths import FIXTURES
from openslob.core.errors import SlobError
from openslob.record import kinds
from openslob.record.kinds import KindOfDocument
from openslob.record.versions import RUN, Format

pytestmark = pytest.mark.any_python

RECORDS = FIXTURES / "records"
FORMATS: dict[str, Format[Any]] = {
    "run.json": RUN,
    **{each.folder.file_name: each.folder.form for each in kinds.every() if isinstance(each, KindOfDocument)},
}
ABSENT = object()
RUN_RECORD, PACED, ENDURANCE = "v4/measured/run.json", "v2/paced/run.json", "endurance-v1/measured/endurance.json"


@cache
def document(name: str) -> Any:
    return json.loads((RECORDS / name).read_text())


def changed(name: str, path: tuple[Any, ...], value: Any) -> Any:
    """A record with this value at a place, or without what is there; what is beside the way to it is not copied."""
    found = holder = copy(document(name))
    for key in path[:-1]:
        holder[key] = copy(holder[key])
        holder = holder[key]
    if value is ABSENT:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return found


def refused(name: str, path: tuple[Any, ...], value: Any) -> str:
    with pytest.raises(SlobError) as error:
        FORMATS[name.rpartition("/")[2]].parse(changed(name, path, value), name)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        (RUN_RECORD, ("spec", "schemas"), {}),
        (RUN_RECORD, ("spec", "do_hotspot"), None),
        (RUN_RECORD, ("latency", "select", "buckets"), [1, 2]),
        (RUN_RECORD, ("latency", "select", "buckets"), [[1]]),
        (RUN_RECORD, ("latency", "select", "slowest", 0, "from_s"), ABSENT),
        (RUN_RECORD, ("latency", "select", "count"), "many"),
        (RUN_RECORD, ("environment", "server_cpu_s"), {"user": "x"}),
        (RUN_RECORD, ("window", "load_seconds"), "nan"),
        (RUN_RECORD, ("window", "load_seconds"), 1e300),
        (RUN_RECORD, ("window", "load_start_ns"), 10**30),
        (RUN_RECORD, ("environment", "server_clock_offset_s"), 1e300),
        (RUN_RECORD, ("engine", "plans", "select"), []),
        (ENDURANCE, ("tables", "levels", 0, "ops_per_s"), ABSENT),
        (ENDURANCE, ("tables", "levels", 0, "begin_s"), "x"),
        (ENDURANCE, ("tables", "levels"), None),
        (ENDURANCE, ("workload", "run_time"), 10**9),
        ("failover-v1/measured/failover.json", ("asked", "sessions"), []),
        ("failover-v1/measured/failover.json", ("asked", "sessions"), [{"a": 1}]),
        ("crash-v1/measured/crash.json", ("asked", "cycles"), {}),
        ("storage-v1/dd/storage.json", ("asked", "block_bytes"), "8K"),
    ],
)
def test_a_part_of_another_type_is_named(name, path, value):
    said = refused(name, path, value)
    assert said.startswith(f"{name} is damaged")
    assert str(path[0]) in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("name", "part", "why"),
    [
        (RUN_RECORD, "summary", "it has a window and no summary"),
        (RUN_RECORD, "latency", "it has operations and no latency"),
        (PACED, "response", "it has a given rate and no response times"),
        (ENDURANCE, "summary", "it has judged segments and no summary"),
        ("repeated-v1/measured/repeated.json", "summary", "it has runs and no summary"),
        ("lab-v1/measured/lab.json", "results", "it has runs and no results"),
    ],
)
def test_a_part_that_follows_from_others_is_missed(name, part, why):
    """Without it, all figures that are left would be called verified."""
    assert refused(name, (part,), ABSENT).startswith(f"{name} is damaged: {why}; ")


def test_latency_of_every_kind_of_operation_is_there():
    assert "operations of the kind update, and no latency" in refused(RUN_RECORD, ("latency", "update"), ABSENT)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of a document, of lists the first one, down to those of the parts of its parts."""
    if path:
        yield path
    if len(path) > 3:
        return
    inner = value.items() if isinstance(value, dict) else list(enumerate(value))[:1] if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


ODD = (ABSENT, None, [[]], "x", 10**400)
# Of the same place in records of other versions and kinds, others are tried, and other places.
AT_A_PLACE, EACH = effort.number(1, len(ODD)), effort.number(3, 1)


@pytest.mark.parametrize("file", sorted(RECORDS.glob("*/*/*.json")), ids=lambda file: str(file.relative_to(RECORDS)))
def test_whatever_is_anywhere_in_a_record_it_is_read_or_refused(file: Path):
    name, form, tried = str(file.relative_to(RECORDS)), FORMATS[file.name], 0
    chance = random.Random(name)
    for path in [*places(document(name))][chance.randrange(EACH) :: EACH]:
        for value in chance.sample(ODD, AT_A_PLACE):
            tried += 1
            try:
                form.parse(changed(name, path, value), name)
            except SlobError as error:
                assert "\n" not in str(error)
    assert tried > 200 / len(ODD) * AT_A_PLACE / EACH
