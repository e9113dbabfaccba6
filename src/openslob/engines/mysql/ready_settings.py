"""The settings whose cost is worth knowing, with the loads on which each can matter."""

from __future__ import annotations

from openslob.engines.managed.base import ReadySetting

READY_SETTINGS = (
    # A session that needs one block reads it itself, whatever the method.
    ReadySetting(
        "io-method", "innodb_use_native_aio", "asynchronous writes and reads ahead", ("update",), controls=("physical",)
    ),
    ReadySetting(
        "full-page-writes", "innodb_doublewrite", "blocks written twice, against torn ones", ("update",),
        controls=("cached",),
    ),
    ReadySetting(
        "commit-wait", "innodb_flush_log_at_trx_commit", "commits that wait for storage", ("commit",),
        values=("0", "2"),
    ),
    ReadySetting(
        "sync-method", "innodb_flush_method", "how files are forced to storage", ("commit", "update"),
        values=("fsync", "O_DSYNC", "O_DIRECT_NO_FSYNC"),
    ),
    ReadySetting("huge-pages", "huge_pages", "huge pages for the cache", ("cached",), values=("on",)),
    ReadySetting(
        "block-size", "block_size", "size of blocks", ("cached", "physical", "commit"), values=("4K", "8K", "32K")
    ),
    ReadySetting(
        "checksums", "innodb_checksum_algorithm", "checksums of blocks", ("physical", "update"),
        why_not="no value of innodb_checksum_algorithm leaves checksums out",
    ),
)  # fmt: skip
