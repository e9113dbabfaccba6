#!/usr/bin/env python3
"""Make the pictures of README and the documentation in docs/images, from measurements on this host.

Usage: tools/make_pictures.py [--records DIR]

Runs `slob demo` and the ready-made sweep `petals` on a server of its own in a temporary place: about ten minutes, on a
quiet machine. With --records, the newest sweep named petals in that folder is drawn instead of a new one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
COLUMNS = 116
# Rich names fonts of other hosts; a picture of ours asks no network.
SVG = re.sub(r"@font-face \{\{.*?\n    \}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace("Fira Code, ", "")


def slob(*words: str, home: Path) -> str:
    """Run a command as on a coloured terminal of `COLUMNS` columns; return what it prints."""
    environment = {**os.environ, "OPENSLOB_HOME": str(home), "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
    command = [sys.executable, "-m", "openslob", *words]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def terminal(text: str, title: str) -> str:
    """Return a picture of a terminal with this text, as SVG."""
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
    console.print(Text.from_ansi(text), soft_wrap=False)
    return console.export_svg(title=title, theme=DIMMED_MONOKAI, code_format=SVG, unique_id="slob")


def demo(home: Path) -> None:
    """Draw what `slob demo` prints, up to its notes."""
    printed = slob("demo", home=home).partition("\nReport:")[0].rstrip()
    (IMAGES / "demo.svg").write_text(terminal(f"$ slob demo\n{printed}", "slob demo"), encoding="utf-8")


def petals(home: Path, records: Path | None) -> None:
    """Draw latency over reads per second, from a new sweep or the newest one in ``records``."""
    where = ("--results", str(records)) if records else ()
    if not records:
        slob("server", "start", "pictures", "--cache", "256M", home=home)
        slob("sweep", "--ready", "petals", "--target", "pictures", home=home)
        slob("server", "destroy", "pictures", home=home)
    with tempfile.TemporaryDirectory() as folder:
        slob("report", "petals", *where, "-o", f"{folder}/report.html", "--svg-dir", folder, home=home)
        shutil.copy(Path(folder, "petals-pio-read.svg"), IMAGES / "petals.svg")


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, help="folder with a sweep named petals")
    given = parser.parse_args()
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="slob-pictures-") as folder:
        home = Path(folder)
        home.chmod(0o755)
        demo(home)
        petals(home, given.records)


if __name__ == "__main__":
    main()
