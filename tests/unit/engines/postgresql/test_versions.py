"""What docs/your-own-server.md says of each version is what the counters of that version leave unknown."""

import re

from factories.paths import ROOT
from factories.tables import table
from openslob.core.units import NANOS
from openslob.engines.base import CounterReading
from openslob.engines.postgresql.counters import LATENESS_S, LATENESS_SHARE, PostgresCounters

# What each version counts first, as far as it decides what is known.
BASE = (
    "database.xact_commit database.blks_read database.blks_hit database.blk_read_time databases.xact_commit "
    "databases.tup_returned tables.n_tup_upd tables.n_tup_hot_upd tables.heap_blks_fetched tables.heap_blks_hit "
    "tables.maintenance tables.seq_scan indexes.idx_tup_fetch indexes.idx_blks_fetched indexes.idx_blks_hit"
)
BGWRITER = "bgwriter.checkpoints_timed bgwriter.checkpoints_req"
WAL = "wal.wal_bytes wal.wal_fpi"
WAL_IO = "wal.wal_write wal.wal_sync wal.wal_sync_time"
IO = " ".join(
    f"io.client backend/relation/normal.{name}" for name in ("reads", "hits", "writes", "extends", "read_time")
)
IO_BYTES = " ".join(f"io.client backend/relation/normal.{name}_bytes" for name in ("read", "write", "extend"))
LOG_IO = " ".join(f"io.walwriter/wal/normal.{name}" for name in ("writes", "fsyncs", "fsync_time"))
CHECKPOINTER = "checkpointer.num_timed checkpointer.num_requested"
COUNTED = {
    13: f"{BASE} {BGWRITER} log.position",
    14: f"{BASE} {BGWRITER} log.position {WAL} {WAL_IO}",
    15: f"{BASE} {BGWRITER} {WAL} {WAL_IO}",
    16: f"{BASE} {BGWRITER} {WAL} {WAL_IO} {IO}",
    17: f"{BASE} {CHECKPOINTER} {WAL} {WAL_IO} {IO}",
    18: f"{BASE} {CHECKPOINTER} {WAL} {IO} {IO_BYTES} {LOG_IO}",
}
WORDS = {
    "bytes of full-page images": {"full_page_image_bytes"},
    "physical writes": {"write_requests", "write_bytes"},
    "rows": {"rows_read", "rows_updated", "rows_updated_in_place"},
    "log syncs": {"log_syncs", "log_sync_time_us"},
    "log writes": {"log_write_requests"},
    "full-page images": {"full_page_images"},
}
# No version counts these, and no document says that one does.
NEVER = {"block_changes", "db_cpu_us", "db_time_us"}
LONG_NS = int(LATENESS_S / LATENESS_SHARE * NANOS)


class Server:
    """As much of a connection as the counters look at."""

    def __init__(self, version):
        self.info = self
        self.server_version = version * 10_000


def unknown(version):
    counts = dict.fromkeys(re.split(r" (?=\w+\.)", COUNTED[version]), 5.0)
    counts["tables.seq_scan"] = 0.0
    before = CounterReading(0, dict.fromkeys(counts, 0.0), "")
    delta = PostgresCounters(Server(version), "slob", 8192).difference(before, CounterReading(LONG_NS, counts, ""))
    return set(delta.unknown) - NEVER


def documented(version):
    text = (ROOT / "docs" / "your-own-server.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {version} \| (.*) \|$", text, re.MULTILINE)
    like, also, _ = re.fullmatch(r"(?:as (\d+)\b)?(?:, and )?([^.]*)(\..*)?", row).groups()
    words = [word for word in (also or "").split(", ") if word]
    return (documented(int(like)) if like else set()).union(*(WORDS[word] for word in words))


@table("version", COUNTED)
def test_what_a_version_leaves_unknown_is_documented(version):
    assert unknown(version) == documented(version)


def test_the_least_window_is_documented():
    text = (ROOT / "docs" / "your-own-server.md").read_text(encoding="utf-8")
    assert f"less than {LATENESS_S / LATENESS_SHARE:.0f} s" in " ".join(text.split())
