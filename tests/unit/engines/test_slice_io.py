"""What the work loop of every engine is given."""

from openslob.engines.mysql import slice_procedure as mysql
from openslob.engines.mysql.names import Names
from openslob.engines.postgresql import slice_procedure as postgresql
from openslob.engines.slice_io import step_aside_s
from openslob.run.plan import session_plans
from openslob.workload import Workload


def plan(**parameters):
    return session_plans(Workload(schemas=1, **parameters), 8192, "t")[0]


def test_sessions_that_begin_together_step_aside_and_those_with_due_times_do_not():
    assert step_aside_s(plan(sessions=100)) == 0.02
    assert step_aside_s(plan(sessions=2)) == 0
    for arguments in (postgresql.slice_parameters, lambda each: mysql.slice_parameters(each, Names())):
        assert arguments(plan(sessions=100))["step_aside"] == 0.02
        assert arguments(plan(sessions=100, target_ops=1000))["step_aside"] == 0
