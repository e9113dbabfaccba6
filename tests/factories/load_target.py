"""A server's database as the tests of loading use it."""

import time

import psycopg

from openslob.core.workload import DataSpec
from openslob.engines.load import load
from openslob.engines.postgresql import manifest
from openslob.engines.postgresql.errors import report_as
from openslob.engines.postgresql.loader import PostgresLoader
from openslob.engines.postgresql.names import PostgresNames

NAMES = PostgresNames()
SPEC = DataSpec(schemas=2, scale_blocks=300, scan_blocks=20, obfuscate=False)


def read_manifest(connection):
    return manifest.read(connection, NAMES)


class Target:
    """A server's database with helpers; `connect` is what the loader gets."""

    def __init__(self, url):
        self.url = url

    def connect(self):
        return psycopg.connect(self.url, autocommit=True, application_name="slob/load")

    def ask(self, statement, *values):
        with self.connect() as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def load(self, spec=SPEC, degree=2, progress=lambda _: None, cancelled=lambda: False, connect=None):
        connect = connect or self.connect

        def prepare(connection):
            return PostgresLoader(connect, NAMES, spec, connection)

        with report_as("the load failed"):
            return load(connect, read_manifest, prepare, spec, degree, progress, cancelled)

    def state(self):
        with self.connect() as connection:
            loaded = read_manifest(connection)
            return loaded.data_state() if loaded else None

    def drop(self):
        with self.connect() as connection:
            return manifest.remove_with_schema(connection, NAMES)

    def left(self):
        return [name for (name,) in self.ask("SELECT relname FROM pg_class WHERE relname ~ '^(cf[12]_|manifest)'")]

    def sessions(self):
        """Sessions of loads; those whose connection was just closed get a moment to go."""
        for _ in range(600):
            count = self.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'slob/load'")[0][0] - 1
            if count == 0:
                break
            time.sleep(0.1)
        return count
