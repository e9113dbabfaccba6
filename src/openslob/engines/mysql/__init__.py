"""MariaDB and MySQL; one engine, since they differ only by capability."""

from openslob.engines.registry.entry import EngineEntry

ENTRY = EngineEntry(
    name="mariadb",
    adapter=f"{__name__}.adapter",
    servers=f"{__name__}.server",
    clients=f"{__name__}.clients",
    counting=f"{__name__}.counters",
    embedded="embedded-mariadb",
    standbys=True,
    clusters=f"{__name__}.galera",
)
