"""The names by which browsers may reach the page: those of the loopback, and those that the user gives."""

from __future__ import annotations

import socket

import pytest

from openslob.core.errors import UsageError
from openslob.live.web.where import Where

LOCAL = {"127.0.0.1:8321", "localhost:8321", "[::1]:8321"}


@pytest.mark.parametrize(
    ("listen", "names", "more", "address"),
    [
        (None, (), set(), "http://127.0.0.1:8321"),
        ("127.0.0.1", (), {"127.0.0.1:8321"}, "http://127.0.0.1:8321"),
        ("0.0.0.0", (), {f"{socket.gethostname().lower()}:8321"}, "http://127.0.0.1:8321"),
        ("10.1.2.3", (), {"10.1.2.3:8321"}, "http://10.1.2.3:8321"),
        ("fd00::5", (), {"[fd00::5]:8321"}, "http://[fd00::5]:8321"),
        ("10.1.2.3", ("DB1",), {"10.1.2.3:8321", "db1", "db1:8321"}, "http://db1:8321"),
        (None, ("localhost:9000", "b"), {"localhost:9000", "b", "b:8321"}, "http://localhost:9000"),
        (None, ("https://slob.example",), {"slob.example"}, "https://slob.example"),
        (None, ("https://slob.example:8443",), {"slob.example:8443"}, "https://slob.example:8443"),
    ],
)
def test_the_names_that_are_answered(listen: str | None, names: tuple[str, ...], more: set[str], address: str) -> None:
    where = Where.parse(8321, listen, names)
    assert set(where.hosts(8321)) == LOCAL | more
    assert where.address(8321) == address


def test_browsers_leave_out_the_port_that_http_has_by_itself() -> None:
    assert set(Where.parse(80, None, ["db1"]).hosts(80)) == {"127.0.0.1", "localhost", "[::1]", "db1"}
    assert Where.parse(80, None, ()).address(80) == "http://127.0.0.1"


@pytest.mark.parametrize(
    ("listen", "names", "readable"),
    [
        (None, (), False),
        ("127.0.0.1", (), False),
        ("::1", (), False),
        ("0.0.0.0", (), True),
        ("0.0.0.0", ("db1",), True),
        ("0.0.0.0", ("https://slob.example",), False),
    ],
)
def test_who_lets_others_in_without_encryption_is_told(
    listen: str | None, names: tuple[str, ...], readable: bool
) -> None:
    assert Where.parse(None, listen, names).is_readable_on_the_way is readable


@pytest.mark.parametrize("listen", ["db1", "", "10.1.2", "10.1.2.3:80", "0.0.0.0/0"])
def test_what_is_no_address_is_not_listened_on(listen: str) -> None:
    with pytest.raises(UsageError, match=r"--listen .* is not an address"):
        Where.parse(None, listen, ())


@pytest.mark.parametrize("name", ["", "*", "a b", "a/b", "ftp://a", "a:", "a:x", "-a", "a@b", "https://", "é"])
def test_what_is_no_name_is_not_answered(name: str) -> None:
    with pytest.raises(UsageError, match=r"--host .* is not the name of a host"):
        Where.parse(None, None, [name])
