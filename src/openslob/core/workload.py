"""The immutable specification of a test: every parameter with its SLOB name, unit, range, default and meaning.

Configuration files, flags, environment variables and the documentation are all derived from the fields of `Workload`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError, model_validator

from openslob.core.access import Access, AccessKind, KeyLaw
from openslob.core.errors import UsageError
from openslob.core.rate_schedule import RateSchedule, RateSteps, steps_of
from openslob.core.session_classes import join_classes, parse_classes
from openslob.core.units import KIB, MIB, Extent, Price, parse_duration

MOST_SESSIONS = 32_768
# The longest window of a run.
MOST_RUN_S = 864_000
SLICE_S = 1.0
# The driver spends about half a millisecond of CPU on each slice. So many slices a second keep it below 1 % of a CPU.
SLICES_PER_S = 8
# A slice is not longer than this: the time line of a run has no finer points. That many sessions keep a server so busy
# that more slices cost little beside it: with 1,000 they are 33 a second.
LONGEST_SLICE_S = 30.0
# One row is deleted, and one is inserted.
ROWS_PER_CHURN = 2


class _Choice(StrEnum):
    """An enumeration whose values are matched without regard to case."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        text = str(value).strip().lower()
        return next((member for member in cls if member.lower() == text), None)


class RedoStress(_Choice):
    """The number of columns that an update writes."""

    LITE = "LITE"
    HEAVY = "HEAVY"


class CommitMode(_Choice):
    """Whether a commit waits until it is durable."""

    WAIT = "wait"
    NOWAIT = "nowait"
    ENGINE = "engine"


class InstanceRole(_Choice):
    """The instances of a cluster that sessions work on: any, or only those that do or don't take writes."""

    ANY = "any"
    READ_WRITE = "read-write"
    READ_ONLY = "read-only"

    def includes(self, read_only: bool) -> bool:
        """Return whether sessions may work on an instance that takes reads only, or on one that takes writes."""
        return self is InstanceRole.ANY or (self is InstanceRole.READ_ONLY) == read_only


class Pacing(_Choice):
    """The distribution of the due times of operations at a given rate."""

    UNIFORM = "uniform"
    POISSON = "poisson"


class Loop(_Choice):
    """Who runs the work loop: the server, in a procedure, or the client, one statement after the other."""

    SERVER = "server"
    CLIENT = "client"


class BlockPath(_Choice):
    """The memory that blocks go through: the shared buffer cache, or memory private to the session."""

    SHARED = "shared"
    LOCAL = "local"


class StatisticsType(_Choice):
    """The snapshots of the server's own statistics that are taken around the window, for its report on the run."""

    NONE = "none"
    AWR = "awr"
    STATSPACK = "statspack"

    @property
    def is_of_all_instances(self) -> bool:
        """Whether a snapshot on one instance of a database is one of all its instances."""
        return self is StatisticsType.AWR


class Mode(_Choice):
    """The purpose of a test. The verdict ``mode`` says whether the figures agree with it."""

    PIO = "pio"
    LIO = "lio"
    REDO = "redo"
    SCAN = "scan"
    CHURN = "churn"


# The smallest size is the largest block size of any engine: one block. The upper limits are beyond any table.
SMALLEST_BYTES = 64 * KIB
LARGEST_BYTES = 32 * 1024**4
LARGEST_BLOCKS = 2**32 - 2


def _extent(value: object) -> object:
    extent = Extent.parse(str(value)) if isinstance(value, (str, int, float)) else value
    if isinstance(extent, Extent):
        low, high = (SMALLEST_BYTES, LARGEST_BYTES) if extent.in_bytes else (1, LARGEST_BLOCKS)
        if not low <= extent.amount <= high:
            raise ValueError(f"{value!s} is too {'small' if extent.amount < low else 'large'}")
    return extent


def _read(parse: Callable[[str], object]) -> BeforeValidator:
    """Return what reads a text; a value that is none stays as it is."""
    return BeforeValidator(lambda value: parse(value) if isinstance(value, str) else value)


