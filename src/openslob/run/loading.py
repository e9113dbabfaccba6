"""Loading as a whole: the target's lock, and a managed server's best way of running for the time of it."""

from __future__ import annotations

from collections.abc import Callable

from openslob.engines.base import Engine
from openslob.engines.facts import LoadResult, ProgressSink
from openslob.engines.managed.base import ManagedServer
from openslob.workload import Workload


def load(
    engine: Engine,
    server: ManagedServer | None,
    workload: Workload,
    progress: ProgressSink,
    cancelled: Callable[[], bool],
    notify: Callable[[str], None],
) -> LoadResult:
    """Load what ``workload`` needs; ``server`` is the target's own, if it is a managed one.

    ``notify`` hears what is done to the server. Nothing is, when the data are there already.
    """
    facts = engine.facts()
    spec = workload.data(facts.block_size, facts.tablespace)
    with engine.exclusive("load") as restored:
        for line in restored:
            notify(line)
        state = engine.data.state()
        there = state is not None and state.verified and state.spec == spec
        if there or server is None:
            return engine.data.load(spec, workload.load_parallel_degree, progress, cancelled)
    # The restart ends every connection, the one that holds the lock too: so it is taken again.
    notify(f"restarting {server.name} for the load, and as it was after it")
    with server.bulk_loading(), engine.exclusive("load"):
        return engine.data.load(spec, workload.load_parallel_degree, progress, cancelled)
