"""The Python interface for notebooks and scripts: `records` reads, and the other modules measure.

Whatever reads records must not wait for engines to be imported, so this package imports `records` alone.
"""

from openslob.api.records import find, histories, joined, load
from openslob.api.results import Results

__all__ = ["Results", "find", "histories", "joined", "load"]
