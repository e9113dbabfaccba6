"""Makes descriptions of databases, from whatever draws whole numbers: a random generator or hypothesis."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from factories.awr.described import Database, DataFile, Host, Instance, Traffic, Wait

Draw = Callable[[int, int], int]  # least and greatest -> a whole number

_FOREGROUND = (
    ("db file sequential read", "User I/O"),
    ("direct path read", "User I/O"),
    ("cell single block physical read: flash cache", "User I/O"),  # cut like the next one
    ("cell single block physical read: RDMA", "User I/O"),
    ("log file sync", "Commit"),
    ("enq: TX - row lock contention", "Application"),
    ("SQL*Net more data to client", "Network"),
    ("library cache: mutex X", "Concurrency"),
    ("log file switch (checkpoint incomplete)", "Configuration"),
    ("gc cr block 2-way", "Cluster"),
    ("PGA memory operation", "Other"),
    ("control file sequential read", "System I/O"),
    ("switch logfile command", "Administrative"),
    ("resmgr:cpu quantum", "Scheduler"),
)
_BACKGROUND = (
    ("log file parallel write", "System I/O"),
    ("db file parallel write", "System I/O"),
    ("control file sequential read", "System I/O"),
    ("os thread startup", "Concurrency"),
    ("gcs log flush sync", "Other"),
)
_STATISTICS = (
    "IM scan rows", "consistent gets", "db block changes", "execute count", "gc cr blocks received",
    "gc cr blocks served", "gc current blocks received", "gc current blocks served", "logons cumulative",
    "parse count (hard)", "parse count (total)", "redo size for direct writes",
    "redo synch time overhead count (  2ms)", "redo synch time overhead count (  8ms)", "redo synch writes",
    "redo writes", "session logical reads", "session logical reads - IM", "table scans (short tables)",
    "user calls", "user commits", "user logons cumulative",
    "user rollbacks", "work area bytes",
)  # fmt: skip
_TIMES = ("sql execute elapsed time", "parse time elapsed", "hard parse elapsed time", "PL/SQL execution elapsed time",
          "connection management call elapsed time", "repeated bind elapsed time")  # fmt: skip
_FUNCTIONS = ("Buffer Cache Reads", "Direct Reads", "Direct Writes", "DBWR", "LGWR", "Others")
_FILETYPES = ("Data File", "Temp File", "Control File", "Log File", "Archive Log", "Flashback Log")
_FILES = (
    ("SLOB_DATA", "/u01/oradata/FIX/slob_data_01.dbf"),
    ("SLOB_DATA", "/u02/app/oracle/oradata/FIX/a_folder/with_a_longer_name/slob_data_02.dbf"),
    ("SYSAUX", "+DATA/fix/datafile/sysaux.257.1"),
    ("UNDOTBS1", "/u01/oradata/FIX/undotbs01.dbf"),
)
_EFFICIENCY = ("Buffer Nowait %:", "Redo NoWait %:", "Buffer  Hit   %:", "In-memory Sort %:", "Library Hit   %:",
               "Soft Parse %:", "Execute to Parse %:", "Latch Hit %:", "Parse CPU to Parse Elapsd %:",
               "% Non-Parse CPU:", "Flash Cache Hit %:")  # fmt: skip
_GC = ("global enqueue get time", "cr block receive time", "current block receive time", "cr block build time",
       "cr block flush time", "current block pin time")  # fmt: skip
_OS = ("BUSY_TIME", "IDLE_TIME", "IOWAIT_TIME", "SYS_TIME", "USER_TIME", "NICE_TIME", "OS_CPU_WAIT_TIME")
_OS_AT_BOTH_ENDS = ("FREE_MEMORY_BYTES", "LOAD", "GLOBAL_RECEIVE_SIZE_MAX")
_LONG = "/u01/app/oracle/a/long/path/that/goes/on/in/the/next/line/of/a/text/report"


def database(draw: Draw, instances: int = 1, is_rac: bool | None = None, containers: int | None = None) -> Database:
    """A description whose figures are ``draw``-n."""
    begin = datetime(2010 + draw(0, 15), draw(1, 12), draw(1, 28), draw(0, 23), draw(0, 59), draw(0, 59))
    elapsed = draw(60, 7200)
    count = draw(0, 3) if containers is None else containers
    return Database(
        name="FIX",
        identifier=draw(10**8, 4 * 10**9),
        unique_name="FIX_A",
        role="PHYSICAL STANDBY" if draw(0, 3) == 3 else "PRIMARY",
        edition=("EE", "SE", "XP")[draw(0, 2)],
        is_rac=instances > 1 if is_rac is None else is_rac or instances > 1,
        is_container=count > 0,
        containers=("PDB1", "PDB2", "SALES$2024")[:count],
        block_size=2048 << draw(0, 4),
        cache_mb=(128, 128 + draw(0, 900_000)),
        snaps=((snap := draw(1, 99_998)), snap + 1),
        begin=begin,
        end=begin + timedelta(seconds=elapsed),
        instances=tuple(_instance(draw, number, elapsed) for number in range(1, instances + 1)),
    )


def example(seed: int, instances: int = 1, **chosen: bool | int) -> Database:
    """The description of a seed; that of every third one has many figures at the ends of their ranges."""
    chance = random.Random(seed)

    def extreme(least: int, greatest: int) -> int:
        return chance.choice((least, greatest, chance.randint(least, greatest)))

    return database(chance.randint if seed % 3 else extreme, instances, **chosen)


def _size(draw: Draw, digits: int) -> int:
    """A count of any magnitude up to so many digits, often 0."""
    return draw(0, 10 ** draw(0, digits) - 1)


def _instance(draw: Draw, number: int, elapsed: int) -> Instance:
    foreground = tuple(_wait(draw, *one) for one in _FOREGROUND if draw(0, 9))
    background = tuple(_wait(draw, *one) for one in _BACKGROUND if draw(0, 9))
    cpu = draw(5, 10 * elapsed * 16) / 10
    background_cpu = draw(0, elapsed * 10) / 100
    switches = _size(draw, 3)
    return Instance(
        number=number,
        name=f"fix{number}",
        host=_host(draw, number),
        started=datetime(2010, 3, 1, 8, draw(0, 59)),
        sessions=(draw(20, 2000), draw(20, 2000)),
        foreground=foreground,
        background=background,
        statistics=_statistics(draw) | {"background checkpoints started": switches},
        times={
            "DB CPU": cpu,
            **{name: _size(draw, 8) / 100 for name in _TIMES},
            "background elapsed time": 1 + sum(wait.seconds for wait in background) + background_cpu,
            "background cpu time": background_cpu,
        },
        functions=tuple(_traffic(draw, name, elapsed) for name in _FUNCTIONS),
        filetypes=tuple(_traffic(draw, name, elapsed) for name in _FILETYPES),
        files=tuple(_file(draw, *one) for one in _FILES),
        os_stats={
            **{name: (_size(draw, 9), None) for name in _OS},
            **{name: (_size(draw, 12), _size(draw, 12) if draw(0, 1) else None) for name in _OS_AT_BOTH_ENDS},
        },
        efficiency={name: draw(-999, 10_000) / 100 for name in _EFFICIENCY},
        parameters=_parameters(draw, number),
        log_switches=switches,
        gc_us={name: draw(0, 9_999_999) / 10 for name in _GC},
        gc_flushes={
            f"log flushes for {kind} blocks served %": draw(0, 1000) / 10 for kind in ("cr", "current")
        },
    )  # fmt: skip


def _wait(draw: Draw, name: str, wait_class: str) -> Wait:
    """Waits in up to three buckets, from 1 µs to an hour; few of them are long."""
    counts: dict[int, int] = {}
    for _ in range(draw(1, 3)):
        power = draw(0, 32)
        most = min(10**7, 10**11 // 2**power)
        counts[power] = counts.get(power, 0) + 1 + draw(0, draw(0, most - 1))
    wait = Wait(name, wait_class, counts)
    return replace(wait, timeouts=draw(0, wait.waits)) if draw(0, 1) else wait


def _statistics(draw: Draw) -> dict[str, int]:
    found = {
        name: _size(draw, {"work area bytes": 12, "session logical reads": 11}.get(name, 8)) for name in _STATISTICS
    }
    for way in ("read", "write"):
        blocks = _size(draw, 9)
        own, others = draw(0, blocks), draw(0, 10_000)
        found |= {
            f"physical {way}s": blocks,
            f"physical {way} IO requests": own,
            f"physical {way} bytes": blocks * 8192,
            f"physical {way} total IO requests": own + others,
            f"physical {way} total bytes": blocks * 8192 + others * 512,
        }
    return found | {"redo size": _size(draw, 12)}


def _traffic(draw: Draw, name: str, elapsed: int) -> Traffic:
    reads, writes = (draw(0, draw(0, 9_999)) * elapsed // 10 + draw(0, 9) for _ in range(2))
    waits = draw(0, draw(0, 10**8)) if draw(0, 2) else 0
    return Traffic(
        name,
        reads,
        writes,
        reads * 8192,
        writes * draw(1, 16) * 512,
        waits,
        draw(1, draw(1, 10**8)) / 10 if waits else None,
        draw(1, draw(1, 10**8)) / 10 if draw(0, 2) else None,
        draw(1, draw(1, 10**8)) / 10 if draw(0, 2) else None,
    )


def _file(draw: Draw, tablespace: str, path: str) -> DataFile:
    reads, writes, waits = (_size(draw, digits) for digits in (8, 5, 7))
    single = draw(0, reads)
    return DataFile(
        tablespace=tablespace,
        path=path,
        reads=reads,
        blocks=reads * draw(1, 128),
        read_s=reads * draw(0, 10**5) / 1e5,
        single_reads=single,
        single_s=single * draw(0, 10**5) / 1e5,
        writes=writes,
        buffer_waits=waits,
        buffer_s=waits * draw(0, 10**5) / 1e5,
    )


def _host(draw: Draw, number: int) -> Host:
    cores = draw(1, 480)
    user, system = draw(0, 700) / 1000, draw(0, 300) / 1000
    return Host(
        name=f"node{number}",
        platform=("Linux x86 64-bit", "AIX-Based Systems (64-bit)")[draw(0, 1)],
        cpus=cores * 2,
        cores=cores,
        sockets=draw(1, 8) if draw(0, 2) else None,
        memory=draw(2**28, 2**44),
        load=(draw(0, 99_999) / 100, draw(0, 99_999) / 100),
        user=user,
        system=system,
        iowait=draw(0, 1000) / 1000,
    )


def _parameters(draw: Draw, number: int) -> dict[str, tuple[str, str]]:
    return {
        "_high_priority_processes": ("", ""),
        "_optimizer_cost_based_transformation": ("LINEAR", ""),
        "audit_file_dest": (_LONG[: draw(1, len(_LONG))], ""),
        "cpu_count": (str(draw(1, 999)), ""),
        "db_block_size": ("8192", ""),
        "instance_number": (str(number), ""),
        "sga_target": (str(draw(10**6, 10**12)), str(draw(10**6, 10**12)) if draw(0, 1) else ""),
    }
