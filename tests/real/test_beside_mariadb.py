"""A run on MariaDB beside other sessions of the server: what is published is the run's own, or unknown, and told."""

from contextlib import contextmanager, suppress
from threading import Thread

import pymysql
import pytest

from factories.running import ignore, judged, measured, slob, too_busy, verdicts_of
from factories.subjects import NEVER_NS
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines.base import SliceRequest
from openslob.engines.mysql.adapter import connect
from openslob.engines.mysql.connection import parse
from openslob.kinds.run.plan import session_plans
from openslob.record.model import Holds

pytestmark = pytest.mark.server

OTHER, TESTER, PASSWORD = "other", "tester", "secret"
# More than the cache holds.
SMALL = {"schemas": 1, "scale": "2000", "scan_table_sz": "20"}
RUN = {**SMALL, "run_time": 1, "sessions": 2, "work_unit": 4}
FLAGS = [text for name, value in SMALL.items() for text in (f"--{name.replace('_', '-')}", value)]
DATA_FILES = "wait/io/file/innodb/innodb_data_file"


@pytest.fixture(scope="module")
def server(maria_server):
    ask(maria_server, f"CREATE DATABASE {OTHER}")
    ask(maria_server, f"CREATE USER {TESTER}@localhost IDENTIFIED BY '{PASSWORD}'")
    ask(maria_server, f"GRANT ALL ON *.* TO {TESTER}@localhost")
    for database in ("slob", OTHER):
        engine = connect(url_of(maria_server, database))
        engine.data.load(Workload(**SMALL).data(engine.facts().block_size), 2, ignore, lambda: False)
    return maria_server


def url_of(server, database, user=None):
    url = server.status().url.replace("/slob?", f"/{database}?")
    return url if user is None else f"mariadb://{user}:{PASSWORD}@{url.partition('@')[2]}"


def ask(server, statement):
    with pymysql.connect(**parse(server.status().url).arguments, autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute(statement)
        return cursor.fetchall()


@pytest.fixture(autouse=True)
def any_window(monkeypatch):
    """Counters are compared here, not rates: a busy host that reads them late must not hide them."""
    monkeypatch.setattr("openslob.metrics.quantity.WINDOW_TOLERANCE_PCT", 50.0)


@pytest.fixture
def engine(server):
    """The test's database, as a user that nobody else is."""
    return connect(url_of(server, "slob", TESTER))


@contextmanager
def at_work(server, **parameters):
    """One session that works in another database: a single CALL."""
    engine, workload = connect(url_of(server, OTHER)), Workload(**{**SMALL, "work_unit": 4, **parameters})
    engine.install(workload)
    session = engine.open_session(session_plans(workload, engine.facts().block_size, OTHER)[0])
    session.prepare()

    def work():
        with suppress(SlobError):
            session.run_slice(SliceRequest(0, 0, NEVER_NS, 0))

    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        session.cancel()
        thread.join()
        session.close()


def reads_of_tester(server):
    """How often the tester's sessions asked for pages of data files, by the server's count for each user."""
    view = "performance_schema.events_waits_summary_by_user_by_event_name"
    counts = ask(server, f"SELECT count_star FROM {view} WHERE user = '{TESTER}' AND event_name = '{DATA_FILES}'")
    return sum(count for (count,) in counts)


def test_beside_a_reader_reads_and_log_are_the_test_s_own(server, engine, tmp_path):
    before = reads_of_tester(server)
    with at_work(server):
        record = measured(engine, tmp_path, **{**RUN, "run_time": 2}).record
    truth = reads_of_tester(server) - before
    if not judged(record, "alone_on_server", Holds.FAILS) or too_busy(record):
        return
    assert f"root@localhost in {OTHER}" in verdicts_of(record)["alone_on_server"].why
    is_unknown(record, "lio_per_s")
    reads = record.summary["pio_read_per_s"].value * record.window.load_seconds
    # The truth includes reads before the window, about a hundred.
    assert reads == pytest.approx(truth, abs=0.02 * truth + 150)
    assert record.summary["redo_mb_per_s"].value is not None


def test_beside_a_writer_the_log_is_nobody_s(server, engine, tmp_path):
    with at_work(server, update_pct=100):
        record = measured(engine, tmp_path, **RUN, update_pct=50, commit_mode="wait").record
    if not judged(record, "alone_on_server", Holds.FAILS) or too_busy(record):
        return
    assert verdicts_of(record)["commits_waited"].verdict is Holds.UNKNOWN
    assert "rows changed" in verdicts_of(record)["alone_on_server"].why
    judged(record, "counts_agree")
    for name in ("redo_mb_per_s", "log_syncs_per_s", "pio_write_per_s", "lio_per_s"):
        is_unknown(record, name)


@pytest.fixture
def no_statistics(server):
    """The server counts no rows by table: what others did can't be told apart."""
    ask(server, "SET GLOBAL userstat = OFF")
    yield
    ask(server, "SET GLOBAL userstat = ON")


@pytest.mark.usefixtures("no_statistics")
def test_what_can_not_be_told_apart_is_unknown(server, engine, tmp_path):
    with at_work(server):
        record = measured(engine, tmp_path, **RUN).record
    if judged(record, "alone_on_server", Holds.FAILS) and not too_busy(record):
        is_unknown(record, "pio_read_per_s")


def is_unknown(record, name):
    assert record.summary[name].value is None
    assert "other sessions" in record.summary[name].why


def test_a_check_names_a_run_in_another_database(server):
    target = ["check", "--target", url_of(server, "slob"), *FLAGS]
    with connect(url_of(server, OTHER)).exclusive("run"):
        beside = slob(*target).stdout
    # Lines of the terminal are broken anywhere.
    assert f"database {OTHER} of this server is in use: run by pid" in " ".join(beside.split())
    assert "is in use" not in slob(*target).stdout
