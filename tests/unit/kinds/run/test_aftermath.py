"""What is known after a window: whose CPU it was, by the kinds of the server's processes or threads."""

import pytest

from factories import measurements
from factories.tables import table
from openslob.engines.base import SESSION_KINDS
from openslob.host.sampler import UNATTRIBUTED
from openslob.kinds.run.aftermath import split_cpu

UNSPLIT = measurements.host(foreground_cpu_s=None, background_cpu_s=None)


def test_sessions_of_every_engine_are_the_foreground_and_all_else_the_background():
    by_kind = {
        **dict.fromkeys(SESSION_KINDS, 2.0),
        "checkpointer": 1.0,
        "LGWR": 0.5,
        UNATTRIBUTED: 0.3,
    }
    found = split_cpu(UNSPLIT, by_kind)
    assert found.foreground_cpu_s == pytest.approx(2.0 * len(SESSION_KINDS))
    assert found.background_cpu_s == pytest.approx(1.5)


@table(
    ("by_kind", "says"),
    [
        (None, "no kinds"),
        ({"client backend": 9.7, UNATTRIBUTED: 0.3}, "3.0 % of the server's CPU was used by processes"),
        ({"checkpointer": 10.0, UNATTRIBUTED: 0.0}, "0.0 % of the server's CPU"),
    ],
)
def test_it_is_unknown_where_too_much_is_nobody_s(by_kind, says):
    found = split_cpu(UNSPLIT, by_kind, "no kinds")
    assert (found.foreground_cpu_s, found.background_cpu_s) == (None, None)
    for part in ("foreground_cpu_s", "background_cpu_s"):
        assert says in found.unknown[part]
