"""Who is at the other end of a connection: by real sockets of this process, and by tables of the kernel's form."""

import itertools
import os
import socket
import sys
from contextlib import contextmanager

import psutil
import pytest

from factories.tables import table
from openslob.engines.peer_process import UnprovedError, find_holder, find_listener, is_unix

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the proof is the Linux kernel's")


@contextmanager
def connected(family, address):
    with socket.socket(family) as server:
        server.bind(address)
        server.listen()
        with socket.socket(family) as client:
            client.connect(server.getsockname())
            accepted, _ = server.accept()
            with accepted:
                yield client


def test_a_unix_socket_tells_who_listens(tmp_path):
    with connected(socket.AF_UNIX, str(tmp_path / "s")) as client:
        assert is_unix(client.fileno())
        assert find_listener(client.fileno()) == os.getpid()
        assert client.fileno() >= 0  # looking did not close it


@table("family", [socket.AF_INET, socket.AF_INET6])
def test_the_process_with_the_far_end_is_found(family):
    if family == socket.AF_INET6 and not _has_ipv6():
        pytest.skip("this host has no IPv6")
    with connected(family, ("127.0.0.1" if family == socket.AF_INET else "::1", 0)) as client:
        assert not is_unix(client.fileno())
        assert find_holder(client.fileno(), (2**22 + 1, os.getpid())) == os.getpid()


def test_an_ipv4_client_of_an_ipv6_server_is_found():
    if not _has_ipv6():
        pytest.skip("this host has no IPv6")
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        client = socket.create_connection(("127.0.0.1", server.getsockname()[1]))
        accepted, _ = server.accept()
        with client, accepted:
            assert find_holder(client.fileno(), (os.getpid(),)) == os.getpid()


def _has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("missing", [1, 2])
def test_a_connection_that_a_reading_of_the_kernel_s_table_misses_is_found_by_the_next(monkeypatch, missing):
    read, readings = psutil.Process.net_connections, itertools.count()
    monkeypatch.setattr("psutil.Process.net_connections", lambda *of: [] if next(readings) < missing else read(*of))
    with connected(socket.AF_INET, ("127.0.0.1", 0)) as client:
        assert find_holder(client.fileno(), (os.getpid(),)) == os.getpid()


def test_another_process_is_not_taken_for_it():
    with connected(socket.AF_INET, ("127.0.0.1", 0)) as client:
        with pytest.raises(UnprovedError, match="other than"):
            find_holder(client.fileno(), (os.getppid(), 2**22 + 1))
        with pytest.raises(UnprovedError, match="other than"):
            find_holder(client.fileno(), ())


def test_a_connection_that_leaves_the_host_has_no_far_end_here(tmp_path, monkeypatch):
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(head)
    monkeypatch.setattr("psutil.PROCFS_PATH", str(tmp_path))
    with connected(socket.AF_INET, ("127.0.0.1", 0)) as client, pytest.raises(UnprovedError, match="not on this host"):
        find_holder(client.fileno(), (os.getpid(),))


def test_a_system_without_the_tables_proves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("psutil.PROCFS_PATH", str(tmp_path))
    with connected(socket.AF_INET, ("127.0.0.1", 0)) as client, pytest.raises(UnprovedError, match="does not report"):
        find_holder(client.fileno(), (os.getpid(),))


def test_files_that_may_not_be_seen_are_no_proof(monkeypatch):
    def forbidden(*_):
        raise psutil.AccessDenied

    monkeypatch.setattr("psutil.Process.net_connections", forbidden)
    with connected(socket.AF_INET, ("127.0.0.1", 0)) as client, pytest.raises(UnprovedError, match="may not see"):
        find_holder(client.fileno(), (os.getpid(),))


def test_the_only_process_that_may_not_be_seen_is_proved_by_the_port_that_the_server_sees(monkeypatch):
    def forbidden(*_):
        raise psutil.AccessDenied

    monkeypatch.setattr("psutil.Process.net_connections", forbidden)
    with connected(socket.AF_INET, ("127.0.0.1", 0)) as client:
        port = client.getsockname()[1]
        assert find_holder(client.fileno(), (os.getpid(),), port) == os.getpid()
        for candidates, seen in (((os.getpid(), os.getppid()), port), ((os.getpid(),), port + 1)):
            with pytest.raises(UnprovedError, match="unix socket"):
                find_holder(client.fileno(), candidates, seen)
