"""A server's database as the tests of loading use it."""

import time

import psycopg

from openslob.core.workload import DataSpec
from openslob.engines.postgresql import loader

SPEC = DataSpec(schemas=2, scale_blocks=300, scan_blocks=20, obfuscate=False)


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
        return loader.load(connect or self.connect, spec, degree, progress, cancelled)

    def state(self):
        with self.connect() as connection:
            return loader.data_state(connection)

    def drop(self):
        with self.connect() as connection:
            return loader.drop(connection)

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
