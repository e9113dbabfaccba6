"""Our load against the plain way, in turn, on the same disk: prints the seconds of each round and the ratio.

The plain way is one INSERT … SELECT … ORDER BY random() into one table with the same rows and fillfactor, then
CREATE UNIQUE INDEX and VACUUM ANALYZE, on a server with PostgreSQL's default settings. Ours is `slob load` of as many
blocks in several schemas on a managed server with direct I/O, its restarts and its verification included.

    .venv/bin/python bench/load.py [--quick] [--blocks 262144] [--schemas 8] [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from openslob.engines import registry
from openslob.engines.hosting.account import server_account
from openslob.engines.postgresql.binaries import find_installation, readable_installation
from openslob.run import loading
from openslob.workload import Workload

COLUMNS = [f"c{number}" for number in range(2, 21)]
PLAIN = f"""
CREATE TABLE plain (custid bigint, {", ".join(f"{name} varchar(128)" for name in COLUMNS)}) WITH (fillfactor = 10);
INSERT INTO plain SELECT key, {", ".join(["text"] * len(COLUMNS))}
    FROM (SELECT key, repeat('X', 128) AS text FROM generate_series(1, {{rows}}) key ORDER BY random()) scattered;
CREATE UNIQUE INDEX ON plain (custid);
"""


@contextmanager
def default_server(place: Path) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A server exactly as initdb makes it, but for its socket."""
    account = server_account()
    account.make_private(place)
    programs = readable_installation(find_installation(registry.default_spec("plain")), account)
    socket = f"-c listen_addresses= -c unix_socket_directories={place}"
    commands = {
        "initdb": ["-D", place / "data", "-U", "slob", "-A", "trust"],
        "pg_ctl": ["start", "-w", "-s", "-D", place / "data", "-l", place / "log", "-o", socket],
    }
    for program, arguments in commands.items():
        account.run([programs.program(program), *arguments]).check_returncode()
    try:
        with psycopg.connect(host=str(place), user="slob", dbname="postgres", autocommit=True) as connection:
            yield connection
    finally:
        account.run([programs.program("pg_ctl"), "stop", "-m", "immediate", "-D", place / "data"])


def plain_seconds(connection: psycopg.Connection[tuple[object, ...]], rows: int) -> float:
    """Load the plain way; the table is dropped afterwards, outside the clock."""
    begun = time.monotonic()
    for text in (*filter(str.strip, PLAIN.format(rows=rows).split(";")), "VACUUM ANALYZE plain"):
        connection.execute(text)
    seconds = time.monotonic() - begun
    connection.execute("DROP TABLE plain")
    connection.execute("CHECKPOINT")
    return seconds


def our_seconds(workload: Workload) -> tuple[float, float]:
    """Load our way: in all, and without the restarts; the data are dropped afterwards, outside the clock."""
    engine, server = registry.resolve(registry.EMBEDDED)
    begun = time.monotonic()
    result = loading.load(engine, server, workload, lambda _: None, lambda: False, lambda _: None)
    seconds = time.monotonic() - begun
    engine.drop()
    return seconds, result.seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=262_144)
    parser.add_argument("--schemas", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    scan = asked.blocks // asked.schemas // 256
    workload = Workload.model_validate(
        {"schemas": asked.schemas, "scale": asked.blocks // asked.schemas - scan, "scan_table_sz": scan}
    )
    place = Path(tempfile.mkdtemp(prefix="slob-bench-", dir="/var/tmp"))
    place.chmod(0o755)
    os.environ["OPENSLOB_HOME"] = str(place)
    try:
        with default_server(place / "plain") as connection:
            rounds = [(plain_seconds(connection, asked.blocks), *our_seconds(workload)) for _ in range(asked.rounds)]
    finally:
        if server := registry.find(registry.EMBEDDED):
            server.destroy()
        shutil.rmtree(place)
    for plain, ours, load in rounds:
        print(f"plain {plain:6.2f} s   ours {ours:6.2f} s ({load:.2f} s of it the load)   ratio {plain / ours:.2f}")
    in_all = statistics.median(plain / ours for plain, ours, _ in rounds)
    alone = statistics.median(plain / load for plain, _, load in rounds)
    print(f"median ratio {in_all:.2f}, without the restarts {alone:.2f} ({asked.blocks} blocks)")


if __name__ == "__main__":
    main()
