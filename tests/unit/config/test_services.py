"""The services that a slob.conf names, as a target."""

from __future__ import annotations

import pytest

from openslob.config.files import read_shell, target_of_services
from openslob.core.errors import UsageError


@pytest.mark.parametrize(
    ("text", "target", "told"),
    [
        ("SQLNET_SERVICE_BASE=rac", "sqlnet://slob@/rac", "f:1: SQLNET_SERVICE_BASE: unless another target is given"),
        ("SQLNET_SERVICE_BASE=rac SQLNET_SERVICE_MAX=0", "sqlnet://slob@/rac", "sessions connect to rac as slob"),
        (
            "SQLNET_SERVICE_BASE=rac\nSQLNET_SERVICE_MAX=3\nADMIN_SQLNET_SERVICE=rac",
            "sqlnet://slob@/rac1,sqlnet://slob@/rac2,sqlnet://slob@/rac3",
            "f:3: ADMIN_SQLNET_SERVICE is not used: loads and checks connect to rac1, like the sessions",
        ),
        ("ADMIN_SQLNET_SERVICE=//db:1521/s", "sqlnet://slob@/%2F%2Fdb%3A1521%2Fs", "sessions connect to //db:1521/s"),
        ("ADMIN_SQLNET_SERVICE=db SQLNET_SERVICE_MAX=2", "sqlnet://slob@/db", "sessions connect to db as slob"),
    ],
)
def test_services_are_the_target(text, target, told):
    notices = []
    found = target_of_services(read_shell(text, "f", {}), notices)
    assert found.value == target
    assert told in "\n".join(notices)


def test_a_file_without_services_has_no_target():
    assert target_of_services(read_shell("SQLNET_SERVICE_BASE= SQLNET_SERVICE_MAX=2", "f", {}), []) is None


@pytest.mark.parametrize("number", ["two", "-1", "65"])
def test_a_number_of_services_is_a_small_number(number):
    with pytest.raises(
        UsageError, match=r"SQLNET_SERVICE_MAX=.* is not allowed; allowed is a whole number from 0 to 64"
    ):
        target_of_services(read_shell(f"SQLNET_SERVICE_BASE=a SQLNET_SERVICE_MAX={number}", "f", {}), [])