# The only parameter that is of a target, and not of a load.
PRICE = "price"
# The only parameter that is several: what a class may have is in these groups, but for what holds for a whole server.
CLASSES, ROLE = "classes", "instance_role"
RATE_SCHEDULE = "rate_schedule"
_GROUPS_OF_CLASSES = frozenset({"operations", "contention", "think time", "pacing"})
_OF_ALL = frozenset({"commit_mode", RATE_SCHEDULE})
ExtentField = Annotated[Extent, BeforeValidator(_extent), PlainSerializer(str)]
DurationField = Annotated[float, _read(parse_duration)]
AccessField = Annotated[Access, _read(Access.parse), PlainSerializer(str)]
_TEXT_OR_NONE = PlainSerializer(lambda given: given and str(given))
RateScheduleField = Annotated[RateSchedule | None, _read(RateSchedule.parse), _TEXT_OR_NONE]
PriceField = Annotated[Price | None, _read(Price.parse), _TEXT_OR_NONE]


def slice_seconds(sessions: int) -> float:
    """Return the length of a slice: a second, or more when many sessions would keep the driver busy."""
    return min(max(SLICE_S, sessions / SLICES_PER_S), LONGEST_SLICE_S)


def random_pct(obfuscate: bool, compressible: int | None) -> int:
    """Return the share of each text that is random, in %."""
    return 100 - (compressible or 0) if obfuscate else 0


