"""Every error that a user of a load generator meets, through the real driver: one line, with what to do."""

import re
import subprocess
import sys

import oracledb
import pytest

from factories.oracle.leftovers import SOCKETS_LEFT_OVER, collected
from factories.oracle.wire import Executor, Identity, OracleError, Server
from openslob.core.errors import SlobError
from openslob.engines.oracle.connection import change, open_connection
from openslob.engines.oracle.errors import REMEDIES, VAGUE, find_codes, is_full, is_missing, report_as
from openslob.engines.oracle.target import parse

CANARY = "Canary-7x!"
# Number, the server's text, and what the line must advise.
AT_LOG_ON = [
    (1017, "invalid username/password; logon denied", "--ask-password, ORACLE_PASSWORD"),
    (28000, "The account is locked.", "ACCOUNT UNLOCK"),
    (28001, "the account has expired", "ALTER USER … IDENTIFIED BY"),
    (28009, "connection as SYS should be as SYSDBA or SYSOPER", "no administrator is needed"),
    (28040, "No matching authentication protocol", "renews the password's verifier"),
    (1045, "user SLOB lacks CREATE SESSION privilege; logon denied", "GRANT CREATE SESSION"),
    (2391, "exceeded simultaneous SESSIONS_PER_USER limit", "LIMIT SESSIONS_PER_USER UNLIMITED"),
    (18, "maximum number of sessions exceeded", "SET PROCESSES"),
    (20, "maximum number of processes (300) exceeded", "SET PROCESSES"),
    (1033, "ORACLE initialization or shutdown in progress", "STARTUP"),
    (1034, "ORACLE not available\nORA-27101: shared memory realm does not exist", "STARTUP"),
    (1035, "ORACLE only available to users with RESTRICTED SESSION privilege", "DISABLE RESTRICTED SESSION"),
    (1089, "immediate shutdown or close in progress - no operations are permitted", "stops the instance"),
    (1090, "shutdown in progress - connection is not permitted", "stops the instance"),
    (1109, "database not open", "STARTUP"),
    (257, "Archiver error. Connect AS SYSDBA only until resolved.", "the archiver has no space"),
]
BY_THE_LISTENER = [
    (12514, "names of services"),
    (12505, "names of services"),
    (12521, "another instance"),
    (12516, "SET PROCESSES"),
    (12518, "SET PROCESSES"),
    (12519, "SET PROCESSES"),
    (12520, "SET PROCESSES"),
    (12500, "memory or processes"),
    (12526, "DISABLE RESTRICTED SESSION"),
    (12527, "DISABLE RESTRICTED SESSION"),
    (12528, "DISABLE RESTRICTED SESSION"),
]
BY_A_STATEMENT = [
    (942, "table or view does not exist", "slob load"),
    (904, '"CUSTID": invalid identifier', "run it again"),
    (1031, "insufficient privileges", "slob check"),
    (1950, "no privileges on tablespace 'SLOB4K'", "QUOTA UNLIMITED ON SLOB4K"),
    (1536, "space quota exceeded for tablespace 'SLOB4K'", "QUOTA UNLIMITED ON SLOB4K"),
    (1653, "unable to extend table SLOB.CF1_1 by 128 in tablespace USERS", "TABLESPACE USERS ADD DATAFILE"),
    (1654, "unable to extend index SLOB.I by 128 in tablespace USERS", "TABLESPACE USERS ADD DATAFILE"),
    (1652, "unable to extend temp segment by 128 in tablespace TEMP", "TABLESPACE TEMP ADD TEMPFILE"),
    (1658, "unable to create INITIAL extent for segment in tablespace USERS", "TABLESPACE USERS ADD DATAFILE"),
    (1659, "unable to allocate MINEXTENTS beyond 1 in tablespace USERS", "TABLESPACE USERS ADD DATAFILE"),
    (30036, "unable to extend segment by 8 in undo tablespace 'UNDOTBS1'", "TABLESPACE UNDOTBS1 ADD DATAFILE"),
    (1555, 'snapshot too old: rollback segment number 3 with name "_SYSSMU3$" too small', "UNDO_RETENTION"),
    (65114, "space usage in container is too high", "MAXSIZE"),
    (4031, 'unable to allocate 40 bytes of shared memory ("shared pool")', "SGA_TARGET"),
    (4030, "out of process memory when trying to allocate 32 bytes", "PGA_AGGREGATE_LIMIT"),
    (4036, "PGA memory used by the instance exceeds PGA_AGGREGATE_LIMIT", "PGA_AGGREGATE_LIMIT"),
    (16000, "database or pluggable database open for read-only access", "name the primary"),
    (29339, "tablespace block size 4096 does not match configured block sizes", "DB_nK_CACHE_SIZE"),
    (379, "no free buffers available in buffer pool DEFAULT for block size 4K", "DB_nK_CACHE_SIZE"),
    (54, "resource busy and acquire with NOWAIT specified or timeout expired", "another session holds it"),
    (30006, "resource busy; acquire with WAIT timeout expired", "another session holds it"),
    (4021, "timeout occurred while waiting to lock object SLOB_SLICE_1", "another session holds it"),
    (2049, "timeout: distributed transaction waiting for lock", "another session holds it"),
    (60, "deadlock detected while waiting for resource", "deadlock's trace"),
    (8177, "can't serialize access for this transaction", "another session changes"),
    (12838, "cannot read/modify an object after modifying it in parallel", "report it"),
    (2392, "exceeded session limit on CPU usage, you are being logged off", "CPU_PER_SESSION UNLIMITED"),
    (2393, "exceeded call limit on CPU usage", "CPU_PER_CALL UNLIMITED"),
    (2394, "exceeded session limit on IO usage, you are being logged off", "LOGICAL_READS_PER_SESSION"),
    (2395, "exceeded call limit on IO usage", "LOGICAL_READS_PER_CALL UNLIMITED"),
    (2396, "exceeded maximum idle time, please connect again", "IDLE_TIME UNLIMITED"),
    (2399, "exceeded maximum connect time, you are being logged off", "CONNECT_TIME UNLIMITED"),
    (1000, "maximum open cursors exceeded", "OPEN_CURSORS"),
    (4063, 'procedure "SLOB.SLOB_SLICE_1" has errors', "run `slob run` again"),
    (4068, "existing state of packages has been discarded", "somebody changed"),
    (
        6550,
        "line 1, column 7:\nPLS-00201: identifier 'DBMS_LOCK' must be declared\nORA-06550: line 1, column 7:\n"
        "PL/SQL: Statement ignored",
        "grant the right",
    ),
    (8103, "object no longer exists", "somebody changed"),
    (1578, "ORACLE data block corrupted (file # 5, block # 7)", "RECOVER"),
    (1115, "IO error reading block from file 5 (block # 7)\nORA-27072: File I/O error", "alert log"),
    (1013, "user requested cancel of current operation", "somebody cancelled it"),
    (28, "your session has been killed", "an administrator ended the session"),
    (31, "session marked for kill", "an administrator ended the session"),
    (1012, "not logged on", "alert log"),
    (1092, "ORACLE instance terminated. Disconnection forced", "stops the instance"),
    (3113, "end-of-file on communication channel\nProcess ID: 4711\nSession ID: 12 Serial number: 5", "alert log"),
    (3114, "not connected to ORACLE", "alert log"),
    (3135, "connection lost contact", "alert log"),
    (600, "internal error code, arguments: [kcbz_check_objd_typ]", "Oracle's support"),
    (7445, "exception encountered: core dump [kcbgtcr()+123] [SIGSEGV]", "Oracle's support"),
    (603, "ORACLE server session terminated by fatal error", "Oracle's support"),
    (
        604,
        "error occurred at recursive SQL level 1\nORA-01536: space quota exceeded for tablespace 'SLOB4K'",
        "ON SLOB4K",
    ),
    (
        12801,
        "error signaled in parallel query server P000\nORA-01652: unable to extend temp segment by 128 in "
        "tablespace TEMP",
        "TABLESPACE TEMP ADD TEMPFILE",
    ),
]


