"""A host's counters read over ssh beside those read here, under one load, and what reading them there costs.

The host is this one: its address must be one that ssh reaches without a password, as the user of the servers or root.
With --exporter, the same of a node_exporter of this host.

.venv/bin/python bench/far_host.py [--host ssh://localhost] [--exporter http://localhost:9100/metrics]
    [--quick] [--seconds 20] [--rounds 3]
"""

from __future__ import annotations

import threading
import time
from itertools import product
from typing import NamedTuple

from common import Bar, Bench, bench, parse, parser, print_figure, print_heading, start
from openslob.core.measurement import HostDelta
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.host.exporter import ExporterHost
from openslob.host.remote import RemoteHost, find_host
from openslob.host.sampler import OsReader, difference

MANY = 300
CACHE_MB = 64
FAR = Bar(1.02, at_least=False)
EXPORTED = Bar(1.03, at_least=False)
COST = Bar(1, at_least=False)


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, seconds=20, rounds=3)
    options.add_argument("--host", default="ssh://localhost", help="the address of this host (%(default)s)")
    options.add_argument("--exporter", default="", help="the address of the metrics of its node_exporter")
    args = parse(options)
    hosts = {"over ssh": (find_host(args.host), FAR), "by a node_exporter": (find_host(args.exporter), EXPORTED)}
    with bench("far", cache_bytes=CACHE_MB * MIB, max_sessions=MANY + 20) as target:
        target.load(Workload.model_validate({"schemas": 1, "scale": f"{8 * CACHE_MB}M"}))
        for (how, (host, bar)), sessions in product(hosts.items(), (4, MANY)):
            if host is None:
                continue
            found = [compare(target, host, sessions, args.seconds) for _ in range(args.rounds)]
            print_heading(f"read {how}, relative to here: {sessions} sessions")
            for name in found[0].ratios:
                ratios = [each.ratios[name] for each in found if name in each.ratios]
                # Either may be the larger one.
                print_figure(name, [max(ratio, 1 / ratio) for ratio in ratios], "", bar)
            print_figure("a reading takes", [1e3 * each.took_s for each in found], "ms")
            print_figure("a reading there", [1e3 * each.cost_s for each in found], "ms of CPU")
            print_figure("readings so far apart", [each.apart_s for each in found], "s")
            print_figure("of a CPU", [100 * each.cost_s / max(1.0, each.apart_s) for each in found], "%", COST)


class Compared(NamedTuple):
    """Figures there divided by those here; the seconds and CPU seconds of a reading there; how far apart they are."""

    ratios: dict[str, float]
    took_s: float
    cost_s: float
    apart_s: float


def compare(target: Bench, host: RemoteHost | ExporterHost, sessions: int, seconds: float) -> Compared:
    """Return how figures that are read there and here compare."""
    load = {"schemas": 1, "scale": f"{8 * CACHE_MB}M", "sessions": sessions}
    run = threading.Thread(target=target.run, kwargs={**load, "run_time": seconds + 4, "warmup": 0})
    location = target.engine.location()
    assert location.processes is not None
    here = OsReader([location.processes], location.data_directories, list)
    servers = [] if host.hides_processes else [location.processes]
    there = OsReader(servers, location.data_directories, list, host.hides_processes, host=host)
    run.start()
    time.sleep(3)
    before = there.read(), here.read()
    begun_s = host.cpu_s()
    time.sleep(seconds)
    for _ in range(5):
        there.read(full_scan=False)
    cost_s = (host.cpu_s() - begun_s) / 5
    took_s, apart_s = there.price()
    after = there.read(), here.read()
    run.join()
    far, near = (rates(difference(first, last)) for first, last in zip(before, after, strict=True))
    here.close()
    there.close()
    return Compared({name: far[name] / near[name] for name in far if near.get(name)}, took_s, cost_s, apart_s)


def rates(delta: HostDelta) -> dict[str, float]:
    """Return figures of a host by name, per second."""
    known = {
        "host CPU": sum(s for kind, s in (delta.cpu or {}).items() if kind not in ("idle", "iowait")),
        "server CPU": delta.server_cpu_s,
        "server waits for a CPU": delta.server_runqueue_s,
        "device reads": delta.device.reads if delta.device else None,
        "device bytes read": delta.device.read_bytes if delta.device else None,
        "device writes": delta.device.writes if delta.device else None,
        "server bytes read": delta.server_read_bytes,
    }
    return {name: value / delta.seconds for name, value in known.items() if value}


start(main)
