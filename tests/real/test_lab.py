"""The servers of a lab: started with each value, one at a time, and gone at its end."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from openslob.core.units import MIB
from openslob.engines import registry
from openslob.engines.managed.base import RUNNING
from openslob.kinds.lab.plan import Question, arms_of
from openslob.kinds.lab.servers import PURPOSE, lab_servers, template

pytestmark = pytest.mark.server

# A lab without a setting, in a process of its own: it has no claim on what this one claims.
MAKE_NO_SERVER = """
from openslob.kinds.lab.servers import lab_servers, template
with lab_servers(template("embedded", 1 << 24), [], print):
    pass
"""


def made_for_a_lab(name):
    spec = registry.default_spec(name)
    server = registry.managed(replace(spec, cache_bytes=16 * MIB, log_bytes=64 * MIB, made_for=PURPOSE))
    server.start()


def test_a_lab_removes_what_a_killed_one_left_but_nothing_that_is_in_use(slob_home):
    for name in ("lab-7-1", "lab-8-0"):
        made_for_a_lab(name)
    with registry.claim("lab-8-0", "another lab"):
        in_use = subprocess.run([sys.executable, "-c", MAKE_NO_SERVER], capture_output=True, text=True, check=False)
        assert in_use.returncode == 0, in_use.stderr
        assert [name for name in registry.list_known() if name.startswith("lab")] == ["lab-8-0"]
    with lab_servers(template(registry.EMBEDDED, 16 * MIB), [], pytest.fail):
        assert registry.find("lab-8-0") is None


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
