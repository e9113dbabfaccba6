"""Classes of sessions: what texts and tables mean, what is refused, and what of a load is whose."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from factories.tables import table
from openslob.core.session_classes import join_classes, name_kind, parse_classes, split_kind
from openslob.core.workload import MOST_SESSIONS, Workload, class_parameters

BOTH = "readers:sessions=4,update_pct=0;writers:sessions=2,update_pct=100,target_ops=500"


def made(classes: object = BOTH, **given: object) -> Workload:
    return Workload.model_validate({"scale": "100", "classes": classes, **given})


def refused(classes: object, **given: object) -> str:
    with pytest.raises(ValidationError) as caught:
        made(classes, **given)
    (error,) = caught.value.errors()
    assert "\n" not in error["msg"]
    return error["msg"].removeprefix("Value error, ")


def test_a_class_has_its_own_parameters_and_all_others_of_the_load():
    load = made(work_unit=8, update_pct=7)
    readers, writers = load.parts
    assert [(each.name, each.number, list(each.numbers)) for each in load.parts] == [
        ("readers", 0, [0, 1, 2, 3]),
        ("writers", 1, [4, 5]),
    ]
    assert (readers.workload.update_pct, writers.workload.update_pct) == (0, 100)
    assert {each.workload.work_unit for each in load.parts} == {8}
    assert (load.total_sessions, load.sessions, load.update_pct) == (6, 6, 7)
    assert (readers.workload.is_paced, writers.workload.is_paced, load.is_paced) == (False, True, True)
    assert (load.writes, load.scans, load.thinks, load.ops_per_s_wanted(8192)) == (True, False, False, 500)
    # A class is a load without classes, whose own sessions are its part.
    assert [each.workload.parts[0].workload for each in load.parts] == [readers.workload, writers.workload]


def test_a_class_of_no_sessions_does_nothing_and_is_checked_all_the_same():
    text = "readers:sessions=0,update_pct=7;writers:sessions=2,update_pct=100"
    load = made(text)
    assert [(each.name, each.number, list(each.numbers)) for each in load.parts] == [("writers", 0, [0, 1])]
    assert (load.total_sessions, load.classes) == (2, text)
    assert refused("readers:sessions=0,update_pct=101;writers:sessions=2").startswith("class readers: update_pct=101: ")


def test_texts_and_tables_mean_the_same_and_are_written_in_one_way():
    table_of = {"Readers": {"SESSIONS": 4, "update-pct": 0}, "writers": {"sessions": 2, "do_hotspot": True}}
    text = " readers : sessions = 4 , UPDATE_PCT=0;writers:sessions=2,do-hotspot=True; "
    assert made(table_of) == made(text)
    assert made(text).classes == "readers:sessions=4,update_pct=0;writers:sessions=2,do_hotspot=True"
    assert join_classes(parse_classes(made(text).classes)) == made(text).classes


@table(
    ("classes", "why"),
    [
        ("readers", "class readers: '' is not PARAMETER=VALUE"),
        ("readers:update_pct=0", "class readers needs its number of sessions"),
        ("readers:sessions=0", "the classes have 0 sessions together"),
        ("readers:sessions=many", "class readers needs its number of sessions"),
        ("readers:sessions=1,run_time=5", "class readers: run_time is of all sessions; a class may have sessions,"),
        ("readers:sessions=1,commit_mode=nowait", "class readers: commit_mode is of all sessions"),
        ("readers:sessions=1,speed=5", "class readers: speed is not a parameter"),
        ("readers:sessions=1,update_pct=101", "class readers: update_pct=101: "),
        ("readers:sessions=1,think_tm_min=9", "class readers: THINK_TM_MIN=9"),
        ("readers:sessions=1,sessions=2", "class readers: sessions is given twice"),
        ("a:sessions=1;a:sessions=1", "class a is given twice"),
        ("a b:sessions=1", "'a b:sessions=1' is not a class of sessions"),
        (f"a:sessions={MOST_SESSIONS};b:sessions=1", "the classes have 32,769 sessions together"),
        (";", "there are 0 classes of sessions"),
        (";".join(f"c{number}:sessions=1" for number in range(17)), "there are 17 classes of sessions"),
        ({"readers": 4}, "class readers is not a table of parameters"),
    ],
)
def test_what_is_no_class_is_refused_in_one_line(classes, why):
    assert refused(classes).startswith(why)


@table(
    ("given", "why"),
    [
        ({"target_ops": 5}, "TARGET_OPS and TARGET_IOPS are of all sessions"),
        ({"block_path": "local"}, "BLOCK_PATH=local has no CLASSES"),
    ],
)
def test_what_only_loads_without_classes_have_is_refused(given, why):
    assert refused(BOTH, **given).startswith(why)


def test_a_load_without_classes_is_what_it_was():
    load = Workload(sessions=3)
    assert ("classes" in load.to_record(), "classes" in made().to_record()) == (False, True)
    assert load.fingerprint() == Workload(sessions=3, classes=None).fingerprint() != made().fingerprint()
    (part,) = load.parts
    assert (part.workload, part.name, list(part.numbers)) == (load, "", [0, 1, 2])


def test_other_classes_in_the_place_of_these_bring_their_own_sessions():
    assert made().changed(classes="a:sessions=3").total_sessions == 3
    assert Workload.model_validate({**made().to_record(), "classes": "a:sessions=9"}).total_sessions == 9


def test_every_parameter_of_a_class_is_one_of_a_load():
    assert set(class_parameters()) < set(Workload.model_fields)
    assert {"sessions", "update_pct", "hotspot_mb", "think_tm_min", "target_iops"} <= set(class_parameters())
    assert not {"schemas", "scale", "run_time", "seed", "mode", "classes", "commit_mode"} & set(class_parameters())


@table(("of_class", "name"), [("readers", "readers/select"), ("", "select")])
def test_a_kind_of_operation_has_a_name_in_raw_files(of_class, name):
    assert name_kind(of_class, "select") == name
    assert split_kind(name) == (of_class, "select")
