"""Pages torn by hand in the files of a stopped server: the proof notices each that a reader could notice.

The judge of what a reader sees is plain SQL, which knows nothing of how the proof looks.
"""

from __future__ import annotations

from contextlib import closing
from random import Random

import psycopg
import pymysql
import pytest

from openslob.core.errors import SlobError
from openslob.durability.accounting import account
from openslob.durability.ledger import Operation
from openslob.engines import registry
from openslob.engines.managed.account import current_user

pytestmark = pytest.mark.server
SESSIONS, ROWS, SECTOR = 2, 6, 512
# Pages that are torn in each file: each costs two starts of the server.
MOST_TORN = 2


class Server:
    """A server whose files were kept in two states, with a few operations between them."""

    def __init__(self, server, find_files, read, page_bytes):
        self.server, self.read, self.page_bytes = server, lambda: read(server), page_bytes
        self.tables = registry.engine_for(server.start().url).ledger()
        self.tables.create(SESSIONS, ROWS)
        self.files = {name: server.status().data_directory / path for name, path in find_files(server).items()}
        self.before, self.operations = self.tables.contents(), []
        self.old = self.work(range(1, 2 * ROWS))
        self.new = self.work(range(2 * ROWS, 4 * ROWS - 1))
        self.truth = self.read()

    def work(self, numbers):
        """Commit operations; return what all files have then."""
        for session in range(SESSIONS):
            with closing(self.tables.open_session(session)) as client:
                for number in numbers:
                    server_ns = client.commit(number, number % ROWS)
                    self.operations.append(Operation(session, number, number % ROWS, number, number, server_ns))
        return self.while_stopped(lambda: {name: path.read_bytes() for name, path in self.files.items()})

    def while_stopped(self, do):
        self.server.stop()
        done = do()
        self.server.start()
        return done

    def write(self, files):
        for name, data in files.items():
            with self.files[name].open("r+b") as file:
                file.write(data)

    def noticed(self):
        """What the proof finds after a crash; None if nothing is wrong."""
        try:
            found = account(self.before, self.operations, self.tables.contents())
            said = [*found.faults, *map(str, found.lost), *self.tables.damage()]
        except SlobError as error:
            return str(error)
        return said[0] if said else None

    def judge(self, name, data):
        """Start the server with this content of a file: what the proof says, and whether plain SQL reads the truth."""
        try:
            self.while_stopped(lambda: self.write({name: data}))
        except SlobError as error:
            return str(error), False
        try:
            same = self.read() == self.truth
        except (psycopg.Error, pymysql.Error):
            same = False
        return self.noticed(), same

    def mend(self):
        self.while_stopped(lambda: self.write(self.new))


def read_postgres(server):
    """Every row, by a scan and by the index."""
    found = []
    with psycopg.connect(server.status().url) as connection:
        connection.execute("SET enable_bitmapscan = off")
        for way, other in (("seqscan", "indexscan"), ("indexscan", "seqscan")):
            connection.execute(f"SET enable_{way} = on; SET enable_{other} = off")
            for table in ("rows", "sessions"):
                found.append(connection.execute(f"SELECT * FROM slob.ledger_{table} WHERE session >= 0").fetchall())
    return [sorted(each) for each in found]


def read_maria(server):
    """Every row, by the clustered index, which is all there is."""
    found = []
    connection = pymysql.connect(unix_socket=str(server.layout.socket), user=current_user())
    with closing(connection), connection.cursor() as cursor:
        for table in ("rows", "sessions"):
            cursor.execute(f"SELECT * FROM slob.ledger_{table} ORDER BY 1, 2")
            found.append(cursor.fetchall())
    return found


def files_of_postgres(server):
    query = "SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relname ~ '^ledger_(rows|sessions)'"
    with psycopg.connect(server.status().url) as connection:
        return dict(connection.execute(query).fetchall())


def files_of_maria(server):
    data = server.status().data_directory
    return {path.stem: path.relative_to(data) for path in (data / "slob").glob("ledger_[rs]*.ibd")}


@pytest.fixture(params=["with checksums", "without checksums", "mariadb"])
def subject(request, make_server):
    if request.param == "mariadb":
        server = make_server(engine="mariadb", io="buffered")
        made = Server(server, files_of_maria, read_maria, 16384)
    else:
        settings = {"made_settings": "data_checksums=off"} if request.param == "without checksums" else {}
        server = make_server(io="buffered", **settings)
        made = Server(server, files_of_postgres, read_postgres, 8192)
    assert (made.noticed(), made.read()) == (None, made.truth)
    yield made
    server.destroy()


def tears(subject, random):
    """Yield files, by name, of which one page has some sectors of the state before: a few of each file."""
    for name, new in subject.new.items():
        old = subject.old[name]
        pages = [slice(at, at + subject.page_bytes) for at in range(0, len(new), subject.page_bytes)]
        changed = [page for page in pages if old[page] != new[page]]
        for page in random.sample(changed, min(MOST_TORN, len(changed))):
            cut = page.start + SECTOR * random.randint(1, subject.page_bytes // SECTOR - 1)
            first, last = random.sample((old, new), 2)
            yield name, new[: page.start] + first[page.start : cut] + last[cut : page.stop] + new[page.stop :]


def test_a_torn_page_is_noticed_if_a_reader_could_notice_it(subject):
    seen = []
    every = list(tears(subject, Random(5)))
    assert {name.partition("_pkey")[0] for name, _ in every} == {"ledger_rows", "ledger_sessions"}
    for name, data in every:
        noticed, same = subject.judge(name, data)
        assert noticed or same, name
        seen.append(noticed)
        subject.mend()
        assert subject.noticed() is None
    assert any(seen)


def test_an_index_page_that_was_never_written_whole_is_noticed(subject):
    """A new page of an index is zero until it is written: of a torn one, the last sectors still are."""
    name = "ledger_rows_pkey"
    if name not in subject.new:
        pytest.skip("this engine's rows are in their index")
    sectors = Random(7).randint(1, subject.page_bytes // SECTOR - 1)
    whole = subject.new[name]
    noticed, same = subject.judge(name, whole[: -sectors * SECTOR] + bytes(sectors * SECTOR))
    assert noticed
    assert not same
