"""Reports for the documentation's gallery: of the records that tests use, measured ones and made-up ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from factories.sweeps import sweep  # noqa: E402 - the tests' folder is found only now
from openslob.analyze.curves.points import Run  # noqa: E402
from openslob.kinds.storage import record as storage  # noqa: E402
from openslob.kinds.storage.report import storage_document  # noqa: E402
from openslob.record import store  # noqa: E402
from openslob.report.html.page import page_of, render_page  # noqa: E402
from openslob.report.several_runs import set_document  # noqa: E402
from openslob.report.text import run_document  # noqa: E402

RECORDS = ROOT / "tests" / "fixtures" / "records"


@dataclass(frozen=True)
class Exhibit:
    """A report of the gallery: its file, what it shows, and its page."""

    file: str
    about: str
    html: str


def exhibits() -> Iterator[Exhibit]:
    """Yield the reports."""
    yield Exhibit("sweep.html", "A sweep: 1 to 64 sessions by four shares of updates. Made-up figures.", _sweep(8192))
    yield Exhibit("block-sizes.html", "Blocks of 4, 8 and 16 KB. Made-up figures.", _sweep(4096, 8192, 16384))
    run = RECORDS / "v2" / "measured"
    page = page_of(run_document(store.load(run), run))
    yield Exhibit(
        "run.html", "A run of a few seconds, measured for the tests: several verdicts fail.", render_page(page)
    )
    dd = storage.load(RECORDS / "storage-v1" / "dd")
    yield Exhibit(
        "storage.html",
        "Storage without a database: `slob raw dd`, measured.",
        render_page(page_of(storage_document(dd))),
    )


def _sweep(*block_sizes: int) -> str:
    runs = [Run.of(record) for record in sweep(block_sizes=block_sizes, repeats=2)]
    return render_page(page_of(set_document("a made-up sweep", runs, ())))
