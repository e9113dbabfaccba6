"""Which drivers may be used: those that are named, are the same openslob, and may know the password."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from factories.fleets import HERE, MadeUpServer
from openslob.core.errors import SlobError, UsageError
from openslob.core.secrets import Address
from openslob.fleet import hire_drivers, hiring, local_count
from openslob.fleet.channel import NoSchedulerError
from openslob.fleet.dask import DaskRemote, Tls, connect_client, workers
from openslob.fleet.hiring import Fleet, is_private, require_same
from openslob.fleet.messages import Who


@pytest.mark.parametrize(
    ("text", "count"),
    [("local:1", 1), ("local:256", 256), ("tcp://db1:8786", 0), ("tls://10.0.0.1:8786", 0), ("tls://[::1]:8786", 0)],
)
def test_texts_that_name_drivers(text, count):
    assert local_count(text) == count


@pytest.mark.parametrize("text", ["", "local", "local:0", "local:257", "db1:8786", "http://db1:8786", "tcp://db1", "8"])
def test_other_texts_are_refused_with_the_form(text):
    with pytest.raises(UsageError, match="write local:N"):
        local_count(text)


def test_a_process_knows_itself():
    ours = Who.here()
    assert ours == Who.here()
    assert require_same(1, "tcp://h:1", ours, ours) is ours


@pytest.mark.parametrize("other", [{"version": "0.1"}, {"code": "other"}])
def test_another_openslob_is_refused_and_both_are_named(other):
    theirs = replace(HERE, **other)
    with pytest.raises(SlobError, match=r"driver 2 \(host, tcp://h:1\) has openslob .* and this host has 1 \(code\)"):
        require_same(2, "tcp://h:1", theirs, HERE)


def test_a_driver_without_openslob_is_named():
    with pytest.raises(SlobError, match=r"driver 2 \(tcp://h:1\) has another openslob, or none: No module named"):
        require_same(2, "tcp://h:1", ModuleNotFoundError("No module named 'openslob'"), HERE)


def test_a_driver_that_ended_as_it_was_asked_is_gone_and_has_no_other_openslob():
    with pytest.raises(SlobError, match=r"driver 2 \(tcp://h:1\) is gone: its process ended"):
        require_same(2, "tcp://h:1", OSError("Address removed."), HERE)


class NoAnswer:
    """A client of Dask whose tasks wait for ever, as those of a worker that ended before it could begin."""

    def __init__(self, workers):
        self.workers = workers
        self.asked = 0

    def submit(self, *_arguments, **_how):
        return self

    def as_current(self):
        return nullcontext()

    def result(self, timeout):
        self.asked += 1
        raise TimeoutError

    @property
    def scheduler(self):
        return self

    def identity(self, n_workers):
        return {"workers": self.workers if n_workers == -1 else {}}

    def scheduler_info(self, n_workers=0):
        """What the client noted last: its own refresh, which asks for no worker, may come in between."""
        return self.identity(n_workers=0)

    def sync(self, question, callback_timeout=None, **how):
        return question(**how)


def test_the_scheduler_itself_is_asked_for_its_workers():
    known = {"tcp://h:1": {}}
    assert workers(NoAnswer(known)) == known


def test_a_driver_that_ended_before_its_sessions_were_made_is_not_waited_for():
    client = NoAnswer({"tcp://h:1": {}})
    with pytest.raises(OSError, match="not connected to the scheduler any more"):
        DaskRemote(client, "tcp://h:2", "slob-run-2")
    assert client.asked == 1


def test_a_scheduler_that_gives_no_answer_is_named_instead_of_the_driver():
    class Dead(NoAnswer):
        def sync(self, question, callback_timeout=None, **how):
            raise OSError("Timed out trying to connect")

    with pytest.raises(NoSchedulerError):
        DaskRemote(Dead({}), "tcp://h:1", "slob-run-1")


def fleet(private):
    return Fleet(None, [], shared=False, private=private)


def test_a_password_crosses_no_network_as_it_is():
    server = MadeUpServer(address=Address.parse("postgresql://u:hidden@h/d"))
    with pytest.raises(UsageError, match="use TLS") as refused:
        fleet(private=False).require_sendable(server)
    assert "hidden" not in str(refused.value)
    assert fleet(private=True).require_sendable(server) is server.address
    pooled = MadeUpServer(direct=Address.parse("postgresql://u:hidden@db/d"))
    with pytest.raises(UsageError, match="use TLS"):
        fleet(private=False).require_sendable(pooled)
    assert fleet(private=False).require_sendable(MadeUpServer()).has_password is False


@pytest.mark.parametrize(
    ("addresses", "private"),
    [
        (["tls://10.0.0.1:8786", "tls://10.0.0.2:40001"], True),
        (["tcp://127.0.0.1:8786", "tcp://127.0.0.1:40001", "tcp://[::1]:2"], True),
        (["tcp://localhost:8786", "inproc://127.0.0.1/1/2"], True),
        # The workers' own addresses are of the scheduler's host, which may be another one.
        (["tcp://10.0.0.1:8786", "tcp://127.0.0.1:40001"], False),
        (["tcp://127.0.0.1:8786", "tcp://10.0.0.2:40001"], False),
        (["tls://10.0.0.1:8786", "tcp://10.0.0.2:40001"], False),
        (["tcp://127.0.0.1.example.org:8786"], False),
        (["tcp://localhost.example.org:8786"], False),
    ],
)
def test_a_way_is_private_if_every_hop_is(addresses, private):
    assert is_private(addresses) is private


def test_a_file_of_tls_that_is_not_there_is_an_error_before_anything_is_connected(tmp_path):
    with pytest.raises(UsageError, match=r"ca\.pem can't be read"):
        Tls(tmp_path / "ca.pem").security()


def test_a_scheduler_with_tls_needs_a_certificate_before_anything_is_connected():
    with pytest.raises(UsageError, match="give --tls-ca-file"), connect_client("tls://127.0.0.1:1", Tls().security()):
        pass


@pytest.mark.parametrize("drivers", [None, "local:2", "tcp://127.0.0.1:1"])
def test_certificates_without_a_scheduler_that_uses_them_are_refused(drivers, tmp_path):
    with pytest.raises(UsageError, match="give --drivers tls://HOST:PORT"), hire_drivers(drivers, tmp_path / "ca.pem"):
        pass


def test_drivers_that_do_not_start_are_told_with_how_long_they_had(monkeypatch, tmp_path):
    monkeypatch.setattr(hiring, "START_S", 0.1)
    monkeypatch.setattr(hiring, "START_EACH_S", 0.05)
    monkeypatch.setattr(hiring, "workers", lambda _client: {"tls://one": {}})
    running = SimpleNamespace(poll=lambda: None)
    with pytest.raises(SlobError, match=r"only 1 of 2 drivers started in 0 s; use fewer"):
        hiring.await_drivers(None, [running, running], tmp_path)
    ended = SimpleNamespace(poll=lambda: 3, returncode=3)
    (tmp_path / "driver-2.log").write_text("")
    with pytest.raises(SlobError, match=r"driver 2 ended while it started: exit code 3"):
        hiring.await_drivers(None, [running, ended], tmp_path)
