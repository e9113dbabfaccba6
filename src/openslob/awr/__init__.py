"""Parser for AWR and Statspack reports of Oracle databases; no database is needed.

``read(path)`` returns a :class:`Report`. See ``docs/awr.md``.
"""

from openslob.awr.model import (
    Bucket,
    Header,
    HostCpu,
    InitParameter,
    IoRates,
    IoStat,
    OsStat,
    Rate,
    Report,
    ReportInstance,
    ReportKind,
    Scope,
    Service,
    Statistic,
    WaitEvent,
    WaitHistogram,
)
from openslob.awr.numbers import Number
from openslob.awr.parse import read, read_bytes
from openslob.awr.source import ReportError

__all__ = [
    "Bucket",
    "Header",
    "HostCpu",
    "InitParameter",
    "IoRates",
    "IoStat",
    "Number",
    "OsStat",
    "Rate",
    "Report",
    "ReportError",
    "ReportInstance",
    "ReportKind",
    "Scope",
    "Service",
    "Statistic",
    "WaitEvent",
    "WaitHistogram",
    "read",
    "read_bytes",
]
