"""What the work loop of every engine is given."""

from factories.tables import table
from openslob.core.access import KeyLaw
from openslob.core.workload import Workload
from openslob.engines.mysql import slice_procedure as mysql
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.postgresql import slice_procedure as postgresql
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.slice_io import loop_parameters, step_aside_s
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


def _texts(workload):
    yield postgresql.compose_slice(PostgresNames(), 1, workload).as_string()
    yield mysql.compose_slice(MysqlNames(), 1, workload, 128)


@table(("parameters", "together"), [({"sessions": 100}, True), ({"sessions": 2}, False),
                                    ({"sessions": 100, "target_ops": 1000}, False)])  # fmt: skip
def test_only_a_loop_of_sessions_that_begin_together_waits_just_before_its_operation(parameters, together):
    for text in _texts(Workload(schemas=1, **parameters)):
        # Once for each kind of operation.
        assert (text.count("IF waits THEN"), text.count("IF waited THEN")) == ((3, 3) if together else (0, 0))