@dataclass(frozen=True)
class DataSpec:
    """The data on the server's disk: two loads with equal specs hold interchangeable data.

    ``tablespace`` holds the tables, and ``block_size`` is its block size in bytes; None: the target's own.
    ``compressible`` is the share of incompressible text, in %, that is constant all the same; None: none of it.
    """

    schemas: int
    scale_blocks: int
    scan_blocks: int
    obfuscate: bool
    tablespace: str | None = None
    block_size: int | None = None
    compressible: int | None = None

    @property
    def blocks(self) -> int:
        """Blocks of all tables together."""
        return self.schemas * (self.scale_blocks + self.scan_blocks)

    @property
    def random_pct(self) -> int:
        """The share of each text that is random, in %: 0 of a constant one."""
        return random_pct(self.obfuscate, self.compressible)

    def fingerprint(self) -> str:
        """Return a short digest that names this data in the server and in records."""
        text = json.dumps(self.to_record(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_record(self) -> dict[str, Any]:
        """Return plain values for records, without fields that are None."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def _field(group: str, meaning: str, unit: str = "", flag: str = "", **field: Any) -> Any:  # noqa: ANN401 - pydantic's
    """Return the field of a parameter; ``group`` is its heading, ``flag`` the name of its flag if it is another one."""
    facts: dict[str, Any] = {"group": group, "unit": unit, **({"flag": flag} if flag else {})}
    return Field(description=meaning, json_schema_extra=facts, **field)


class Workload(BaseModel):
    """All parameters of a load and of a run, apart from the server; of that only the price, which its figures need.

    Field metadata (``json_schema_extra``): ``unit`` is the parameter's unit, ``group`` its heading in help and
    documentation. In slob.conf it has its name in capitals.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False, defer_build=True
    )

    schemas: int = _field(
        "data", "Sets of tables; sessions are spread over them. 1: single-schema model.",
        "schemas", default=4, ge=1, le=8192,
    )  # fmt: skip
    scale: ExtentField = _field(
        "data", "Size of each schema's table: a number of blocks, or a size such as 80M or 2G.",
        "blocks or bytes", default=Extent(256 * MIB, in_bytes=True),
    )  # fmt: skip
    scan_table_sz: ExtentField = _field(
        "data", "Size of each schema's short-scan table: blocks, or a size.",
        "blocks or bytes", default=Extent(1 * MIB, in_bytes=True),
    )  # fmt: skip
    obfuscate_columns: bool = _field(
        "data", "Fill and update columns with incompressible text instead of a constant.", default=False
    )
    compressible: int = _field(
        "data", "Share of OBFUSCATE_COLUMNS' text that is constant, so that it compresses.", "%", default=0, ge=0, le=90
    )
    load_parallel_degree: int = _field("data", "Tables loaded at the same time.", "tables", default=8, ge=1, le=256)

    threads_per_schema: int = _field(
        "sessions", "Sessions per schema, when `sessions` is not given.", "sessions", default=1, ge=1, le=4096
    )
    sessions: int | None = _field(
        "sessions", "Sessions in all, spread evenly over the schemas; default: schemas x threads per schema.",
        "sessions", default=None, ge=1, le=MOST_SESSIONS,
    )  # fmt: skip
    classes: str | None = _field(
        "sessions", "Sessions that do different work, with figures of their own; the flag is repeated for each class.",
        flag="class", default=None,
    )  # fmt: skip
    instance_role: InstanceRole = _field(
        "sessions", "Instances of a cluster that sessions work on: any, or those that take writes, or reads only.",
        default=InstanceRole.ANY,
    )  # fmt: skip

    run_time: DurationField = _field(
        "duration", "Length of the measured window. 0: end by WORK_LOOP only.", "s", default=60, ge=0, le=MOST_RUN_S
    )
    work_loop: int = _field(
        "duration", "Operations after which a session ends; 0: end by RUN_TIME only.",
        "operations", default=0, ge=0, le=10**12,
    )  # fmt: skip
    warmup: DurationField = _field(
        "duration", "Load before the measured window; it is not counted.", "s", default=2, ge=0, le=86_400
    )

    update_pct: int = _field(
        "operations", "Share of operations that update; exact in every 100.", "%", default=0, ge=0, le=100
    )
    scan_pct: int = _field(
        "operations", "Share of the SELECTs that scan the short-scan table, exact in every 100.",
        "%", default=0, ge=0, le=100,
    )  # fmt: skip
    work_unit: int = _field(
        "operations", "Rows, each in its own block, that one SELECT visits.", "blocks", default=64, ge=1, le=65_536
    )
    update_work_unit: int | None = _field(
        "operations", "Rows that one UPDATE changes and commits; default: WORK_UNIT.",
        "blocks", default=None, ge=1, le=65_536,
    )  # fmt: skip
    redo_stress: RedoStress = _field(
        "operations", "LITE updates two columns, HEAVY all nineteen.", default=RedoStress.LITE
    )
    commit_mode: CommitMode = _field(
        "operations", "wait: durable before the next operation; nowait: not; engine: as the server is set.",
        default=CommitMode.WAIT,
    )  # fmt: skip

    access: AccessField = _field(
        "contention", "How rows are chosen: all equally often, by a Zipf law with an exponent, or with DO_HOTSPOT.",
        default=Access(AccessKind.UNIFORM),
    )  # fmt: skip
    do_hotspot: bool = _field("contention", "Send every HOTSPOT_FREQUENCY-th operation to the hot spot.", default=False)
    hotspot_mb: float = _field("contention", "Size of the hot spot.", "MB", default=8, ge=0, le=2**25)
    hotspot_offset_mb: float = _field(
        "contention", "Where in the key range the hot spot begins.", "MB", default=16, ge=0, le=2**25
    )
    hotspot_frequency: int = _field(
        "contention", "One in this many operations goes to the hot spot; 0: none.",
        "operations", default=3, ge=0, le=10**9,
    )  # fmt: skip
    hot_schema_frequency: int = _field(
        "contention", "One in this many operations goes to schema 1; 0: none.", "operations", default=0, ge=0, le=10**9
    )

    think_tm_frequency: int = _field(
        "think time", "A session sleeps once in this many operations; 0: never.",
        "operations", default=0, ge=0, le=10**9,
    )  # fmt: skip
    think_tm_min: DurationField = _field("think time", "Shortest sleep.", "s", default=0.1, ge=0, le=3600)
    think_tm_max: DurationField = _field("think time", "Longest sleep.", "s", default=0.5, ge=0, le=3600)

    target_ops: float | None = _field(
        "pacing", "Operations per second over all sessions; default: no limit.", "1/s", default=None, ge=0.001, le=10**9
    )
    target_iops: float | None = _field(
        "pacing", "Block visits per second in all, instead of TARGET_OPS.", "blocks/s", default=None, ge=0.001, le=10**9
    )
    rate_schedule: RateScheduleField = _field(
        "pacing", "A rate that changes, in operations per second: BEGIN:RATE of each stage, BEGIN:FROM-TO of a ramp.",
        default=None,
    )  # fmt: skip
    pacing: Pacing = _field(
        "pacing", "Due times at a given rate. uniform: at even intervals; poisson: random, as of independent users.",
        default=Pacing.UNIFORM,
    )  # fmt: skip

    loop: Loop = _field(
        "purpose", "server: a procedure does the operations; client: the driver sends them. Never compare the two.",
        default=Loop.SERVER,
    )  # fmt: skip
    connect_every: int = _field(
        "purpose", "Operations after which a session of the client loop connects again; 0: it stays connected.",
        "operations", default=0, ge=0, le=10**9,
    )  # fmt: skip
    pipeline: int = _field(
        "purpose", "Operations that a session of the client loop sends at once; their latency is that of the batch.",
        "operations", default=1, ge=1, le=256,
    )  # fmt: skip
    block_path: BlockPath = _field(
        "purpose", "shared: blocks go through the buffer cache; local: through memory private to the session.",
        default=BlockPath.SHARED,
    )  # fmt: skip
    seed: int = _field(
        "purpose", "Seed of every random choice; the same seed, the same choices.", default=1, ge=0, le=2**31 - 1
    )
    mode: Mode | None = _field(
        "purpose", "What to measure: reads, cached reads, commits, scans or churn. A verdict says if the run did.",
        default=None,
    )  # fmt: skip
    database_statistics_type: StatisticsType = _field(
        "reports", "The server's own reports on the window; awr needs a licence and `--consent awr`.",
        default=StatisticsType.NONE,
    )  # fmt: skip
    price: PriceField = _field(
        "reports", "What the server costs; figures of cost are known only with it.",
        "currency per hour, month or year", default=None,
    )  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _count_sessions(cls, values: object) -> object:
        """Take the sessions of all classes for those of the load, and write classes in one way."""
        if not isinstance(values, Mapping) or not values.get(CLASSES):
            return values
        classes = parse_classes(values[CLASSES])
        known = class_parameters()
        for name, own in classes.items():
            if others := sorted(own.keys() - known):
                why = "is of all sessions" if others[0] in cls.model_fields else "is not a parameter"
                raise ValueError(f"class {name}: {others[0]} {why}; a class may have {', '.join(known)}")
        sessions = sum(_sessions_of(name, own) for name, own in classes.items())
        if not 0 < sessions <= MOST_SESSIONS:
            raise ValueError(f"the classes have {sessions:,} sessions together; 1 to {MOST_SESSIONS:,} are possible")
        return {**values, CLASSES: join_classes(classes), "sessions": sessions}

    @model_validator(mode="before")
    @classmethod
    def _churn_by_default(cls, values: object) -> object:
        """Let every operation delete and insert a row, if rows are to come and go and no share of them is given."""
        if not isinstance(values, Mapping) or "update_pct" in values:
            return values
        is_churn = str(values.get("mode")).strip().lower() == Mode.CHURN
        return {**values, "update_pct": 100} if is_churn else values

    @model_validator(mode="after")
    def _fit_for_churn(self) -> Self:
        if not self.churns:
            return self
        if self.update_work_unit:
            raise ValueError("MODE=churn deletes and inserts one row an operation: leave out UPDATE_WORK_UNIT")
        if self.access.kind is not AccessKind.UNIFORM or self.do_hotspot or self.hot_schema_frequency:
            raise ValueError("MODE=churn goes round all keys: leave out ACCESS, DO_HOTSPOT and HOT_SCHEMA_FREQUENCY")
        if self.block_path is BlockPath.LOCAL or self.loop is Loop.CLIENT:
            raise ValueError("MODE=churn is for shared tables and the server's loop: leave out BLOCK_PATH and LOOP")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.run_time == 0 and self.work_loop == 0:
            raise ValueError("RUN_TIME and WORK_LOOP are both 0: nothing would ever end the run")
        if self.think_tm_min > self.think_tm_max:
            raise ValueError(f"THINK_TM_MIN={self.think_tm_min} is above THINK_TM_MAX={self.think_tm_max}")
        if self.has_hotspot and not (self.hotspot_mb and self.hotspot_frequency):
            asked = "DO_HOTSPOT" if self.do_hotspot else f"ACCESS={self.access}"
            raise ValueError(
                f"{asked} needs HOTSPOT_MB and HOTSPOT_FREQUENCY above 0: nothing would go to the hot spot"
            )
        if self.do_hotspot and self.access.kind is AccessKind.ZIPF:
            raise ValueError(f"ACCESS={self.access} and DO_HOTSPOT=TRUE both choose the keys: use only one of them")
        if self.block_path is BlockPath.LOCAL and self.hot_schema_frequency:
            raise ValueError(
                "BLOCK_PATH=local gives every session its own tables, and HOT_SCHEMA_FREQUENCY sends operations to a "
                "table that all share: use only one of them"
            )
        if self.compressible and not self.obfuscate_columns:
            raise ValueError("COMPRESSIBLE is a share of incompressible text, which OBFUSCATE_COLUMNS asks for")
        self._require_one_rate()
        if self.classes:
            self._require_fit_for_classes()
        return self

    def _require_one_rate(self) -> None:
        """Raise ValueError for several rates, and for a stage of one that changes that would not begin."""
        given = [name for name in ("TARGET_OPS", "TARGET_IOPS", "RATE_SCHEDULE") if getattr(self, name.lower())]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given[:2])} are both given: give only one rate")
        if self.rate_schedule and (last := self.rate_schedule.stages[-1].begin_s) >= self.run_time:
            raise ValueError(
                f"RATE_SCHEDULE has a stage from {last:g} s on, and RUN_TIME={self.run_time:g} is too short"
            )

    @model_validator(mode="after")
    def _client_loop_consistent(self) -> Self:
        if self.connect_every and (self.loop is not Loop.CLIENT or self.block_path is BlockPath.LOCAL):
            raise ValueError(
                "CONNECT_EVERY is for sessions of the client loop, LOOP=client, which keep no tables of their own"
            )
        if self.pipeline > 1 and self.loop is not Loop.CLIENT:
            raise ValueError(
                f"PIPELINE={self.pipeline} is for the client loop, LOOP=client: the server's sends nothing"
            )
        if self.pipeline > 1 and (self.is_paced or self.think_tm_frequency or self.connect_every or self.classes):
            raise ValueError(
                f"PIPELINE={self.pipeline} is for throughput: it goes without TARGET_OPS, TARGET_IOPS, "
                "THINK_TM_FREQUENCY, CONNECT_EVERY and CLASSES"
            )
        return self

    def _require_fit_for_classes(self) -> None:
        """Raise ValueError if a class can't be, or if anything else is for loads without classes only."""
        if self.target_ops or self.target_iops:
            raise ValueError("TARGET_OPS and TARGET_IOPS are of all sessions: with CLASSES each class has its own rate")
        if self.rate_schedule:
            raise ValueError("RATE_SCHEDULE is of all sessions, and no rate of CLASSES: use only one of them")
        if self.block_path is BlockPath.LOCAL:
            raise ValueError("BLOCK_PATH=local has no CLASSES: use only one of them")
        _parts_of(self)

    def changed(self, **values: object) -> Self:
        """Return the same load with these parameters. UsageError if they do not make one."""
        try:
            return self.model_validate({**{name: getattr(self, name) for name in type(self).model_fields}, **values})
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the load"
            raise UsageError(f"{where}: {first['msg']}") from None

    @property
    def total_sessions(self) -> int:
        """The total number of sessions."""
        return self.sessions or self.schemas * self.threads_per_schema

    @property
    def parts(self) -> tuple[LoadPart, ...]:
        """What the sessions of each class do, in the order given; one part without a name if there are no classes.

        A class of 0 sessions, as of a sweep that goes on to more, is no part.
        """
        return _parts_of(self) if self.classes else (LoadPart(self),)

    @property
    def churns(self) -> bool:
        """Whether an update deletes a row and inserts another, in one transaction."""
        return self.mode is Mode.CHURN

    @property
    def rings_a_table(self) -> int:
        """The largest number of sessions that work on one table: with MODE=churn each has a ring of its keys."""
        return -(-self.total_sessions // self.schemas)

    @property
    def writes(self) -> bool:
        """Whether any session updates."""
        return any(part.workload.update_pct for part in self.parts)

    @property
    def scans(self) -> bool:
        """Whether any session scans the short-scan table, if it selects."""
        return any(part.workload.scan_pct for part in self.parts)

    @property
    def thinks(self) -> bool:
        """Whether any session has think time."""
        return any(part.workload.think_tm_frequency for part in self.parts)

    @property
    def active_tables(self) -> int:
        """The number of tables of SCALE blocks that are visited: one a session on the local path, else one a schema."""
        if self.block_path is BlockPath.LOCAL:
            return self.total_sessions
        return min(self.schemas, self.total_sessions)

    def private_blocks(self, block_size: int) -> int:
        """Return the blocks that all sessions together load for themselves before a run; 0 on the shared path."""
        if self.block_path is not BlockPath.LOCAL:
            return 0
        scanned = self.scan_table_sz.blocks(block_size) if self.scan_pct else 0
        return self.total_sessions * (self.scale.blocks(block_size) + scanned)

    @property
    def rows_per_update(self) -> int:
        """The number of rows that one UPDATE changes; with classes, of the one that changes most."""
        if self.churns:
            return ROWS_PER_CHURN
        if not self.classes:
            return self.update_work_unit or self.work_unit
        return max(part.workload.rows_per_update for part in self.parts)

    @property
    def largest_unit(self) -> int:
        """The largest number of rows that one operation visits by key."""
        return max(self.work_unit, self.rows_per_update)

    @property
    def has_hotspot(self) -> bool:
        """Whether some operations go to the hot spot, and the others to all keys alike."""
        return self.do_hotspot or self.access.kind is AccessKind.HOTSPOT

    def key_law(self, scale: int) -> KeyLaw:
        """Return the law of first keys, outside of a hot spot, in a table of ``scale`` blocks.

        With a Zipf law SELECTs and UPDATEs draw from the same keys, so that what is read most is written most.
        """
        return KeyLaw(self.access.exponent, max(1, scale - self.largest_unit + 1))

    @property
    def is_paced(self) -> bool:
        """Whether a rate is given, at least to one class, so that operations have due times."""
        loads = (part.workload for part in self.parts)
        return any(
            rate is not None for load in loads for rate in (load.target_ops, load.target_iops, load.rate_schedule)
        )

    @property
    def rate_steps(self) -> RateSteps | None:
        """The steps of a rate that changes: of ramps, as long as a slice; None for a rate that does not."""
        return steps_of(self.rate_schedule, slice_seconds(self.total_sessions)) if self.rate_schedule else None

    def ops_per_s_wanted(self, block_size: int) -> float | None:
        """Return the given rate in operations per second over all sessions that have one; None when none has.

        A rate of block visits is divided by the mean number of blocks that an operation of the mix visits. Of a rate
        that changes it is the highest one.
        """
        if self.rate_schedule:
            return max(max(stage.first, stage.last) for stage in self.rate_schedule.stages)
        if self.classes:
            rates = [part.workload.ops_per_s_wanted(block_size) for part in self.parts]
            known = [rate for rate in rates if rate is not None]
            return sum(known) if known else None
        if self.target_iops is None:
            return self.target_ops
        updates, scans = self.update_pct / 100, (100 - self.update_pct) * self.scan_pct / 10_000
        selects = 1 - updates - scans
        scanned = self.scan_table_sz.blocks(block_size)
        return self.target_iops / (updates * self.rows_per_update + selects * self.work_unit + scans * scanned)

    @property
    def random_pct(self) -> int:
        """The share of each text that loads and updates write that is random, in %."""
        return random_pct(self.obfuscate_columns, self.compressible)

    def data(self, block_size: int, tablespace: str | None = None) -> DataSpec:
        """Return the data that this workload needs in blocks of ``block_size`` bytes.

        ``tablespace`` holds the tables; None for a server that has one place for all.
        """
        return DataSpec(
            schemas=self.schemas,
            scale_blocks=self.scale.blocks(block_size),
            scan_blocks=self.scan_table_sz.blocks(block_size),
            obfuscate=self.obfuscate_columns,
            tablespace=tablespace,
            block_size=block_size if tablespace else None,
            compressible=self.compressible or None,
        )

    def fingerprint(self) -> str:
        """Return a digest over every parameter: it is equal for runs that request the same work."""
        text = json.dumps(self.to_record(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_record(self) -> dict[str, Any]:
        """Return plain values for the record; what only some loads have is in it where it says something."""
        unsaid = {name: not getattr(self, name) for name in (CLASSES, RATE_SCHEDULE)}
        unsaid[ROLE] = self.instance_role is InstanceRole.ANY
        return self.model_dump(mode="json", exclude={name for name, is_so in unsaid.items() if is_so})


@dataclass(frozen=True)
class LoadPart:
    """What the sessions of one class do: a load of its own. ``first`` is the number of its first session.

    ``number`` is that of the class, from 0. A load without classes is one part, whose ``name`` is empty.
    """

    workload: Workload
    name: str = ""
    number: int = 0
    first: int = 0

    @property
    def numbers(self) -> range:
        """The numbers of its sessions in the whole load."""
        return range(self.first, self.first + self.workload.total_sessions)


def updates_asked(spec: Mapping[str, Any]) -> float | Sequence[float] | None:
    """Return the share of updates that a load asks for; those of its classes of sessions, if it has any."""
    if not spec.get(CLASSES):
        return spec.get("update_pct")
    return [part.workload.update_pct for part in Workload.model_validate(spec).parts]


def class_parameters() -> list[str]:
    """Return the names of the parameters that a class may have."""
    named = {name: field.json_schema_extra for name, field in Workload.model_fields.items()}
    groups = {name: facts["group"] for name, facts in named.items() if isinstance(facts, dict)}
    found = [name for name, group in groups.items() if group in _GROUPS_OF_CLASSES and name not in _OF_ALL]
    return ["sessions", ROLE, *found]


def _sessions_of(name: str, own: Mapping[str, str]) -> int:
    text = own.get("sessions", "")
    if not text.isdecimal() or len(text) > len(str(MOST_SESSIONS)):
        raise ValueError(f"class {name} needs its number of sessions, from 0 to {MOST_SESSIONS:,}: {name}:sessions=N")
    return int(text)


@lru_cache(maxsize=32)
def _parts_of(load: Workload) -> tuple[LoadPart, ...]:
    """Return the parts of a load with classes. ValueError for values that are not allowed."""
    whole = {name: getattr(load, name) for name in Workload.model_fields}
    parts: list[LoadPart] = []
    for name, own in parse_classes(load.classes).items():
        count = _sessions_of(name, own)
        try:
            workload = Workload.model_validate({**whole, CLASSES: None, **own, "sessions": max(1, count)})
        except ValidationError as error:
            first = error.errors()[0]
            key = str(first["loc"][0]) if first["loc"] else ""
            wrong = f"{key}={own.get(key)}: " if key else ""
            raise ValueError(f"class {name}: {wrong}{first['msg'].removeprefix('Value error, ')}") from None
        if count:
            after = parts[-1].numbers.stop if parts else 0
            parts.append(LoadPart(workload, name, len(parts), after))
    return tuple(parts)
