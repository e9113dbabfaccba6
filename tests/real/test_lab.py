"""The servers of a lab: started with each value, one at a time, and gone at its end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from openslob.engines import registry
from openslob.engines.managed.base import RUNNING
from openslob.lab.plan import Question, arms_of
from openslob.lab.servers import PURPOSE, lab_servers, template
from openslob.units import MIB

pytestmark = pytest.mark.server


def test_a_side_is_a_server_that_has_the_value_and_is_gone_at_the_end(slob_home):
    spec = replace(template(registry.EMBEDDED, 16 * MIB), log_bytes=64 * MIB)
    with registry.managed(spec).known_settings() as known:
        arms = arms_of([Question("full_page_writes")], spec, known).arms
    with lab_servers(spec, arms, pytest.fail) as servers:
        for arm in (None, *arms):
            engine, server = servers.start("full_page_writes", arm, ("commit",))
            assert engine.facts().settings["full_page_writes"] == ("off" if arm else "on")
            assert (server.name, server.status().spec.made_for) == (PURPOSE, PURPOSE)
        servers.stop()
        assert server.status().state != RUNNING
    assert registry.find(PURPOSE) is None
