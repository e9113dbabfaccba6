"""pgbench, the benchmark program that comes with PostgreSQL: one-row selects by key on the tables of a load."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from openslob.engines.entry import ClientLoad, ClientResult
from openslob.engines.postgresql.binaries import Installation
from openslob.engines.postgresql.names import Names
from openslob.errors import SlobError
from openslob.histogram import Histogram, bucket_of

_LOG = "log"
_LATENCY_FIELD = 2  # of a line of its log, in µs


class Pgbench:
    """The pgbench of one installation against one target."""

    name = "pgbench"

    def __init__(self, installation: Installation, url: str) -> None:
        self._program = installation.program("pgbench")
        self._url = url
        if not self._program.is_file():
            raise SlobError(f"there is no pgbench in {installation.bin}", "install the client programs of PostgreSQL")

    def command(self, load: ClientLoad, folder: Path) -> Sequence[str]:
        """Return the command: prepared statements, a random table for each transaction, latencies in ``folder``."""
        scripts = [part for script in _scripts(load, folder) for part in ("-f", script)]
        shape = ["-c", load.clients, "-j", load.threads, "-T", max(1, round(load.seconds))]
        logged = ["--log", f"--log-prefix={folder / _LOG}"]
        return [str(part) for part in (self._program, "-n", "-M", "prepared", *scripts, *shape, *logged, self._url)]

    def result(self, output: str, folder: Path) -> ClientResult:
        """Return what pgbench printed and logged. SlobError when it printed no rate."""
        rate = re.search(r"^tps = ([\d.]+)", output, re.MULTILINE)
        done = re.search(r"^number of transactions actually processed: (\d+)", output, re.MULTILINE)
        if rate is None or done is None:
            raise SlobError(f"pgbench's output can't be read: {output.strip()!r}")
        return ClientResult(int(done[1]), float(rate[1]), _latency(folder))


def _scripts(load: ClientLoad, folder: Path) -> Iterator[Path]:
    """Write a script for each table."""
    for number in range(1, load.schemas + 1):
        table = Names().cf1(number).as_string()
        script = folder / f"select-{number}.sql"
        script.write_text(
            f"\\set key random(1, {load.keys})\nSELECT count(c2) FROM {table} WHERE custid = :key;\n", encoding="utf-8"
        )
        yield script


def _latency(folder: Path) -> Histogram:
    counted: Counter[int] = Counter()
    for path in folder.glob(f"{_LOG}.*"):
        with path.open(encoding="utf-8") as lines:
            counted.update(int(line.split()[_LATENCY_FIELD]) for line in lines)
    histogram = Histogram()
    buckets: Counter[int] = Counter()
    for us, count in counted.items():
        buckets[bucket_of(us)] += count
    histogram.add(buckets, float(sum(us * count for us, count in counted.items())), float(max(counted, default=0)))
    return histogram
