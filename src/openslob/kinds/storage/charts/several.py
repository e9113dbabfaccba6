"""The pictures of one or several raw measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from openslob.kinds.storage.charts.calibration import calibrations
from openslob.kinds.storage.charts.one import CALIBRATIONS, storage_pictures
from openslob.record.storage import StorageRecord
from openslob.report.charts.picture import Picture


def pictures_of_storage(records: Sequence[StorageRecord]) -> tuple[Picture, ...]:
    """Return the pictures of one or several measurements of storage: calibrations side by side, then those of each."""
    if len(records) == 1:
        return storage_pictures(records[0])
    own = (
        replace(picture, name=f"{picture.name}-{number}", title=f"{record.id}: {picture.title}")
        for number, record in enumerate(records, 1)
        for picture in storage_pictures(record)
    )
    return (*calibrations([record for record in records if record.tool in CALIBRATIONS]), *own)
