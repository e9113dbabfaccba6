"""stub for now"""
from __future__ import annotations
from openslob.awr.model import Report
def doubts(report: Report) -> tuple[str, ...]:
    return ()
