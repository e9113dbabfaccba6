"""What the server's administrator has decided: rights, limits of time and connections; and targets that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from signal import SIGINT

from faults.fault import MARIADB, NO_SERVER, POSTGRESQL, Fault, Left
from faults.pausing import PHASES
from faults.scene import Outcome, Scene


def no_rights(scene: Scene) -> Outcome:
    with scene.db.of_user() as url:
        return scene.run(url=url)


def no_rights_on_tables(scene: Scene) -> Outcome:
    with scene.db.of_user("USAGE, CREATE ON SCHEMA slob" if scene.engine == POSTGRESQL else "SELECT ON slob.*") as url:
        return scene.run(url=url)


def no_rights_to_load(scene: Scene) -> Outcome:
    with scene.db.of_user() as url:
        return scene.to_end(*scene.words("load", url, scale=100))


def no_rights_to_drop(scene: Scene) -> Outcome:
    with scene.db.of_user() as url:
        return scene.to_end(*scene.words("drop", url))


def revoked(scene: Scene) -> Outcome:
    with scene.db.of_user("ALL ON slob.*", "PROCESS, SUPER ON *.*") as url, scene.running(url=url) as run:
        scene.db.ask("REVOKE ALL ON slob.* FROM ordinary@localhost")
        return run.end()


def wrong_password(scene: Scene) -> Outcome:
    if scene.engine == POSTGRESQL:
        return scene.run(url=scene.db.url.replace("user=slob", "user=nobody"))
    with scene.db.of_user() as url:
        return scene.run(url=url.replace("not-a-secret", "wrong-secret"))


def no_database(scene: Scene) -> Outcome:
    return scene.run(url=scene.db.elsewhere("nosuchdatabase"))


def nothing_loaded(scene: Scene) -> Outcome:
    scene.db.ask("CREATE DATABASE nothing")
    try:
        return scene.run(url=scene.db.elsewhere("nothing"))
    finally:
        scene.db.ask("DROP DATABASE nothing")


def limited(scene: Scene) -> Outcome:
    with scene.db.limited():
        return scene.run(run_time=6)


def limited_load(scene: Scene) -> Outcome:
    with scene.db.limited():
        return scene.to_end(*scene.words("load", scale=2000, load_parallel_degree=1))


def too_many_sessions(scene: Scene) -> Outcome:
    return scene.run(sessions=500)


def taken_meanwhile(scene: Scene) -> Outcome:
    """The check saw enough free connections; then others take them."""
    with scene.begun(*scene.words("run", sessions=10), at=PHASES["connect"]) as run:
        run.wait_until_paused()
        with scene.db.crowd():
            run.go_on()
            return run.end()


def read_only(scene: Scene) -> Outcome:
    with scene.db.refusing_writes(), scene.db.writer() as url:
        return scene.run(url=url)


def read_only_load(scene: Scene) -> Outcome:
    with scene.db.refusing_writes(), scene.db.writer() as url:
        return scene.to_end(*scene.words("load", url, scale=100))


def turns_read_only(scene: Scene) -> Outcome:
    with scene.db.writer() as url, scene.running(url=url) as run, scene.db.refusing_writes():
        return run.end()


def target(url: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        return scene.to_end(*scene.words("run", url))

    return strike


def in_use(scene: Scene) -> Outcome:
    with scene.running() as first:
        second = Scene(scene.engine, scene.given, scene.place / "second")
        done = second.run()
        assert second.folders() == []
        first.send(SIGINT)
        first.end()
    return done


def asking_for(**data: object) -> Callable[[Scene], Outcome]:
    return lambda scene: scene.run(**data)


LIMITS = "the administrator limits statements, transactions, locks and idle sessions to 5 s"
RIGHTS: tuple[Fault, ...] = (
    Fault("the user has no rights", "check", "run", "prints the GRANT", no_rights, "GRANT"),
    Fault("the user may not change the tables", "check", "run", "says what to grant",
          no_rights_on_tables, "grant|GRANT"),
    Fault("the user loses the rights", "window", "run", "says which session was lost, and what to grant", revoked,
          "was lost: .*denied.*GRANT", left=Left.KEPT, engines=(MARIADB,)),
    Fault("the server does not let the user in", "check", "run", "says what to check", wrong_password,
          {POSTGRESQL: "no pg_hba.conf entry.*; let this", MARIADB: "Access denied.*; check user and password"}),
    Fault("the database does not exist", "check", "run", "says so", no_database,
          {POSTGRESQL: "nosuchdatabase.*does not exist; create it", MARIADB: "nothing is loaded; run `slob load`"}),
    Fault("nothing is loaded", "check", "run", "says what to run", nothing_loaded, "nothing is loaded.*slob load"),
    Fault("smaller tables are loaded", "check", "run", "says how large they are", asking_for(scale=401),
          "SCALE asks for 401 and 400 are loaded; .*slob load"),
    Fault("fewer schemas are loaded", "check", "run", "says how many", asking_for(schemas=3),
          "SCHEMAS asks for 3.*slob load"),
    Fault(LIMITS, "window", "run", "goes on: its connections have no limits", limited, code=0, left=Left.COMPLETE),
    Fault("the server has too few connections", "check", "run", "says how many are needed, and how many are free",
          too_many_sessions, "500 sessions need .* connections"),
    Fault("others take the connections that were free", "connect", "run", "says which setting is too low",
          taken_meanwhile,
          "sessions could not be connected: .*max_connections", left=Left.FAILED),
    Fault("the server is read-only", "check", "run", "says so", read_only, "read.only"),
    Fault("the server becomes read-only", "window", "run", "says so", turns_read_only, "read.only", left=Left.KEPT,
          engines=(MARIADB,)),
    Fault("another run has the target", "check", "run", "names it; the other one goes on", in_use,
          "is in use: run by pid",
          left=Left.STOPPED),
    Fault("no PostgreSQL server listens there", "check", "run", "says so",
          target("postgresql://127.0.0.1:1/slob?user=slob"), "127.0.0.1:1.*; check that", engines=NO_SERVER),
    Fault("there is no PostgreSQL socket there", "check", "run", "says so",
          target("postgresql:///slob?host=/nowhere&user=slob"), "/nowhere.*; check that", engines=NO_SERVER),
    Fault("no MariaDB server listens there", "check", "run", "says so", target("mariadb://slob@127.0.0.1:1/slob"),
          "127.0.0.1:1.*; check that", engines=NO_SERVER),
    Fault("the host's name is not known", "check", "run", "says so",
          target("postgresql://nosuchhost.invalid/slob?user=slob"), "nosuchhost.invalid.*and where", engines=NO_SERVER),
    Fault("there is no engine of this name", "start", "run", "says which there are", target("nosuch://host/db"),
          "no engine for nosuch", code=2, engines=NO_SERVER),
    Fault("there is no server of this name", "start", "run", "says how a target is named", target("nosuchserver"),
          "there is no server 'nosuchserver'", code=2, engines=NO_SERVER),
    Fault("the user has no rights", "begin", "load", "prints the GRANT", no_rights_to_load, "GRANT"),
    Fault(LIMITS, "fill", "load", "goes on: its connections have no limits", limited_load, code=0),
    Fault("the server is read-only", "begin", "load", "refuses the target; what was loaded before stays",
          read_only_load, "takes no writes.*read.only; ", code=2, engines=(MARIADB,)),
    Fault("all transactions are read-only", "begin", "load", "says so; what was loaded before stays", read_only_load,
          "read.only.*; ", engines=(POSTGRESQL,)),
    Fault("the user has no rights", "begin", "drop", "says which right is missing", no_rights_to_drop,
          "denied .*; (grant|GRANT)"),
)  # fmt: skip
