"""Busy CPU has one definition: the same seconds are the same number of busy CPUs, whoever measures."""

from __future__ import annotations

import pytest

from factories import measurements
from openslob.core.units import NANOS
from openslob.host.counters import busy_name, parse_cpu
from openslob.host.model import Sample
from openslob.kinds.storage import session
from openslob.metrics import METRICS, summary
from openslob.metrics.cpu import is_busy, total_s

CORES, SECONDS = 4, 10.0
# Of 40 CPU seconds 16 are busy, 4 of them stolen; a guest's 3 are within user time.
CPU = {"user": 8.0, "system": 3.0, "softirq": 1.0, "steal": 4.0, "guest": 3.0, "idle": 20.0, "iowait": 4.0}
CPUS_BUSY = 1.6


def test_stolen_time_is_busy_and_a_guest_s_is_counted_once():
    assert sum(seconds for kind, seconds in CPU.items() if is_busy(kind)) == CPUS_BUSY * SECONDS
    assert total_s(CPU) == CORES * SECONDS


def test_a_run_counts_stolen_time_as_busy():
    figures = summary(measurements.measurement(host=measurements.host(cpu=CPU, cores=CORES)))
    assert figures["host_cpu_busy_pct"].value * CORES / 100 == pytest.approx(CPUS_BUSY)
    assert METRICS["host_cpu_busy_pct"].unit == "%"


def test_a_step_of_fio_counts_stolen_time_as_busy():
    none = Sample.missing(("dev_read_bytes",), "no device")
    begin, end = ({f"cpu_{kind}_s": spent * n for kind, spent in CPU.items() if kind != "guest"} for n in (1, 2))
    samples = [
        session.UsageReading(0, Sample(begin), none),
        session.UsageReading(int(SECONDS * NANOS), Sample(end), none),
    ]
    assert session.usage_of(samples).host_cpu_s == pytest.approx(CPUS_BUSY)


def test_one_cpu_counts_stolen_time_as_busy():
    # user nice system idle iowait irq softirq steal guest, in ticks
    one = "800 0 300 2000 400 0 100 400 300"
    sample = parse_cpu(f"cpu {one}\ncpu0 {one}\n")
    ticks_per_s = 800 / sample.values["cpu_user_s"]
    assert sample.values[busy_name(0)] == pytest.approx(1600 / ticks_per_s)
