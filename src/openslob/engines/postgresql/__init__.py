"""PostgreSQL as an engine."""

from openslob.engines.registry.entry import DEFAULT_SERVER, EngineEntry

PACKAGE = __name__

ENTRY = EngineEntry(
    name="postgresql",
    adapter=f"{__name__}.adapter",
    servers=f"{__name__}.server",
    clients=f"{__name__}.clients",
    counting=f"{__name__}.counters",
    embedded=DEFAULT_SERVER,
    standbys=True,
)
