"""What the work loop of every engine is given."""

from factories.tables import table
from openslob.core.workload import Workload
from openslob.engines.mysql import slice_procedure as mysql
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.postgresql import slice_procedure as postgresql
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.slice_io import step_aside_s
from openslob.kinds.run.plan import session_plans


def plan(**parameters):
    return session_plans(Workload(schemas=1, **parameters), 8192, "t")[0]


def test_sessions_that_begin_together_step_aside_and_those_with_due_times_do_not():
    assert step_aside_s(plan(sessions=100)) == 0.02
    assert step_aside_s(plan(sessions=2)) == 0
    for arguments in (postgresql.slice_parameters, lambda each: mysql.slice_parameters(each, MysqlNames())):
        assert arguments(plan(sessions=100))["step_aside"] == 0.02
        assert arguments(plan(sessions=100, target_ops=1000))["step_aside"] == 0


def _texts(workload):
    yield postgresql.compose_slice(PostgresNames(), 1, workload).as_string()
    yield mysql.compose_slice(MysqlNames(), 1, workload, 128)


@table(("parameters", "together"), [({"sessions": 100}, True), ({"sessions": 2}, False),
                                    ({"sessions": 100, "target_ops": 1000}, False)])  # fmt: skip
def test_only_a_loop_of_sessions_that_begin_together_waits_just_before_its_operation(parameters, together):
    for text in _texts(Workload(schemas=1, **parameters)):
        # Once for each kind of operation.
        assert (text.count("IF waits THEN"), text.count("IF waited THEN")) == ((3, 3) if together else (0, 0))
