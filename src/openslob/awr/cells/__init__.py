"""Readers of the columns: each returns a value with its source, or the reason why there is none."""

from openslob.awr.cells.base import ColumnReader, ColumnValue, Subject, absent

__all__ = ["ColumnReader", "ColumnValue", "Subject", "absent"]
