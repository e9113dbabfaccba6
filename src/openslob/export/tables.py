"""Tidy tables as CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from openslob.errors import SlobError
from openslob.export.tidy import Row


def as_csv(rows: Sequence[Row]) -> str:
    """A header and a line a row; what is not known is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_json(rows: Sequence[Row]) -> str:
    """An array with an object a row."""
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def as_parquet(rows: Sequence[Row]) -> bytes:
    """A Parquet file. SlobError when the library for it is not installed."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - large, and an extra
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        raise SlobError("Parquet needs pyarrow, which is not installed", "pip install 'openslob[parquet]'") from error
    target = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), target)
    return target.getvalue()
