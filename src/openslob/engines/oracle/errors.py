"""Errors of the server (ORA-), the driver library (DPY-) and its client (DPI-): what happened, why, what to do.

Where a statement mends an error, the remedy is the statement; ``{tablespace}`` in it is the one that the error names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import oracledb

from openslob.core.errors import DeniedError, SlobError

_CODE = re.compile(r"\b((?:ORA|DPY|DPI|TNS|PLS)-\d{4,5})\b")
# The library ends its messages with a link to its manual, and names the connection in them.
_NOISE = re.compile(
    r"\s*Help: \S+|DPY-6005: cannot connect to database|\s*\(CONNECTION_ID=[^)]*\)\.?|\[Errno -?\d+\] ?"
)
_REFUSAL = re.compile(r"DPY-6000: Listener refused connection\. \(Similar to (ORA-\d+)\)")
# Where in our PL/SQL an error came up, and what it did to the block.
_PLACE = re.compile(r"ORA-06512|ORA-06550: line \d+, column \d+:$|PL/SQL: Statement ignored")

CANCELLED = "ORA-01013"
NO_TABLE = "ORA-00942"
# Since 23ai, of an object that this user knows of.
_NO_PRIVILEGE = "ORA-41900"
_NO_PROCEDURE = "ORA-04043"
NO_COLUMN = "ORA-00904"
_NO_PROGRAM = "PLS-00201"
IS_LOCKED = "ORA-00054"
IS_THERE = "ORA-00001"
NAME_IN_USE = "ORA-00955"
NO_RIGHT = "ORA-01031"
# A service decides it itself, the version has no such parameter, a session may not set it, or not to this value.
_REFUSED = (NO_RIGHT, "ORA-02248", "ORA-02095", "ORA-02096", "ORA-02097", "ORA-00096", "ORA-65040")
CONNECTION_LOST = ("DPY-4011", "DPY-1001", "ORA-03113", "ORA-03114", "ORA-03135")
_FULL = ("ORA-00018", "ORA-00020", "ORA-02391", "ORA-12516", "ORA-12519", "ORA-12520", "ORA-12518")
# No space or quota, no right, ended by somebody, or nobody there.
_FINAL = (
    *("ORA-01536", "ORA-01652", "ORA-01653", "ORA-01654", "ORA-01658", "ORA-01659", "ORA-01950", "ORA-30036"),
    *("ORA-00257", NO_RIGHT, "ORA-16000", "ORA-29339", "ORA-00379"),
    *(CANCELLED, "ORA-00028", "ORA-01089", "ORA-01109", "ORA-02399", *CONNECTION_LOST),
)
_TABLESPACE = re.compile(r"tablespace '?\"?([\w$#]+)")
_PROCESSES = "use fewer sessions, or ALTER SYSTEM SET PROCESSES = … SCOPE = SPFILE and restart the instance"
_MORE_SPACE = "ALTER TABLESPACE {tablespace} ADD DATAFILE … or choose a smaller SCALE, then try again"
_QUOTA = "ALTER USER … QUOTA UNLIMITED ON {tablespace}, then try again"
_LISTENER = "see `lsnrctl services` on the server for the names of services, and that the instance is open"
_NETWORK = "check that the server is up, that a firewall lets the connection through, and the server's alert log"
_IS_DOWN = "start the instance (STARTUP), or wait until it is open, and see its alert log"
_LOST = "the server's alert log may say why; check the network if it does not"
_ADMINISTRATOR_STOPS = "an administrator stops the instance: run again when it is open"
_LOCKED = "another session holds it: SELECT * FROM V$LOCK shows who; run again when it is done"
_CLIENT = "install Oracle Instant Client and name its directory (lib_dir=DIRECTORY in the URL)"
_THICK = "add thick=yes to the URL, which uses Oracle Instant Client on this host"
_WALLET = "check wallet=DIRECTORY in the URL: it needs an ewallet.pem, and wallet_password if that is encrypted"
_CERTIFICATE = (
    "name the directory of an ewallet.pem with the authority that signed the server's certificate: wallet=DIRECTORY"
)
_REPORT = "see the server's alert log and trace files, and Oracle's support"
_WORK_LOOP = "the work loop does not compile or was changed: run `slob run` again, and see USER_ERRORS"
_GRANT = "grant the right (`slob check` prints the statement), or use a user that has it"
_MEMORY = "make SGA_TARGET or PGA_AGGREGATE_LIMIT larger, or use fewer sessions"
_DISK = "see the server's alert log for the file and the device, which may be full or damaged"
_NO_INSTANCE = "name another instance, or leave instance_name out: `lsnrctl services` shows their names"
_TNSNAMES = "name the directory of tnsnames.ora (config_dir=DIRECTORY in the URL, or TNS_ADMIN), or HOST:PORT/SERVICE"
_READ_ONLY = "the database accepts no writes: name the primary, or open it READ WRITE"
_CORRUPT = "recover it (RMAN: RECOVER … BLOCK), or run `slob drop` and `slob load` again"
_CHANGED = "somebody changed the test's objects during the run: run again"


def _raise_limit(resource: str) -> str:
    return f"ALTER PROFILE … LIMIT {resource} UNLIMITED, for the user's profile"


REMEDIES: Mapping[str, str] = {
    # Who connects.
    "ORA-01017": "check user and password (--ask-password, ORACLE_PASSWORD)",
    **dict.fromkeys(("DPY-4001", "ORA-01005"), "--ask-password asks for the password; or set ORACLE_PASSWORD"),
    "ORA-01045": "GRANT CREATE SESSION TO the user",
    "ORA-28000": "ALTER USER … ACCOUNT UNLOCK, or use another user",
    **dict.fromkeys(("ORA-28001", "ORA-28002"), "ALTER USER … IDENTIFIED BY a new password"),
    "ORA-28009": "no administrator is needed: connect as the user who is to own the test tables",
    **dict.fromkeys(
        ("ORA-28040", "DPY-3015"), f"ALTER USER … IDENTIFIED BY renews the password's verifier; or {_THICK}"
    ),
    # How many, and how much, may a user do.
    "ORA-02391": f"use fewer sessions, or {_raise_limit('SESSIONS_PER_USER')}",
    "ORA-02392": _raise_limit("CPU_PER_SESSION"),
    "ORA-02393": _raise_limit("CPU_PER_CALL"),
    "ORA-02394": _raise_limit("LOGICAL_READS_PER_SESSION"),
    "ORA-02395": _raise_limit("LOGICAL_READS_PER_CALL"),
    **dict.fromkeys(("ORA-02396", "DPY-4033"), _raise_limit("IDLE_TIME")),
    "ORA-02399": _raise_limit("CONNECT_TIME"),
    **dict.fromkeys(("ORA-00018", "ORA-00020", "ORA-12516", "ORA-12519", "ORA-12520", "ORA-12518"), _PROCESSES),
    "ORA-12500": "the host lacks memory or processes for one more session: use fewer, or raise its limits",
    "ORA-01000": "ALTER SYSTEM SET OPEN_CURSORS = 300",
    # Where the server is.
    **dict.fromkeys(("ORA-12514", "DPY-6001", "ORA-12505", "DPY-6003"), _LISTENER),
    **dict.fromkeys(("ORA-12521", "ORA-12523"), _NO_INSTANCE),
    **dict.fromkeys(("ORA-12154", "ORA-12162", "DPY-4000", "DPY-4026", "DPY-4027"), _TNSNAMES),
    **dict.fromkeys(("DPY-4017", "DPY-4018"), "correct the entry of tnsnames.ora, or name HOST:PORT/SERVICE"),
    "ORA-12541": "check host and port, and that the listener runs (`lsnrctl status`)",
    "ORA-12545": "check the host's name",
    **dict.fromkeys(("ORA-12170", "ORA-12535", "ORA-12606", "ORA-12609", "ORA-12543", "ORA-12560"), _NETWORK),
    # TLS.
    **dict.fromkeys(("DPY-6002", "ORA-29002"), "correct ssl_server_cert_dn in the URL, or leave it out"),
    "DPY-6006": "name the host as the certificate does, or add ssl_server_cert_dn or ssl_server_dn_match=no to the URL",
    **dict.fromkeys(("ORA-28759", "DPY-2018"), _WALLET),
    "ORA-29024": _CERTIFICATE,
    "ORA-28860": "check that the port is that of a TCPS listener, and that both sides have a version of TLS in common",
    # What the driver can't do without client libraries.
    "DPY-3010": f"a server before 12.1 needs Oracle's client libraries: {_THICK}",
    **dict.fromkeys(
        ("DPY-3001", "ORA-12660", "ORA-12650"), f"its network encryption needs them: {_THICK}; or oracles://"
    ),
    **dict.fromkeys(("DPI-1047", "DPI-1072"), _CLIENT),
    "DPY-2019": "write thick=yes for every target of the command, the first one too",
    # The instance's state.
    **dict.fromkeys(("ORA-01033", "ORA-01034", "ORA-27101", "ORA-01109", "ORA-01219", "ORA-01507"), _IS_DOWN),
    **dict.fromkeys(
        ("ORA-12526", "ORA-12527", "ORA-12528", "ORA-01035"),
        "ALTER SYSTEM DISABLE RESTRICTED SESSION, or wait until the instance is open",
    ),
    **dict.fromkeys(("ORA-01089", "ORA-01090", "ORA-01092"), _ADMINISTRATOR_STOPS),
    **dict.fromkeys(("ORA-16000", "ORA-16456"), _READ_ONLY),
    # Rights and objects.
    "ORA-01031": _GRANT,
    "ORA-00942": "run `slob load` first; or grant SELECT on the view (`slob check` prints the statement)",
    "ORA-00904": "the tables are not as `slob load` made them; run it again",
    "PLS-00201": f"a package or the work loop is missing: {_GRANT}",
    **dict.fromkeys(("ORA-06550", "ORA-06575", "ORA-04063", "ORA-24344"), _WORK_LOOP),
    **dict.fromkeys(("ORA-04068", "ORA-04061", "ORA-04065", "ORA-08103", "ORA-01410"), _CHANGED),
    # Space.
    **dict.fromkeys(("ORA-01653", "ORA-01654", "ORA-01658", "ORA-01659", "ORA-01688", "ORA-01691"), _MORE_SPACE),
    "ORA-01652": "ALTER TABLESPACE {tablespace} ADD TEMPFILE …, or load fewer tables at once (LOAD_PARALLEL_DEGREE)",
    **dict.fromkeys(("ORA-01536", "ORA-01950"), _QUOTA),
    "ORA-65114": "raise the container's limit: ALTER PLUGGABLE DATABASE STORAGE (MAXSIZE …)",
    **dict.fromkeys(("ORA-30036", "ORA-01628"), "ALTER TABLESPACE {tablespace} ADD DATAFILE …: undo needs more space"),
    "ORA-01555": "make undo larger: ALTER TABLESPACE … ADD DATAFILE, ALTER SYSTEM SET UNDO_RETENTION",
    "ORA-00257": "the archiver has no space: delete archived logs (RMAN), or raise DB_RECOVERY_FILE_DEST_SIZE",
    **dict.fromkeys(("ORA-01115", "ORA-00376", "ORA-19502", "ORA-27072", "ORA-01114"), _DISK),
    **dict.fromkeys(("ORA-01578", "ORA-08102"), _CORRUPT),
    # Memory and caches.
    **dict.fromkeys(("ORA-04031", "ORA-04030", "ORA-04036"), _MEMORY),
    "ORA-29339": "ALTER SYSTEM SET DB_nK_CACHE_SIZE (n: the block size in KB), then create the tablespace",
    "ORA-00379": "ALTER SYSTEM SET DB_nK_CACHE_SIZE for this block size: a tablespace of it needs a cache of its own",
    # Locks and transactions.
    **dict.fromkeys(("ORA-00054", "ORA-30006", "ORA-04021", "ORA-02049"), _LOCKED),
    "ORA-00060": "another session changes the test tables: see the server's alert log for the deadlock's trace",
    "ORA-08177": "another session changes the test tables: run again without it",
    "ORA-12838": "a load's batch was not committed before the next one: report it, with the command that you ran",
    # Ends.
    "ORA-01013": "somebody cancelled it",
    **dict.fromkeys(("ORA-00028", "ORA-00031"), "an administrator ended the session (ALTER SYSTEM KILL SESSION)"),
    **dict.fromkeys(("ORA-01012", "ORA-03113", "ORA-03114", "ORA-03135", "ORA-12537", "ORA-12547", "ORA-12570"), _LOST),
    **dict.fromkeys(("ORA-12571", "ORA-12583", "ORA-12569"), f"the network lost or changed a packet: {_NETWORK}"),
    **dict.fromkeys(("ORA-00600", "ORA-07445", "ORA-00603"), _REPORT),
    # The driver's own words for a lost connection, if nothing else says more.
    **dict.fromkeys(("DPY-4011", "DPY-1001", "DPI-1080"), _LOST),
}
# Errors that come with another one, which says more.
VAGUE = frozenset({"DPY-4011", "DPY-1001", "DPY-6005", "DPY-6000", "ORA-00604", "ORA-06512", "ORA-06550", "ORA-12801"})
# What the operating system and OpenSSL say when a connection is made has no code.
WITHOUT_CODE: Mapping[str, str] = {
    "Connection refused": REMEDIES["ORA-12541"],
    "Name or service not known": REMEDIES["ORA-12545"],
    "name resolution": REMEDIES["ORA-12545"],
    # Of Python itself, some of whose releases name no codec.
    **dict.fromkeys(("idna", "label empty", "label too long"), REMEDIES["ORA-12545"]),
    "timed out": _NETWORK,
    "No route to host": _NETWORK,
    "unreachable": _NETWORK,
    "Connection reset": "a port with TLS needs oracles://; else see the listener's log and the server's alert log",
    "CERTIFICATE_VERIFY_FAILED": _CERTIFICATE,
    "WRONG_VERSION_NUMBER": "the port does not speak TLS: name that of the TCPS listener, or write oracle://",
    "SSL": REMEDIES["ORA-28860"],
}

# Why a listener refuses, of which the driver library gives no more than the code.
_REFUSALS: Mapping[str, str] = {
    **dict.fromkeys(("ORA-12516", "ORA-12519", "ORA-12520"), "the instance takes no more sessions"),
    "ORA-12518": "it can't hand the session over to the instance",
    "ORA-12500": "it can't start a process for the session",
    "ORA-12521": "it knows no such instance of the service",
    **dict.fromkeys(("ORA-12526", "ORA-12527"), "the instance is in restricted mode"),
    "ORA-12528": "the instance is not open yet",
}


def explain_refusal(code: str) -> str:
    """Return what a listener means by a code."""
    why = _REFUSALS.get(code)
    return f"{code}: the listener refused the connection" + (f" because {why}" if why else "")


def find_remedy(codes: tuple[str, ...], text: str) -> str:
    """Return what to do about an error with these codes and this text; empty when nothing is known."""
    telling = [code for code in codes if code in REMEDIES]
    exact = next((code for code in telling if code not in VAGUE), None)
    if exact is None and (not telling or "DPY-6005" in codes):
        words = next((words for words in WITHOUT_CODE if words in text), None)
        if words or not telling:
            return WITHOUT_CODE[words] if words else ""
    named = _TABLESPACE.search(text)
    return REMEDIES[exact or telling[0]].replace("{tablespace}", named[1] if named else "…")


def find_codes(error: BaseException | None) -> tuple[str, ...]:
    """Return every code in an error's text, such as ORA-00942, in order; the first is the error's own."""
    return tuple(_CODE.findall(str(error))) if isinstance(error, oracledb.Error) else ()


def is_full(error: BaseException | None) -> bool:
    """Return whether the server answered that it takes no further connection."""
    return any(code in _FULL for code in find_codes(error))


def is_missing(error: BaseException) -> bool:
    """Return whether a table or view does not exist, or this user may not see it: Oracle does not say which."""
    return any(code in (NO_TABLE, _NO_PRIVILEGE) for code in find_codes(error))


def is_gone(error: BaseException) -> bool:
    """Return whether there is nothing to drop: no such table, or no such procedure."""
    return is_missing(error) or _NO_PROCEDURE in find_codes(error)


def is_refused(error: BaseException) -> bool:
    """Return whether the server does not let a session give itself a setting."""
    return any(code in _REFUSED for code in find_codes(error)[:1])


def lacks_right(error: BaseException) -> bool:
    """Return whether this user may not do it, or may not execute what does it."""
    return any(code in (NO_RIGHT, _NO_PROGRAM) for code in find_codes(error))


def is_final(error: BaseException) -> bool:
    """Return whether whoever met this error would meet it in every other way, too."""
    return any(code in _FINAL for code in find_codes(error))


def find_refusal(act: Callable[[], object]) -> str:
    """Do what a load can do without; return why the server refused it, empty if it did not."""
    try:
        act()
    except oracledb.Error as error:
        if is_final(error):
            raise
        return explain_error(error)
    return ""


def explain_error(error: object) -> str:
    """Return an error's text as one line: without what the library adds to it, if the server said more."""
    text = _REFUSAL.sub(lambda found: explain_refusal(found[1]), _NOISE.sub("", str(error)))
    lines = [line.strip().rstrip(".") for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.partition(":")[0] not in VAGUE and not _PLACE.match(line)]
    return "; ".join(telling or lines) or "the connection was closed"


@contextmanager
def report_as(what: str) -> Iterator[None]:
    """Turn a driver's error inside the block into one line that begins with ``what``."""
    try:
        yield
    except oracledb.Error as error:
        codes, text = find_codes(error), explain_error(error)
        kind = DeniedError if is_missing(error) or NO_RIGHT in codes else SlobError
        raise kind(f"{what}: {text}", find_remedy(codes, text)) from error
