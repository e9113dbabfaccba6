"""AWR and Statspack reports of Oracle databases: every figure, without a database.

``read(path)`` gives a :class:`Report`; see ``docs/awr.md``.
"""

from openslob.awr.model import (
    Bucket,
    Header,
    Histogram,
    HostCpu,
    Instance,
    IoRates,
    IoStat,
    Kind,
    OsStat,
    Parameter,
    Rate,
    Report,
    Scope,
    Statistic,
    WaitEvent,
)
from openslob.awr.numbers import Number
from openslob.awr.parse import read, read_bytes
from openslob.awr.source import ReportError

__all__ = [
    "Bucket",
    "Header",
    "Histogram",
    "HostCpu",
    "Instance",
    "IoRates",
    "IoStat",
    "Kind",
    "Number",
    "OsStat",
    "Parameter",
    "Rate",
    "Report",
    "ReportError",
    "Scope",
    "Statistic",
    "WaitEvent",
    "read",
    "read_bytes",
]
