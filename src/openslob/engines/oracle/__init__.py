"""Oracle Database as an engine. Experimental: no real Oracle has passed the contract tests yet."""

from openslob.engines.registry.entry import EngineEntry

ENTRY = EngineEntry(
    "oracle",
    adapter=f"{__name__}.adapter",
    extra="openslob[oracle]",
    counting=f"{__name__}.delta",
    calibrates=True,
)
