"""Reports for the documentation's gallery: of real runs, whose bundles `tools/make_pictures.py` made."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from openslob.cli.report import document_of_records
from openslob.record import bundle
from openslob.report.html.page import page_of, render_page

BUNDLES = Path(__file__).resolve().parent.parent / "bench" / "gallery"
# Bundle -> what it shows.
SHOWN: Mapping[str, str] = {
    "sweep": "A sweep: 1 to 32 sessions by four shares of updates",
    "block-sizes": "Blocks of 4, 8 and 16 KB",
    "run": "A run of a minute",
    "storage": "Storage without a database: `slob raw calibrate`",
}


@dataclass(frozen=True)
class Exhibit:
    """A report of the gallery: its file, what it shows, and its page."""

    file: str
    about: str
    html: str


def exhibits(folder: Path = BUNDLES) -> Iterator[Exhibit]:
    """Yield the reports of the bundles that there are."""
    for name, about in SHOWN.items():
        file = folder / f"{name}.slob.zip"
        if file.exists():
            with tempfile.TemporaryDirectory() as place:
                found = bundle.unpack(file, Path(place)).record
                assert found, f"{file} has no record"
                document, _ = document_of_records([str(found.path)], Path(place))
            yield Exhibit(f"{name}.html", about, render_page(page_of(document)))
