"""What the work loop of every engine is given."""

import pytest

from factories.tables import table
from openslob.core.access import KeyLaw
from openslob.core.workload import Workload
from openslob.engines.mysql import slice_procedure as mysql
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.oracle import names as oracle
from openslob.engines.postgresql import slice_procedure as postgresql
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.slice_io import loop_parameters, procedures_of, step_aside_s
from openslob.kinds.run.plan import session_plans


def plan(**parameters):
    return session_plans(Workload(schemas=1, **parameters), 8192, "t")[0]


def test_sessions_that_begin_together_step_aside_and_those_with_due_times_do_not():
    assert step_aside_s(plan(sessions=100)) == 0.02
    assert step_aside_s(plan(sessions=2)) == 0
    for arguments in (postgresql.slice_parameters, lambda each: mysql.slice_parameters(each, MysqlNames())):
        assert arguments(plan(sessions=100))["step_aside"] == 0.02
        assert arguments(plan(sessions=100, target_ops=1000))["step_aside"] == 0


def test_only_skewed_keys_are_drawn_by_a_law():
    workloads = [Workload(schemas=1, access=access) for access in ("uniform", "hotspot", "zipf:0.99", "zipf:1")]
    postgresql_loop, mysql_loop = (list(texts) for texts in zip(*map(_texts, workloads), strict=True))
    assert postgresql_loop[0] == postgresql_loop[1]
    assert mysql_loop[0] == mysql_loop[1]
    for loop, random in ((postgresql_loop, "random()"), (mysql_loop, "RAND()")):
        assert [text.upper().count(f"+ {random} * ZIPF_WIDTH".upper()) for text in loop] == [0, 0, 2, 2]
        assert loop[0].lower().count(f"{random} * (span - ".lower()) == 2
        assert [text.upper().count("EXP(ZIPF_LOW") for text in loop] == [0, 0, 0, 2]


def test_a_loop_is_given_the_constants_of_its_law():
    law = KeyLaw(0.99, 1000 - 7)
    given = loop_parameters(plan(scale="1000", work_unit=8, access="zipf:0.99"))
    assert (given["zipf_keys"], given["zipf_step"], given["zipf_low"]) == (993, law.step, law.low)
    assert (given["zipf_width"], given["zipf_power"]) == (law.width, law.power)


def test_with_a_churn_each_session_is_given_a_ring_of_keys_and_replaces_rows_instead_of_updating_them():
    load = Workload(schemas=2, sessions=5, scale="1000", mode="churn")
    given = [loop_parameters(each) for each in session_plans(load, 8192, "t")]
    assert [(each["ring_key"], each["ring_keys"]) for each in given] == [
        (1, 333), (1, 333), (334, 333), (334, 333), (667, 334)
    ]  # fmt: skip
    assert {each["written_columns"] for each in given} == {19}
    for text in _texts(load):
        assert "UPDATE slob" not in text.replace('"', "").replace("`", "")
        assert (text.count("DELETE FROM "), text.count("INSERT INTO ")) == (2, 2)
    for text in _texts(Workload(schemas=2)):
        assert "INSERT INTO " not in text


def _texts(workload):
    yield postgresql.compose_slice(PostgresNames(), 1, workload).as_string()
    yield mysql.compose_slice(MysqlNames(), 1, workload, layout_of(8192))


def test_each_class_has_procedures_of_its_own_on_the_schemas_that_its_sessions_visit():
    load = Workload(schemas=4, classes="readers:sessions=5;writers:sessions=2")
    found = [(schema, part.name) for schema, part in procedures_of(load)]
    assert found == [*((schema, "readers") for schema in (1, 2, 3, 4)), (2, "writers"), (3, "writers")]
    assert [schema for schema, _ in procedures_of(Workload(schemas=4, sessions=2))] == [1, 2]
    assert MysqlNames().procedure(2) == "`slob`.`slice_2`"
    assert MysqlNames().procedure(2, 1) == "`slob`.`slice_2_1`"
    assert (oracle.procedure(2), oracle.procedure(2, 1)) == ("SLOB_SLICE_2", "SLOB_SLICE_2_1")
    assert all(oracle.is_made_by_load(oracle.procedure(2, part)) for part in (0, 1, 12))


def test_sessions_of_a_small_class_step_aside_among_many_of_others():
    load = Workload(schemas=1, classes="few:sessions=2;many:sessions=98;paced:sessions=2,target_ops=5")
    few, *_, paced = session_plans(load, 8192, "t")
    assert step_aside_s(few) == pytest.approx(102 * 2e-4)
    assert step_aside_s(paced) == 0
    text = postgresql.compose_slice(PostgresNames(), 1, few.workload, few.part, few.crowd).as_string()
    assert text.count("IF waits THEN") == 3


@table(("parameters", "together"), [({"sessions": 100}, True), ({"sessions": 2}, False),
                                    ({"sessions": 100, "target_ops": 1000}, False)])  # fmt: skip
def test_only_a_loop_of_sessions_that_begin_together_waits_just_before_its_operation(parameters, together):
    for text in _texts(Workload(schemas=1, **parameters)):
        # Once for each kind of operation.
        assert (text.count("IF waits THEN"), text.count("IF waited THEN")) == ((3, 3) if together else (0, 0))
