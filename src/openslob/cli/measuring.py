"""What the command line gives to a measurement: progress on standard error, messages, signals, drivers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.cli.console import notify, stoppable
from openslob.cli.options import OnTarget
from openslob.cli.progress import LiveLine, LoadView
from openslob.cli.screen import viewing
from openslob.core.interrupt import Interrupt

if TYPE_CHECKING:
    from openslob.kinds.run.context import Context
    from openslob.kinds.run.progress import ProgressSink

# --drivers and the files of its TLS: whom to trust, the own certificate, its key.
Drivers = tuple[str | None, Path | None, Path | None, Path | None]


class Screen:
    """The progress of a measurement on standard error, and the live screen if that is wanted.

    ``every_s``: seconds between lines of rates, which replace the bar.
    """

    def __init__(self, every_s: float | None = None, live: bool | None = False) -> None:
        self._every_s, self._live = every_s, live

    @contextmanager
    def running(self, label: str, left_s: float | None) -> Iterator[ProgressSink]:
        """Show the progress of a run in this block."""
        line = LiveLine(label, left_s, self._every_s)
        try:
            yield line
        finally:
            line.clear()

    def loading(self, block_size: int) -> LoadView:
        """Show the progress of a load."""
        return LoadView(block_size)

    def viewing(self, folder: Path) -> AbstractContextManager[None]:
        """Show the records of a folder on the live screen, if that is wanted."""
        return viewing(self._live, folder)


def make_context(
    on: OnTarget, results: Path, screen: Screen, ceiling: str | None = None, drivers: Drivers = (None,) * 4
) -> Context:
    """Return the context of a command."""
    # Help and completions do without what follows.
    from openslob.cli.ceilings import ceiling_source  # noqa: PLC0415
    from openslob.fleet import hire_crews  # noqa: PLC0415
    from openslob.host.remote import find_host  # noqa: PLC0415
    from openslob.kinds.run.context import Context  # noqa: PLC0415

    interrupt = Interrupt()
    return Context(
        on.target, results, screen, notify, interrupt, partial(stoppable, interrupt=interrupt), on.server_pid,
        on.consented, partial(hire_crews, *drivers, notify), partial(ceiling_source, ceiling, results, interrupt),
        find_host(on.host), on.direct,
    )  # fmt: skip