pytestmark = SOCKETS_LEFT_OVER


@pytest.fixture(scope="module", autouse=True)
def sockets():
    with collected():
        yield


class Failing(Executor):
    """Every statement is the number of its error."""

    def execute(self, text, binds):
        number = int(text)
        said = next(said for each, said, _ in BY_A_STATEMENT if each == number)
        raise OracleError(number, said)


@pytest.fixture(scope="module")
def server():
    with Server(lambda _: Failing(), password=CANARY) as server:
        yield server


def params_of(server, place="standin", password=CANARY):
    return parse(f"oracle://slob:{password.replace('!', '%21')}@127.0.0.1:{server.port}/{place}")


def line_of(raised, *codes):
    """The error's line, after what every line must be."""
    line = str(raised.value)
    assert "\n" not in line
    assert not re.search(r"CONNECTION_ID|Help:|https?:|Errno|DPY-6005|DPY-4011: the|ORA-06512|\(.*object at", line)
    assert CANARY not in line
    assert raised.value.exit_code == 1
    for code in codes:
        assert code in line
    return line


@pytest.mark.parametrize(("number", "said", "advice"), AT_LOG_ON, ids=[str(row[0]) for row in AT_LOG_ON])
def test_errors_at_log_on(server, number, said, advice):
    server.denies = OracleError(number, said)
    try:
        with pytest.raises(SlobError, match=r"^can't connect to slob@127") as raised:
            open_connection(params_of(server), "query")
    finally:
        server.denies = None
    assert advice in line_of(raised, f"ORA-{number:05}")


