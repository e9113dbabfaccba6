"""The parameters of loads, runs and sweeps as types, made by tools/generate_api.py; a test compares them.

`openslob.core.workload` defines the parameters. Editors complete their names from these types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict


class Parameters(TypedDict, total=False):
    """The parameters of a load or a run."""

    schemas: int
    """Sets of tables; sessions are spread over them. 1: single-schema model. Allowed: a whole number from 1 to 8192.
    Default: 4.
    """

    scale: int | str
    """Size of each schema's table: a number of blocks, or a size such as 80M or 2G. Allowed: 1 to 4294967294 blocks, or
    a size from 64K to 32T (suffix K, M, G or T). Default: 256M.
    """

    scan_table_sz: int | str
    """Size of each schema's short-scan table: blocks, or a size. Allowed: 1 to 4294967294 blocks, or a size from 64K to
    32T (suffix K, M, G or T). Default: 1M.
    """

    obfuscate_columns: bool
    """Fill and update columns with incompressible text instead of a constant. Allowed: TRUE or FALSE. Default: FALSE.
    """

    compressible: int
    """Share of OBFUSCATE_COLUMNS' text that is constant, so that it compresses. Allowed: a whole number from 0 to 90.
    Default: 0.
    """

    load_parallel_degree: int
    """Tables loaded at the same time. Allowed: a whole number from 1 to 256. Default: 8."""

    threads_per_schema: int
    """Sessions per schema, when `sessions` is not given. Allowed: a whole number from 1 to 4096. Default: 1."""

    sessions: int
    """Sessions in all, spread evenly over the schemas; default: schemas x threads per schema. Allowed: a whole number
    from 1 to 32768.
    """

    classes: str | Mapping[str, Mapping[str, object]]
    """Sessions that do different work, with figures of their own; the flag is repeated for each class. Allowed: a name
    with its parameters, such as readers:sessions=16,update_pct=0; several are divided by semicolons.
    """

    instance_role: Literal["any", "read-write", "read-only"]
    """Instances of a cluster that sessions work on: any, or those that take writes, or reads only. Allowed: any, read-
    write or read-only. Default: any.
    """

    run_time: float | str
    """Length of the measured window. 0: end by WORK_LOOP only. Allowed: a duration from 0 to 864000 s, such as 90, 90s
    or 1m30s. Default: 60.
    """

    work_loop: int
    """Operations after which a session ends; 0: end by RUN_TIME only. Allowed: a whole number from 0 to 1000000000000.
    Default: 0.
    """

    warmup: float | str
    """Load before the measured window; it is not counted. Allowed: a duration from 0 to 86400 s, such as 90, 90s or
    1m30s. Default: 2.
    """

    update_pct: int
    """Share of operations that update; exact in every 100. Allowed: a whole number from 0 to 100. Default: 0."""

    scan_pct: int
    """Share of the SELECTs that scan the short-scan table, exact in every 100. Allowed: a whole number from 0 to 100.
    Default: 0.
    """

    work_unit: int
    """Rows, each in its own block, that one SELECT visits. Allowed: a whole number from 1 to 65536. Default: 64."""

    update_work_unit: int
    """Rows that one UPDATE changes and commits; default: WORK_UNIT. Allowed: a whole number from 1 to 65536."""

    redo_stress: Literal["LITE", "HEAVY"]
    """LITE updates two columns, HEAVY all nineteen. Allowed: LITE or HEAVY. Default: LITE."""

    commit_mode: Literal["wait", "nowait", "engine"]
    """wait: durable before the next operation; nowait: not; engine: as the server is set. Allowed: wait, nowait or
    engine. Default: wait.
    """

    access: str
    """How rows are chosen: all equally often, by a Zipf law with an exponent, or with DO_HOTSPOT. Allowed: uniform,
    hotspot, or zipf: with an exponent from 0.001 to 2, such as zipf:0.99. Default: uniform.
    """

    do_hotspot: bool
    """Send every HOTSPOT_FREQUENCY-th operation to the hot spot. Allowed: TRUE or FALSE. Default: FALSE."""

    hotspot_mb: float
    """Size of the hot spot. Allowed: a number from 0 to 33554432. Default: 8."""

    hotspot_offset_mb: float
    """Where in the key range the hot spot begins. Allowed: a number from 0 to 33554432. Default: 16."""

    hotspot_frequency: int
    """One in this many operations goes to the hot spot; 0: none. Allowed: a whole number from 0 to 1000000000. Default:
    3.
    """

    hot_schema_frequency: int
    """One in this many operations goes to schema 1; 0: none. Allowed: a whole number from 0 to 1000000000. Default: 0.
    """

    think_tm_frequency: int
    """A session sleeps once in this many operations; 0: never. Allowed: a whole number from 0 to 1000000000. Default:
    0.
    """

    think_tm_min: float | str
    """Shortest sleep. Allowed: a duration from 0 to 3600 s, such as 90, 90s or 1m30s. Default: 0.1."""

    think_tm_max: float | str
    """Longest sleep. Allowed: a duration from 0 to 3600 s, such as 90, 90s or 1m30s. Default: 0.5."""

    target_ops: float
    """Operations per second over all sessions; default: no limit. Allowed: a number from 0.001 to 1000000000."""

    target_iops: float
    """Block visits per second in all, instead of TARGET_OPS. Allowed: a number from 0.001 to 1000000000."""

    rate_schedule: str
    """A rate that changes, in operations per second: BEGIN:RATE of each stage, BEGIN:FROM-TO of a ramp. Allowed:
    BEGIN:RATE of each stage, such as 0s:1000,60s:5000; a ramp to the next stage is 60s:1000-5000.
    """

    pacing: Literal["uniform", "poisson"]
    """Due times at a given rate. uniform: at even intervals; poisson: random, as of independent users. Allowed: uniform
    or poisson. Default: uniform.
    """

    loop: Literal["server", "client"]
    """server: a procedure does the operations; client: the driver sends them. Never compare the two. Allowed: server or
    client. Default: server.
    """

    connect_every: int
    """Operations after which a session of the client loop connects again; 0: it stays connected. Allowed: a whole
    number from 0 to 1000000000. Default: 0.
    """

    pipeline: int
    """Operations that a session of the client loop sends at once; their latency is that of the batch. Allowed: a whole
    number from 1 to 256. Default: 1.
    """

    block_path: Literal["shared", "local"]
    """shared: blocks go through the buffer cache; local: through memory private to the session. Allowed: shared or
    local. Default: shared.
    """

    seed: int
    """Seed of every random choice; the same seed, the same choices. Allowed: a whole number from 0 to 2147483647.
    Default: 1.
    """

    mode: Literal["pio", "lio", "redo", "scan", "churn"]
    """What to measure: reads, cached reads, commits, scans or churn. A verdict says if the run did. Allowed: pio, lio,
    redo, scan or churn.
    """

    database_statistics_type: Literal["none", "awr", "statspack"]
    """The server's own reports on the window; awr needs a licence and `--consent awr`. Allowed: none, awr or statspack.
    Default: none.
    """

    price: str
    """What the server costs; figures of cost are known only with it. Allowed: an amount above 0, with or without a
    currency, /hour, /month or /year, such as 123.45 EUR/month.
    """


class SweptParameters(TypedDict, total=False):
    """The parameters of a sweep: a value each, or several."""

    schemas: int | Sequence[int]
    """Sets of tables; sessions are spread over them. 1: single-schema model. Allowed: a whole number from 1 to 8192.
    Default: 4.
    """

    scale: int | str | Sequence[int | str]
    """Size of each schema's table: a number of blocks, or a size such as 80M or 2G. Allowed: 1 to 4294967294 blocks, or
    a size from 64K to 32T (suffix K, M, G or T). Default: 256M.
    """

    scan_table_sz: int | str | Sequence[int | str]
    """Size of each schema's short-scan table: blocks, or a size. Allowed: 1 to 4294967294 blocks, or a size from 64K to
    32T (suffix K, M, G or T). Default: 1M.
    """

    obfuscate_columns: bool | Sequence[bool]
    """Fill and update columns with incompressible text instead of a constant. Allowed: TRUE or FALSE. Default: FALSE.
    """

    compressible: int | Sequence[int]
    """Share of OBFUSCATE_COLUMNS' text that is constant, so that it compresses. Allowed: a whole number from 0 to 90.
    Default: 0.
    """

    load_parallel_degree: int | Sequence[int]
    """Tables loaded at the same time. Allowed: a whole number from 1 to 256. Default: 8."""

    threads_per_schema: int | Sequence[int]
    """Sessions per schema, when `sessions` is not given. Allowed: a whole number from 1 to 4096. Default: 1."""

    sessions: int | Sequence[int]
    """Sessions in all, spread evenly over the schemas; default: schemas x threads per schema. Allowed: a whole number
    from 1 to 32768.
    """

    classes: str | Mapping[str, Mapping[str, object]] | Sequence[str | Mapping[str, Mapping[str, object]]]
    """Sessions that do different work, with figures of their own; the flag is repeated for each class. Allowed: a name
    with its parameters, such as readers:sessions=16,update_pct=0; several are divided by semicolons.
    """

    instance_role: Literal["any", "read-write", "read-only"] | Sequence[Literal["any", "read-write", "read-only"]]
    """Instances of a cluster that sessions work on: any, or those that take writes, or reads only. Allowed: any, read-
    write or read-only. Default: any.
    """

    run_time: float | str | Sequence[float | str]
    """Length of the measured window. 0: end by WORK_LOOP only. Allowed: a duration from 0 to 864000 s, such as 90, 90s
    or 1m30s. Default: 60.
    """

    work_loop: int | Sequence[int]
    """Operations after which a session ends; 0: end by RUN_TIME only. Allowed: a whole number from 0 to 1000000000000.
    Default: 0.
    """

    warmup: float | str | Sequence[float | str]
    """Load before the measured window; it is not counted. Allowed: a duration from 0 to 86400 s, such as 90, 90s or
    1m30s. Default: 2.
    """

    update_pct: int | Sequence[int]
    """Share of operations that update; exact in every 100. Allowed: a whole number from 0 to 100. Default: 0."""

    scan_pct: int | Sequence[int]
    """Share of the SELECTs that scan the short-scan table, exact in every 100. Allowed: a whole number from 0 to 100.
    Default: 0.
    """

    work_unit: int | Sequence[int]
    """Rows, each in its own block, that one SELECT visits. Allowed: a whole number from 1 to 65536. Default: 64."""

    update_work_unit: int | Sequence[int]
    """Rows that one UPDATE changes and commits; default: WORK_UNIT. Allowed: a whole number from 1 to 65536."""

    redo_stress: Literal["LITE", "HEAVY"] | Sequence[Literal["LITE", "HEAVY"]]
    """LITE updates two columns, HEAVY all nineteen. Allowed: LITE or HEAVY. Default: LITE."""

    commit_mode: Literal["wait", "nowait", "engine"] | Sequence[Literal["wait", "nowait", "engine"]]
    """wait: durable before the next operation; nowait: not; engine: as the server is set. Allowed: wait, nowait or
    engine. Default: wait.
    """

    access: str | Sequence[str]
    """How rows are chosen: all equally often, by a Zipf law with an exponent, or with DO_HOTSPOT. Allowed: uniform,
    hotspot, or zipf: with an exponent from 0.001 to 2, such as zipf:0.99. Default: uniform.
    """

    do_hotspot: bool | Sequence[bool]
    """Send every HOTSPOT_FREQUENCY-th operation to the hot spot. Allowed: TRUE or FALSE. Default: FALSE."""

    hotspot_mb: float | Sequence[float]
    """Size of the hot spot. Allowed: a number from 0 to 33554432. Default: 8."""

    hotspot_offset_mb: float | Sequence[float]
    """Where in the key range the hot spot begins. Allowed: a number from 0 to 33554432. Default: 16."""

    hotspot_frequency: int | Sequence[int]
    """One in this many operations goes to the hot spot; 0: none. Allowed: a whole number from 0 to 1000000000. Default:
    3.
    """

    hot_schema_frequency: int | Sequence[int]
    """One in this many operations goes to schema 1; 0: none. Allowed: a whole number from 0 to 1000000000. Default: 0.
    """

    think_tm_frequency: int | Sequence[int]
    """A session sleeps once in this many operations; 0: never. Allowed: a whole number from 0 to 1000000000. Default:
    0.
    """

    think_tm_min: float | str | Sequence[float | str]
    """Shortest sleep. Allowed: a duration from 0 to 3600 s, such as 90, 90s or 1m30s. Default: 0.1."""

    think_tm_max: float | str | Sequence[float | str]
    """Longest sleep. Allowed: a duration from 0 to 3600 s, such as 90, 90s or 1m30s. Default: 0.5."""

    target_ops: float | Sequence[float]
    """Operations per second over all sessions; default: no limit. Allowed: a number from 0.001 to 1000000000."""

    target_iops: float | Sequence[float]
    """Block visits per second in all, instead of TARGET_OPS. Allowed: a number from 0.001 to 1000000000."""

    rate_schedule: str | Sequence[str]
    """A rate that changes, in operations per second: BEGIN:RATE of each stage, BEGIN:FROM-TO of a ramp. Allowed:
    BEGIN:RATE of each stage, such as 0s:1000,60s:5000; a ramp to the next stage is 60s:1000-5000.
    """

    pacing: Literal["uniform", "poisson"] | Sequence[Literal["uniform", "poisson"]]
    """Due times at a given rate. uniform: at even intervals; poisson: random, as of independent users. Allowed: uniform
    or poisson. Default: uniform.
    """

    loop: Literal["server", "client"] | Sequence[Literal["server", "client"]]
    """server: a procedure does the operations; client: the driver sends them. Never compare the two. Allowed: server or
    client. Default: server.
    """

    connect_every: int | Sequence[int]
    """Operations after which a session of the client loop connects again; 0: it stays connected. Allowed: a whole
    number from 0 to 1000000000. Default: 0.
    """

    pipeline: int | Sequence[int]
    """Operations that a session of the client loop sends at once; their latency is that of the batch. Allowed: a whole
    number from 1 to 256. Default: 1.
    """

    block_path: Literal["shared", "local"] | Sequence[Literal["shared", "local"]]
    """shared: blocks go through the buffer cache; local: through memory private to the session. Allowed: shared or
    local. Default: shared.
    """

    seed: int | Sequence[int]
    """Seed of every random choice; the same seed, the same choices. Allowed: a whole number from 0 to 2147483647.
    Default: 1.
    """

    mode: Literal["pio", "lio", "redo", "scan", "churn"] | Sequence[Literal["pio", "lio", "redo", "scan", "churn"]]
    """What to measure: reads, cached reads, commits, scans or churn. A verdict says if the run did. Allowed: pio, lio,
    redo, scan or churn.
    """

    database_statistics_type: Literal["none", "awr", "statspack"] | Sequence[Literal["none", "awr", "statspack"]]
    """The server's own reports on the window; awr needs a licence and `--consent awr`. Allowed: none, awr or statspack.
    Default: none.
    """

    price: str | Sequence[str]
    """What the server costs; figures of cost are known only with it. Allowed: an amount above 0, with or without a
    currency, /hour, /month or /year, such as 123.45 EUR/month.
    """

    cache: int | str | Sequence[int | str]
    """Of the managed server: Sizes of the cache, such as 64M,1G."""

    io: str | Sequence[str]
    """Of the managed server: direct, buffered or both."""

    huge_pages: int | str | Sequence[int | str]
    """Of the managed server: Huge pages for the cache: on, off or both."""

    cpus: str | Sequence[str]
    """Of the managed server: CPUs of the whole server: such as 0 or 0-3 or all."""

    version: str | Sequence[str]
    """Of the managed server: Major versions; each gets a server of its own."""

    bin_dir: str | Sequence[str]
    """Of the managed server: Directories of programs; each gets a server of its own."""

    table_engine: int | str | Sequence[int | str]
    """Of the managed server: Storage engines of the tables; each gets a server of its own."""

    block_size: int | str | Sequence[int | str]
    """Of the managed server: Block sizes; each gets a server of its own."""
