"""What is said of a server's settings without asking it: the values that it has, and whether it takes others."""

from __future__ import annotations

from contextlib import suppress

import pytest

from factories.server_subjects import SUBJECTS, Subject
from openslob.core.errors import UsageError
from openslob.core.units import MIB
from openslob.engines.postgresql import known_settings

pytestmark = pytest.mark.server

# How to ask a server for all of its settings.
ALL = {
    "postgresql": "SELECT name, current_setting(name, true) FROM pg_settings",
    "mariadb": "SELECT LOWER(VARIABLE_NAME), GLOBAL_VALUE FROM information_schema.SYSTEM_VARIABLES",
}


@pytest.fixture(params=SUBJECTS, ids=lambda subject: subject.engine)
def subject(request):
    return request.param


@pytest.fixture
def server(subject, make_server):
    return make_server(engine=subject.engine, cache_bytes=64 * MIB, log_bytes=128 * MIB)


def values_of(server, subject: Subject) -> dict[str, str]:
    connection = subject.connect(server)
    try:
        cursor = connection.cursor()
        cursor.execute(ALL[subject.engine])
        return {name: "" if value is None else str(value) for name, value in cursor.fetchall()}
    finally:
        connection.close()


def test_a_setting_has_the_value_that_a_server_of_this_specification_has(subject, server):
    found = {}
    with server.known_settings() as known:
        real = values_of(server, subject)
        for name in real:
            with suppress(UsageError):
                found[name] = known.find(name).value
    assert len(found) > 100
    # MariaDB 11.8 sizes the index, which is off, by the cache that it got in the end.
    found.pop("innodb_adaptive_hash_index_cells", None)
    others = {name: (value, real[name]) for name, value in found.items() if value != real[name]}
    assert {name: both for name, both in others.items() if not both[0].startswith("/")} == {}, others


def test_each_value_that_needs_a_new_server_is_tried_on_new_data(make_server):
    """A file of another size than the one before would be refused."""
    with make_server(engine="mariadb", started=False).known_settings() as known:
        setting = known.find("innodb_data_file_path")
        for megabytes in (12, 24):
            known.require(setting, f"ibdata1:{megabytes}M:autoextend")


def test_a_value_with_which_a_server_does_not_end_is_refused_in_one_line(make_server, monkeypatch):
    with make_server(started=False).known_settings() as known:
        monkeypatch.setattr(known_settings, "TRIAL_S", 5.0)
        with pytest.raises(UsageError, match=r"refuses post_auth_delay=2000: postgres did not end within 5 s$"):
            known.require(known.find("post_auth_delay"), "2000")