@pytest.mark.parametrize(("number", "advice"), BY_THE_LISTENER)
def test_errors_of_the_listener(server, number, advice):
    server.refuses = number
    try:
        with pytest.raises(SlobError) as raised:
            open_connection(params_of(server), "query")
    finally:
        server.refuses = None
    assert advice in line_of(raised, f"ORA-{number}")


@pytest.mark.parametrize(("number", "said", "advice"), BY_A_STATEMENT, ids=[str(row[0]) for row in BY_A_STATEMENT])
def test_errors_of_statements(server, number, said, advice):
    with open_connection(params_of(server), "query") as connection:
        with pytest.raises(SlobError, match=r"^it failed: (ORA|PLS)-") as raised, report_as("it failed"):
            change(connection, str(number))
        assert advice in line_of(raised)


def test_a_wrong_password(server):
    with pytest.raises(SlobError) as raised:
        open_connection(params_of(server, password="wrong"), "query")
    assert "--ask-password" in line_of(raised, "ORA-01017")


def test_no_password(server, monkeypatch):
    monkeypatch.delenv("ORACLE_PASSWORD", raising=False)
    with pytest.raises(SlobError) as raised:
        open_connection(parse(f"oracle://slob@127.0.0.1:{server.port}/standin"), "query")
    assert "--ask-password asks for the password" in line_of(raised)


def test_an_unknown_service_and_sid(server):
    with pytest.raises(SlobError) as raised:
        open_connection(params_of(server, "other"), "query")
    assert 'Service "other"' in line_of(raised, "ORA-12514")
    with pytest.raises(SlobError) as raised:
        open_connection(parse(f"oracle://slob:x@127.0.0.1:{server.port}?sid=other"), "query")
    assert 'SID "other"' in line_of(raised, "ORA-12505")


@pytest.mark.parametrize(("code", "missing"), [(942, True), (41900, True), (1031, False)])
def test_since_23ai_a_view_that_this_user_may_not_read_has_an_error_of_its_own(code, missing):
    assert is_missing(oracledb.DatabaseError(f"ORA-{code:05}: missing SELECT privilege")) is missing


def test_a_server_before_12_1():
    with Server(lambda _: Failing(), password=CANARY, identities=[Identity(version=(11, 2, 0, 4, 0))]) as old:
        with pytest.raises(SlobError) as raised:
            open_connection(params_of(old), "query")
        assert "thick=yes" in line_of(raised, "DPY-3010")


