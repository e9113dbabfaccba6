"""The real driver over loopback against a stand-in: connections, how they end, and how long they wait."""

import re
import threading

import pytest

from factories.oracle.leftovers import SOCKETS_LEFT_OVER, collected
from factories.oracle.standin import StandInServer
from factories.oracle.wire import DropError, Executor, Identity, OracleError, Rows, Server
from factories.oracle.wire_tls import SUBJECT, authority
from factories.running import DATA, eventually, ignore, measured, slob
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.engines.oracle import connection as connections
from openslob.engines.oracle.connection import change, open_connection, query, require_alive
from openslob.engines.oracle.errors import report_as
from openslob.engines.oracle.target import parse
from openslob.engines.patience import NoAnswerError, Patience, Watch, Work
from openslob.kinds.run import loading

SESSIONS = 300
SMALL = {**DATA, "scale": "300"}
CANARY = "Canary-7x!"
WHO = "SELECT who FROM dual"


pytestmark = SOCKETS_LEFT_OVER


@pytest.fixture(scope="module", autouse=True)
def sockets():
    with collected():
        yield


class Statements(Executor):
    """Statements by a word; WAIT ends when it is cancelled, HANG by no word of the client."""

    def __init__(self, client, all_here=None):
        self._client, self._all_here = client, all_here
        self._cancelled, self.go_on = threading.Event(), threading.Event()
        self.is_waiting = False

    def execute(self, text, binds):
        if "WAIT" in text:
            self._cancelled.clear()
            self.is_waiting = True
            self._cancelled.wait(60)
            raise OracleError(1013, "user requested cancel of current operation")
        if "HANG" in text:
            self.go_on.wait(60)
        if "MEET" in text:
            self._all_here.wait()
        if "DROP" in text:
            raise DropError
        return Rows(["who"], [(self._client.number,)]) if text == WHO else 0

    def cancel(self):
        self._cancelled.set()

    def close(self):
        self.go_on.set()
        self._cancelled.set()


@pytest.fixture(params=["marker", "urgent data", "TLS"])
def pair(request, tmp_path):
    """A connection to a server that is asked to cancel by each of the ways that the driver has."""
    tls = authority(tmp_path / "wallet") if request.param == "TLS" else None
    with Server(Statements, tls=tls, urgent=request.param == "urgent data") as server:
        place = f"localhost:{server.port}/standin"
        url = f"oracles://slob:slob@{place}?wallet={tmp_path}/wallet" if tls else f"oracle://slob:slob@{place}"
        with open_connection(parse(url), "query") as connection:
            yield server, connection


def executor_of(server):
    (session,) = server.sessions
    assert isinstance(session.executor, Statements)
    return session.executor


def test_a_running_statement_is_cancelled_from_another_thread_and_the_session_goes_on(pair):
    server, connection = pair
    if server.url.startswith("oracles"):
        assert connection.cancel() is False
        return
    for _ in range(3):
        canceller = threading.Thread(
            target=lambda: eventually(lambda: executor_of(server).is_waiting) and connection.cancel()
        )
        executor_of(server).is_waiting = False
        canceller.start()
        with pytest.raises(SlobError, match="ORA-01013"), report_as("the slice failed"):
            change(connection, "BEGIN WAIT; END;")
        canceller.join()
        assert query(connection, WHO) == [{"who": 1}]
    assert not connection.is_lost()


def test_a_connection_that_is_broken_off_from_this_side_ends_the_call(pair):
    server, connection = pair
    cutter = threading.Thread(target=lambda: eventually(lambda: executor_of(server).is_waiting) and connection.cut())
    cutter.start()
    with pytest.raises(SlobError, match="the slice failed: "), report_as("the slice failed"):
        change(connection, "BEGIN WAIT; END;")
    cutter.join()
    assert connection.is_lost()


def test_a_connection_that_the_server_drops_in_the_middle_of_a_call(pair):
    _, connection = pair
    with pytest.raises(SlobError, match=r"DPY-4011.*alert log") as raised, report_as("the slice failed"):
        change(connection, "BEGIN DROP; END;")
    assert "\n" not in str(raised.value)
    with pytest.raises(SlobError, match="was lost"):
        require_alive(connection, "the lock")


