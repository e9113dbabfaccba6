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
    ListedRow,
    OsStat,
    Rate,
    Report,
    ReportInstance,
    ReportKind,
    Scope,
    Statistic,
    WaitEvent,
    WaitHistogram,
)
from openslob.awr.numbers import Number
from openslob.awr.parse import read, read_all, read_bytes
from openslob.awr.source import ReportError

__all__ = [
    "Bucket",
    "Header",
    "HostCpu",
    "InitParameter",
    "IoRates",
    "IoStat",
    "ListedRow",
    "Number",
    "OsStat",
    "Rate",
    "Report",
    "ReportError",
    "ReportInstance",
    "ReportKind",
    "Scope",
    "Statistic",
    "WaitEvent",
    "WaitHistogram",
    "read",
    "read_all",
    "read_bytes",
]