def test_a_server_that_demands_encryption_of_oracles_own():
    with Server(lambda _: Failing(), password=CANARY, identities=[Identity(encrypts=True)]) as encrypting:
        with pytest.raises(SlobError) as raised:
            open_connection(params_of(encrypting), "query")
        assert "thick=yes" in line_of(raised, "DPY-3001")


def test_a_password_that_expires_soon_is_told_and_no_error(server):
    server.warns = OracleError(28002, "the password will expire within 7 days")
    try:
        with open_connection(params_of(server), "query") as connection:
            assert connection.warning == "ORA-28002: the password will expire within 7 days"
    finally:
        server.warns = None
    with open_connection(params_of(server), "query") as connection:
        assert connection.warning == ""


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("oracle://a:b@127.0.0.1:9/c", "lsnrctl status"),
        ("oracle://a:b@no-such-host.invalid/c", "check the host's name"),
        ("oracle://a:b@a..b/c", "check the host's name"),
        (f"oracle://a:b@{'x' * 64}/c", "check the host's name"),
        ("oracle://a:b@/NAME", "config_dir=DIRECTORY"),
        ("oracle://a:b@/NAME?config_dir=/nowhere", "config_dir=DIRECTORY"),
        ("oracles://a:b@127.0.0.1:9/c?wallet=/nowhere", "lsnrctl status"),
    ],
)
def test_errors_of_this_host(url, advice, monkeypatch):
    for name in ("TNS_ADMIN", "ORACLE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SlobError) as raised:
        open_connection(parse(url), "query")
    assert advice in line_of(raised)


def test_client_libraries_that_are_not_there(server):
    """In a process of its own: there is no way back from thick mode, nor from thin."""
    program = (
        "from openslob.engines.oracle.connection import open_connection\n"
        "from openslob.engines.oracle.target import parse\n"
        "try: open_connection(parse('oracle://a:b@h/c?thick=yes&lib_dir=/nowhere'), 'query')\n"
        "except Exception as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("can't connect to a@h:1521/c: DPI-1047: Cannot locate a 64-bit Oracle Client library")
    assert "install Oracle Instant Client" in said
    assert said.count("\n") == 1
    open_connection(params_of(server), "query").close()
    with pytest.raises(SlobError) as raised:
        open_connection(parse("oracle://a:b@h/c?thick=yes"), "query")
    assert "thick=yes for every target" in line_of(raised, "DPY-2019")


def test_a_connection_that_the_server_ended_can_be_cancelled_and_closed(server):
    """The library crashes the process when either is asked of it."""
    connection = open_connection(params_of(server), "query")
    with pytest.raises(SlobError), report_as("it failed"):
        change(connection, "28")
    assert connection.cancel() is False
    assert connection.is_lost()
    connection.close()


def test_who_is_turned_away_because_the_server_is_full(server):
    for number, full in ((12516, True), (12520, True), (12528, False)):
        server.refuses = number
        with pytest.raises(SlobError) as raised:
            open_connection(params_of(server), "query")
        assert is_full(raised.value.__cause__) is full
    server.refuses = None


def test_codes_are_found_behind_those_of_the_driver(server):
    with open_connection(params_of(server), "query") as connection:
        with pytest.raises(SlobError) as raised, report_as("it failed"):
            change(connection, "28")
        assert find_codes(raised.value.__cause__) == ("DPY-4011", "ORA-00028")
    with open_connection(params_of(server), "query") as connection:
        with pytest.raises(SlobError) as raised, report_as("it failed"):
            change(connection, "942")
        assert is_missing(raised.value.__cause__)


def test_the_table_is_as_large_as_it_claims_and_every_advice_is_one_line():
    assert len(REMEDIES) > 100
    assert not [code for code, advice in REMEDIES.items() if "\n" in advice or not advice or advice.endswith(".")]
    assert VAGUE & set(REMEDIES)
