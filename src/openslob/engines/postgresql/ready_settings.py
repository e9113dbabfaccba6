"""The settings whose cost is worth knowing, with the loads on which each can matter."""

from __future__ import annotations

from openslob.engines.managed.base import ReadySetting

READY_SETTINGS = (
    # Since version 18. A backend that needs one block and waits for it reads it itself, whatever the method.
    ReadySetting(
        "io-method", "io_method", "how blocks are read ahead", ("scan",), controls=("physical",),
        values=("sync", "worker", "io_uring"),
    ),
    ReadySetting("checksums", "data_checksums", "checksums of blocks", ("physical", "update")),
    ReadySetting(
        "full-page-writes", "full_page_writes", "whole blocks in the log after a checkpoint", ("commit", "update")
    ),
    ReadySetting("commit-wait", "synchronous_commit", "commits that wait for storage", ("commit",), values=("off",)),
    ReadySetting(
        "wal-compression", "wal_compression", "compressed blocks in the log", ("update",),
        values=("pglz", "lz4", "zstd"),
    ),
    ReadySetting("sync-method", "wal_sync_method", "how the log is forced to storage", ("commit",)),
    ReadySetting("huge-pages", "huge_pages", "huge pages for the cache", ("cached",), values=("on",)),
    ReadySetting(
        "block-size", "block_size", "size of blocks", ("physical",),
        why_not="the size of blocks is that of its programs; `slob sweep --bin-dir` compares several builds",
    ),
)  # fmt: skip