def test_an_idle_connection_is_known_to_be_lost_without_a_question(pair):
    server, connection = pair
    query(connection, WHO)
    require_alive(connection, "the lock")
    server.sessions[-1].drop()
    assert eventually(connection.is_lost)


def test_the_server_sees_who_we_are(pair):
    server, connection = pair
    query(connection, WHO)
    (client,) = server.clients
    assert (client.user, client.program, client.module, client.action) == ("slob", "slob", "slob", "query")
    assert client.driver.startswith("python-oracledb thn")
    assert client.descriptor["SERVER"] == "dedicated"
    assert connection.version == (19, 3, 0, 0, 0)
    assert connection.session_id == client.number


# --- TLS


@pytest.fixture(scope="module")
def tls_server(tmp_path_factory):
    wallet = tmp_path_factory.mktemp("tls") / "wallet"
    with Server(Statements, tls=authority(wallet)) as server:
        yield server.port, wallet


@pytest.mark.parametrize(
    ("host", "options", "refusal"),
    [
        ("localhost", "wallet={wallet}", None),
        ("127.0.0.1", "wallet={wallet}&ssl_server_dn_match=no", None),
        ("127.0.0.1", "wallet={wallet}", "DPY-6006.*name the host as the certificate does"),
        ("localhost", "", "CERTIFICATE_VERIFY_FAILED.*wallet=DIRECTORY"),
        ("localhost", "wallet=/nowhere", "DPY-2018.*needs an ewallet.pem"),
        ("localhost", f"wallet={{wallet}}&ssl_server_cert_dn={SUBJECT.replace('=', '%3D')}", None),
        ("localhost", "wallet={wallet}&ssl_server_cert_dn=CN%3Dother", "DPY-6002.*correct ssl_server_cert_dn"),
    ],
)
def test_tls_trusts_whom_the_wallet_trusts(tls_server, host, options, refusal):
    port, wallet = tls_server
    url = f"oracles://slob:slob@{host}:{port}/standin?{options.format(wallet=wallet)}"
    if refusal is None:
        with open_connection(parse(url), "query") as connection:
            assert len(query(connection, WHO)) == 1
        return
    with pytest.raises(SlobError, match=refusal) as raised:
        open_connection(parse(url), "query")
    assert "\n" not in str(raised.value)


def refusal_of(url):
    try:
        open_connection(parse(url), "query").close()
    except SlobError as error:
        return str(error)


def test_a_target_without_tls_is_told_by_a_port_with_it(tls_server):
    assert "oracles://" in refusal_of(f"oracle://slob:slob@localhost:{tls_server[0]}/standin")


def test_a_target_with_tls_is_told_by_a_port_without_it():
    with Server(Statements) as server, pytest.raises(SlobError, match=r"TLS|TCPS"):
        open_connection(parse(f"oracles://slob:slob@localhost:{server.port}/standin"), "query")


# --- limits of waiting


def test_a_statement_that_hangs_is_waited_for_no_longer_than_its_watch_says():
    with Server(Statements) as server:
        patience = Patience()
        watch = Watch(patience, Work.SHORT, str)
        with open_connection(parse(f"oracle://slob:slob@{server.dsn}"), "query", watch) as connection:
            assert query(connection, WHO)
            patience.allow(0.1)
            with pytest.raises(NoAnswerError):
                change(connection, "BEGIN HANG; END;")
            with pytest.raises(NoAnswerError):
                query(connection, WHO)
            # In thick mode nothing ends the call: the process must end all the same.
            assert all(thread.daemon for thread in threading.enumerate() if thread.name == "statement")
            assert connection.is_lost()
        executor_of(server).go_on.set()
        assert eventually(lambda: not server.clients)


