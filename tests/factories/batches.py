"""Records of client loops that send operations in batches."""

from __future__ import annotations

from openslob.record.model import RunRecord

SIZE = 16


def batched(record: RunRecord, size: int = SIZE) -> RunRecord:
    """The same record of a run with PIPELINE."""
    return record.model_copy(update={"spec": {**record.spec, "loop": "client", "pipeline": size}})
