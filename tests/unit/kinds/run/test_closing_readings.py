"""The closing reading of a load of whose end one hears late: the first since it ended, not since that was heard."""

import time
from dataclasses import dataclass, field

from factories.running import eventually
from openslob.core.errors import SlobError
from openslob.kinds.run.samplers import ClosingReadings


@dataclass
class Server:
    """Numbers its readings, and notes when each was under way; from ``gone_at`` on it fails."""

    gone_at: int = 1_000_000
    done: list = field(default_factory=list)
    read_at_ns: list = field(default_factory=list)

    def before(self):
        self.done.append("before")

    def read(self):
        self.read_at_ns.append(time.monotonic_ns())
        number = len(self.read_at_ns)
        if number >= self.gone_at:
            raise SlobError("the server is gone")
        self.done.append(number)
        return number


def readings_of(server, in_s=0.0):
    return ClosingReadings(in_s, server.before, server.read)


def test_the_first_reading_that_began_after_the_end_counts():
    server = Server()
    readings = readings_of(server)
    readings.start()
    assert eventually(lambda: len(server.done) > 5)
    readings.end()
    assert server.done[:3] == ["before", 1, 2]
    assert readings.first_after(0) == 1
    # What was counted while a reading was under way may not be in it.
    assert readings.first_after(server.read_at_ns[2] + 1) == 4
    assert readings.first_after(time.monotonic_ns()) is None
    made = len(server.read_at_ns)
    readings.end()
    assert len(server.read_at_ns) == made


def test_a_window_that_ends_before_its_planned_end_is_not_read():
    server = Server()
    readings = readings_of(server, in_s=3600.0)
    readings.start()
    readings.end()
    assert (server.done, server.read_at_ns, readings.first_after(0)) == ([], [], None)


def test_a_server_that_is_gone_ends_the_readings():
    server = Server(gone_at=2)
    readings = readings_of(server)
    readings.start()
    assert eventually(lambda: not readings.is_alive())
    assert (readings.first_after(0), readings.first_after(server.read_at_ns[0] + 1)) == (1, None)
