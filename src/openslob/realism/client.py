"""A product's own benchmark program, run while its server is watched by the same samplers as in a run."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from openslob.engines.base import Engine
from openslob.engines.client import ClientLoad, ClientProgram, ClientResult
from openslob.engines.hosting.cpus import confined
from openslob.errors import SlobError
from openslob.rawio import process
from openslob.record.measurement import EngineDelta, HostDelta
from openslob.run.samplers import Reading, Samplers
from openslob.sample.os_reader import difference

# Sessions hand their counters in when they end, which may be a moment after their client has.
COUNTERS_SETTLE_S = 0.5


@dataclass(frozen=True)
class Observed:
    """What the program did, and what server and host counted from its start to its end.

    ``host`` ends with the program, so that the time in which counters settle is not in its rates; only the server's
    own CPU is counted on until then.
    """

    result: ClientResult
    engine: EngineDelta
    host: HostDelta

    @property
    def per_s(self) -> float:
        """Transactions per second."""
        return self.result.per_s

    @property
    def reads_per_s(self) -> float:
        """Physical read requests per second, at the rate that the program itself tells."""
        return self.per_s * self._reads / self.result.transactions

    @property
    def reads_per_cpu_s(self) -> float:
        """Physical read requests per CPU second of the server."""
        if not self.host.server_cpu_s:
            raise SlobError("the server's CPU is unknown", str(self.host.unknown))
        return self._reads / self.host.server_cpu_s

    @property
    def _reads(self) -> float:
        if not self.engine.read_requests:
            raise SlobError("the server's reads are unknown", str(self.engine.unknown))
        return self.engine.read_requests


def observe(engine: Engine, program: ClientProgram, load: ClientLoad, stop: Event, cpus: str | None = None) -> Observed:
    """Run the program to its end, on ``cpus`` only if given. StoppedError when stopped, SlobError when it fails."""
    samplers = Samplers(engine, load.clients, _ignore)
    try:
        samplers.get_ready()
        before = samplers.opening_edge()
        with tempfile.TemporaryDirectory(prefix="slob-client-") as folder:
            with confined(cpus):
                done = process.run(program.command(load, Path(folder)), stop, folder=folder)
            ended = samplers.closing_edge()
            if done.code:
                raise SlobError(f"{program.name} failed: {done.errors.strip() or done.output.strip()}")
            result = program.result(done.output, Path(folder))
        time.sleep(COUNTERS_SETTLE_S)
        settled = samplers.closing_edge()
        # The CPU of sessions is all there once they have ended; the host's is that of the time in which it was loaded.
        server = difference(before.os, settled.os).server_cpu_s
        host = replace(difference(before.os, ended.os), server_cpu_s=server)
        return Observed(result, samplers.engine_delta(before, settled), host)
    finally:
        samplers.close()


def _ignore(_reading: Reading) -> None:
    """Nothing is sampled between the edges."""
