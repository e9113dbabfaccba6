"""The course of a load in equal steps, as arrays: what the search for levels and for causes reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mark:
    """Something that happened, from ``at_s`` to ``until_s`` after the load began.

    ``kind`` is ``checkpoint``, ``log switch``, ``maintenance`` (autovacuum, purge), ``gap`` (nothing was recorded),
    ``note`` or ``error``.
    """

    at_s: float
    until_s: float
    kind: str
    text: str = ""


@dataclass(frozen=True)
class Trace:
    """What was measured in each step of ``step_s`` since ``begin_ns`` of the server's clock, when the load began.

    ``series`` has arrays of one value a step, all of one length; NaN where the value is unknown. A series that was not
    recorded at all is absent. Amounts are rates: per second of the step. The names are:

    ========================  ==========================================================================================
    ``ops``                   operations; of a load that is not ours, transactions
    ``latency.p50_us``        service time of the operations of the step, all kinds; also ``p99_us``, ``max_us``
    ``engine.FIELD``          the fields of `EngineDelta.amounts`, per second
    ``host.busy``             CPUs that were busy with anything; also ``host.steal``, ``host.iowait``; of ``host.cores``
    ``server.cpu``            CPUs that the server used; of ``server.cores``, which it may run on
    ``server.read_bytes``     what the server's processes read from storage, and ``server.write_bytes`` what they wrote:
                              exact by the second, and of nobody else, unlike the engine's and the device's counters
    ``driver.cpu``            CPUs that this program used
    ``device.FIELD``          the counters of `DeviceIo` per second: ``reads``, ``read_bytes``, ``busy_ms`` …
    ``waits.CLASS``           sessions that waited, by the name of the `WaitClass` in lower case: ``waits.data_io``,
                              ``waits.log``, ``waits.lock``; ``waits.cpu`` are those that did not wait
    ``cgroup.cpu_throttled``  tasks' time, in s per s, for which the server's group was held back by its CPU quota
    ``cgroup.cpu_quota``      the CPUs that the quota allows; absent without a quota
    ``cgroup.read_limit``     the limits on I/O of the server's group for its device, requests per second; also
                              ``write_limit``, ``read_bytes_limit``, ``write_bytes_limit``; absent without a limit
    ``pressure.io``           the share of time (0 to 1) in which a task waited for I/O (PSI, ``some``), of the
                              server's group or of the host; also ``pressure.cpu``, ``pressure.memory``
    ``volume.FIELD``          what a cloud's volume tells of the time for which it held requests back: s per s in
                              ``volume.iops_exceeded``, ``volume.bytes_exceeded``, ``instance.iops_exceeded`` …
    ========================  ==========================================================================================
    """

    begin_ns: int
    step_s: float
    series: Mapping[str, Array]
    marks: Sequence[Mark] = ()

    def __post_init__(self) -> None:
        if len({len(values) for values in self.series.values()}) > 1:
            raise ValueError("the series of a trace have different lengths")

    @property
    def steps(self) -> int:
        """The number of steps."""
        return max((len(values) for values in self.series.values()), default=0)

    @property
    def seconds(self) -> float:
        """The time that the trace spans."""
        return self.steps * self.step_s

    def get(self, name: str) -> Array:
        """Return a series; all of it unknown if it was not recorded."""
        found = self.series.get(name)
        return np.full(self.steps, np.nan) if found is None else found