def test_a_log_on_that_nobody_answers_ends(monkeypatch):
    monkeypatch.setattr(connections, "LOG_ON_S", 0.1)
    with Server(Statements) as server:
        server.is_silent = True
        said = refusal_of(f"oracle://slob:slob@{server.dsn}?connect_timeout=0.1")
        assert re.match(r"can't connect to slob@.*: no answer came for .*; the server hangs", said)


def test_300_sessions_are_in_a_call_at_once():
    all_here = threading.Barrier(SESSIONS, timeout=480)
    failures = []
    with Server(lambda client: Statements(client, all_here)) as server:
        params = parse(f"oracle://slob:slob@{server.dsn}?connect_timeout=480")

        def one():
            try:
                with open_connection(params, "run/1") as connection:
                    change(connection, "BEGIN MEET; END;")
            except BaseException as error:
                failures.append(error)
                all_here.abort()

        threads = [threading.Thread(target=one) for _ in range(SESSIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert len(server.sessions) == SESSIONS


# --- several instances


def test_connections_go_where_the_target_says():
    instances = [Identity(instance="rac1"), Identity(instance="rac2")]
    with Server(Statements, identities=instances) as server:
        landed = []
        for instance in ("", "", "/rac2", "/rac2"):
            with open_connection(parse(f"oracle://slob:slob@{server.dsn}{instance}"), "query") as connection:
                landed.append(connection.instance)
        assert landed[2:] == ["rac2", "rac2"]
        assert sorted(landed[:2]) == ["rac1", "rac2"]
        with pytest.raises(SlobError, match=r"ORA-12521.*`lsnrctl services`"):
            open_connection(parse(f"oracle://slob:slob@{server.dsn}/rac3"), "query")


@pytest.fixture
def cluster(monkeypatch):
    """The target of two instances of one database, and its listener's."""
    identities = [Identity(instance="rac1"), Identity(instance="rac2")]
    standin = StandInServer(password=CANARY, identities=identities)
    monkeypatch.setenv("ORACLE_PASSWORD", CANARY)
    with standin.server as server:
        yield server.url


def test_a_service_that_spreads_connections_is_refused_and_instances_by_name_are_one_target(cluster, tmp_path):
    named = f"{cluster}?instance_name=rac1,{cluster}?instance_name=rac2"
    engine, _ = registry.resolve(named)
    loading.load(engine, None, Workload(**SMALL), ignore, lambda: False, ignore)
    record = measured(engine, tmp_path, run_time=1, scale="300").record
    assert [instance.sessions for instance in record.instances] == [1, 1]
    assert [instance.target.rpartition("/")[2] for instance in record.instances] == ["rac1", "rac2"]
    spread, _ = registry.resolve(cluster)
    (found,) = [each for each in spread.findings(Workload(**SMALL)) if each.name == "spread"]
    assert found.blocking
    assert "over rac1 and rac2" in found.why
    with pytest.raises(SlobError, match=r"spreads connections over rac1 and rac2.*\?instance_name=rac1"):
        measured(spread, tmp_path, run_time=1, scale="300")


# --- a password is nowhere


def test_no_command_shows_the_password(cluster, tmp_path):
    """In the URL, in the environment, wrong and right: not in what is printed, nor in what is kept."""
    in_url = cluster.replace("slob@", f"slob:{CANARY.replace('!', '%21')}@") + "/rac1"
    options = ["--schemas", "1", "--scale", "300"]
    said = [
        slob("check", "--target", in_url, *options),
        slob("load", "--target", in_url, *options),
        slob("run", "--target", in_url, *options, "--run-time", "1", "--warmup", "0", "--results", str(tmp_path)),
        slob("run", "--target", f"{in_url}?sid=x", *options),
        slob("check", "--target", in_url.replace("%21", ""), *options),
        slob("check", "--target", f"{cluster}/rac1", *options),
    ]
    assert [each.returncode for each in said] == [0, 0, 0, 2, 1, 0]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any(file.name == "run.json" for file in files)
    for text in [f"{each.stdout}{each.stderr}" for each in said] + [file.read_text() for file in files]:
        assert CANARY.rstrip("!") not in text
