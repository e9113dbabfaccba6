"""What the page's server shows: one record, or all of a folder, of which each is opened by its id."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from openslob.kinds.contract import follow
from openslob.kinds.view import Follower
from openslob.live.web.catalogue import Catalogue, MissingError

if TYPE_CHECKING:
    from openslob.live.web.hub import Hub

# Makes the page of the report of records, by their ids. SlobError for those that have none together.
ReportMaker = Callable[[Sequence[str]], str]
# For how long records are read before requests come in between, and how long a request for the list may read some.
READ_S, LOOK_S = 0.2, 0.05
# Of records that nobody looks at any more, so many are kept as they were read.
_KEPT = 8


class OneRecord:
    """The record that was named; ``first_page`` is the file of the page that is shown first."""

    first_page = "page.html"

    def __init__(self, source: Follower) -> None:
        self._hub = _hub_of(source)

    async def hub(self, record: str) -> Hub:
        """Return what streams it."""
        if record:
            raise MissingError(record)
        return self._hub

    async def look(self) -> Mapping[str, Any]:
        """Raise MissingError: there is no list."""
        raise MissingError("list")

    async def report(self, records: Sequence[str]) -> str:
        """Raise MissingError: only the list opens reports."""
        raise MissingError(*records)

    async def begin(self) -> None:
        """Put together what draws: the record itself is read while somebody looks."""
        _prepare_drawing()

    def stop(self) -> None:
        """End every stream."""
        self._hub.stop()


class AllRecords:
    """The records of a folder."""

    first_page = "records.html"

    def __init__(self, catalogue: Catalogue, make_report: ReportMaker) -> None:
        self._catalogue = catalogue
        self._make_report = make_report
        self._hubs: dict[str, Hub] = {}
        # The list is used by one at a time, and reports are made one after the other.
        self._using, self._making = asyncio.Lock(), asyncio.Lock()
        self._asked = asyncio.Event()

    async def hub(self, record: str) -> Hub:
        """Return what streams a record; the one that is in progress, or else the latest, for an empty id.

        MissingError if there is none, SlobError when it can't be read.
        """
        async with self._using:
            wanted = record or await asyncio.to_thread(self._catalogue.find_current)
            if not (await asyncio.to_thread(self._catalogue.find, wanted))["live"]:
                raise MissingError(wanted)
            hub = self._hubs.pop(wanted, None)
            if hub is None:
                hub = await asyncio.to_thread(lambda: _hub_of(follow(self._catalogue.results / wanted)))
            self._hubs[wanted] = hub
            idle = [name for name, each in self._hubs.items() if not each.is_reading and name != wanted]
            for name in idle[: max(len(self._hubs) - _KEPT, 0)]:
                del self._hubs[name]
            return hub

    async def look(self) -> Mapping[str, Any]:
        """Return the list of records."""
        # The first answer comes at once: figures follow.
        found = await self._look_for(LOOK_S if self._asked.is_set() else 0.0)
        self._asked.set()
        return found

    async def _look_for(self, seconds: float) -> Mapping[str, Any]:
        async with self._using:
            return await asyncio.to_thread(self._catalogue.look, seconds)

    async def report(self, records: Sequence[str]) -> str:
        """Return the page of the report of these records.

        MissingError if one is not there, SlobError if they have none together.
        """
        async with self._using:
            for each in records:
                await asyncio.to_thread(self._catalogue.find, each)
        async with self._making:
            return await asyncio.to_thread(self._make_report, records)

    async def begin(self) -> None:
        """Read all records, newest first, once the list was asked for; then put together what draws reports."""
        await self._asked.wait()
        while (await self._look_for(READ_S))["left"]:
            pass
        _prepare_drawing()

    def stop(self) -> None:
        """End every stream."""
        for hub in self._hubs.values():
            hub.stop()


# What requests are answered from.
Shown = OneRecord | AllRecords


def _hub_of(source: Follower) -> Hub:
    """Return what streams a record. What draws it takes a second to import: the list of records does without."""
    from openslob.live.web.hub import Hub  # noqa: PLC0415

    return Hub(source)


def _prepare_drawing() -> None:
    """Put together the library that draws, which takes seconds, in a thread that keeps nothing from ending."""

    def prepare() -> None:
        from openslob.report.html.page import library  # noqa: PLC0415 - as above

        library()

    threading.Thread(target=prepare, daemon=True).start()
