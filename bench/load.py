"""`slob load` compared with plain SQL, in turn, on the same disk: rates and their ratio.

The plain SQL is one INSERT … SELECT … ORDER BY random() into one table with the same rows and fillfactor, then CREATE
UNIQUE INDEX and VACUUM ANALYZE, on a server with PostgreSQL's default settings. `slob load` loads as many blocks in
several schemas on a managed server with direct I/O, including restarts and verification.

    .venv/bin/python bench/load.py [--quick] [--blocks 262144] [--schemas 8] [--rounds 3]
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg

from common import Bar, Bench, Pair, bench, notify, parse, parser, print_heading, print_pairs, scratch_folder, start
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.engines.managed.account import server_account
from openslob.engines.postgresql.binaries import make_readable
from openslob.engines.postgresql.providers import find_installation
from openslob.kinds.run import loading

QUICK_BLOCKS = 65_536
# At least twice the rate of plain SQL.
RATE_BAR = Bar(2)
COLUMNS = [f"c{number}" for number in range(2, 21)]
PLAIN = f"""
CREATE TABLE plain (custid bigint, {", ".join(f"{name} varchar(128)" for name in COLUMNS)}) WITH (fillfactor = 10);
INSERT INTO plain SELECT key, {", ".join(["text"] * len(COLUMNS))}
    FROM (SELECT key, repeat('X', 128) AS text FROM generate_series(1, {{rows}}) key ORDER BY random()) scattered;
CREATE UNIQUE INDEX ON plain (custid);
"""


@contextmanager
def default_server(place: Path) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Run a server with the settings of initdb, except for its socket."""
    account = server_account()
    account.make_private(place)
    programs = make_readable(find_installation(registry.default_spec("plain")), account)
    socket = f"-c listen_addresses= -c unix_socket_directories={place}"
    commands: Mapping[str, list[str | Path]] = {
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
    """Return the seconds of a load by plain SQL. The table is dropped afterwards, which is not measured."""
    begun = time.monotonic()
    for text in (*filter(str.strip, PLAIN.format(rows=rows).split(";")), "VACUUM ANALYZE plain"):
        connection.execute(text)
    seconds = time.monotonic() - begun
    connection.execute("DROP TABLE plain")
    connection.execute("CHECKPOINT")
    return seconds


def our_seconds(target: Bench, workload: Workload) -> tuple[float, float]:
    """Return the seconds of `slob load` with and without restarts. The data are dropped afterwards, not measured."""
    begun = time.monotonic()
    result = loading.load(target.engine, target.server, workload, lambda _: None, lambda: False, lambda _: None)
    seconds = time.monotonic() - begun
    target.engine.data.drop()
    return seconds, result.seconds


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, rounds=3)
    options.add_argument("--blocks", type=int, default=262_144, help="blocks to load in all (%(default)d)")
    options.add_argument("--schemas", type=int, default=8, help="our schemas (%(default)d)")
    args = parse(options)
    blocks = min(args.blocks, QUICK_BLOCKS) if args.quick else args.blocks
    scan = blocks // args.schemas // 256
    shape = {"schemas": args.schemas, "scale": blocks // args.schemas - scan, "scan_table_sz": scan}
    workload = Workload.model_validate(shape)
    in_all, alone = [], []
    with bench("load") as target, scratch_folder() as place, default_server(place / "plain") as connection:
        print_heading(f"loading {blocks:,} blocks, blocks/s", pairs=True)
        for number in range(args.rounds):
            notify(f"round {number + 1} of {args.rounds}")
            plain = plain_seconds(connection, blocks)
            seconds, load = our_seconds(target, workload)
            in_all.append(Pair(blocks / seconds, blocks / plain))
            alone.append(Pair(blocks / load, blocks / plain))
    print_pairs("restarts and checks included", in_all, RATE_BAR)
    print_pairs("without the restarts", alone)


if __name__ == "__main__":
    start(main)
