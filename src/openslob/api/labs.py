"""A lab from Python: made as `slob lab` makes it."""

from __future__ import annotations

import logging
from pathlib import Path

from openslob.api.lab_result import LabResult
from openslob.api.progress import Display
from openslob.api.stopping import interruptible
from openslob.api.sweeping import View
from openslob.core.errors import SlobError
from openslob.core.secrets import Target
from openslob.kinds.lab.execute import Execution
from openslob.kinds.lab.record import LabFolder
from openslob.kinds.lab.request import LabRequest
from openslob.record.model import Status
from openslob.report.text import render

log = logging.getLogger("openslob")


def made_lab(target: Target, request: LabRequest, results: Path, display: Display) -> LabResult:
    """Make a lab and return it. SlobError when it was stopped, or no pair of runs was made."""
    record = request.record(target.reveal())
    for each in record.left_out:
        log.info("not compared: %s: %s", each.what, each.why)
    with interruptible() as interrupt, LabFolder.begin(results, record) as folder:
        Execution(folder, interrupt, View(display), render).execute()
    ended = folder.record
    if ended.status is Status.FAILED:
        raise SlobError(next(iter(ended.errors), "the lab failed"), f"its record is {folder.path}")
    if ended.status is Status.INTERRUPTED:
        raise SlobError("the lab was stopped before its end", f"slob lab --resume {folder.path} goes on")
    return LabResult(ended, folder.path)
