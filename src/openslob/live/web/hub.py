"""What all viewers share: one reader of the record, and what is new in it, computed once for all who see the same.

Nothing is read or computed while nobody looks.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

from openslob.core.errors import SlobError
from openslob.kinds.view import Follower, View
from openslob.live.web.board import Board, Patch

T = TypeVar("T")
INTERVAL_S = 1.0
# A long record is read piece by piece, so that its end is seen at once: for so long before it is looked at again.
CATCHING_UP_S = 0.7
_BETWEEN_S = 0.05
# A viewer that is further behind gets everything again.
MOST_BEHIND = 30
# How often a silent connection is tried.
SIGN_OF_LIFE_S = 15.0
_ALIVE = b": alive\n\n"


class _Channel:
    """What is messages to those who look at the same span of time, at the end of the record."""

    def __init__(self, span_s: float) -> None:
        self.board = Board(span_s)
        self.viewers = 0
        self._number = 0
        self._recent: deque[tuple[int, bytes]] = deque(maxlen=MOST_BEHIND)

    def update(self, view: View, read_share: float) -> None:
        patch = self.board.update(view, read_share)
        if patch:
            self._number += 1
            self._recent.append((self._number, message(patch)))

    def since(self, number: int | None) -> tuple[int, list[bytes]]:
        """Return what a viewer lacks who knows everything up to ``number``, and the number of the last of it."""
        if number is None or number < self._number - len(self._recent):
            return self._number, [message(self.board.whole())]
        return self._number, [each for at, each in self._recent if at > number]


class Hub:
    """Reads the record once a second while somebody looks."""

    def __init__(self, source: Follower) -> None:
        self._source = source
        self._channels: dict[float, _Channel] = {}
        # The reader and what was computed from it are used by one at a time.
        self._using = asyncio.Lock()
        self._news, self._end = asyncio.Event(), asyncio.Event()
        self._ticking: asyncio.Task[None] | None = None
        self._trouble = ""

    @property
    def is_reading(self) -> bool:
        """Whether the record is read for those who look."""
        return self._ticking is not None and not self._ticking.done()

    def stop(self) -> None:
        """End every stream."""
        self._end.set()
        self._news.set()

    async def watch(self, span_s: float) -> AsyncIterator[bytes]:
        """Yield all that there is to see of the last ``span_s`` (0: of all the time), then what is new."""
        channel = self._channels.setdefault(span_s, _Channel(span_s))
        channel.viewers += 1
        try:
            if channel.viewers == 1:
                await self._read([channel])
            if self._ticking is None or not self.is_reading:
                self._ticking = asyncio.create_task(self._tick())
            known: int | None = None
            trouble = ""
            now = asyncio.get_running_loop().time
            sent_s = now()
            while not self._end.is_set():
                news = self._news
                async with self._using:
                    known, messages = channel.since(known)
                if trouble != self._trouble:
                    trouble = self._trouble
                    messages.append(message({"trouble": trouble}))
                # The news may be that there is none.
                if not messages and now() - sent_s >= SIGN_OF_LIFE_S:
                    messages = [_ALIVE]
                for each in messages:
                    sent_s = now()
                    yield each
                await is_set_within(news, SIGN_OF_LIFE_S)
                if self._ticking.done() and not self._end.is_set():
                    # Without what reads on, the page would show old figures as those of this moment.
                    self._ticking.result()
        finally:
            channel.viewers -= 1
            if not channel.viewers:
                self._channels.pop(span_s, None)

    async def replay(self, at_s: float, speed: float, span_s: float) -> AsyncIterator[bytes]:
        """Yield the record as it stood at ``at_s``, and as it went on, ``speed`` times as fast; 0: as it stood."""
        board, now = Board(span_s), asyncio.get_running_loop().time
        started, step = now(), 0
        while not self._end.is_set():
            async with self._using:
                try:
                    moment = at_s + speed * step * INTERVAL_S
                    patch = await asyncio.to_thread(self._as_it_stood, board, moment, not speed)
                except SlobError as error:
                    patch = {"trouble": str(error), "ended": True}
            yield message(patch)
            if patch.get("ended"):
                return
            # A step may take longer than its time: the next ones are then left out.
            step = max(step + 1, round((now() - started) / INTERVAL_S))
            await is_set_within(self._end, started + step * INTERVAL_S - now() if self._is_read else _BETWEEN_S)

    async def now(self, ask: Callable[[View], T]) -> T:
        """Return an answer from what there is to see now. SlobError when the record can't be read."""
        async with self._using:
            return await asyncio.to_thread(lambda: ask(self._latest()))

    async def _tick(self) -> None:
        try:
            while not await is_set_within(self._end, INTERVAL_S if self._is_read else _BETWEEN_S) and self._channels:
                await self._read(list(self._channels.values()), CATCHING_UP_S)
                self._wake()
        finally:
            # After a failure, too: nobody waits for news that will not come.
            self._wake()

    def _wake(self) -> None:
        """Let every stream look at what is new."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def _read(self, channels: Sequence[_Channel], patience_s: float = 0.0) -> None:
        async with self._using:
            try:
                await asyncio.to_thread(self._update, channels, patience_s)
                self._trouble = ""
            except SlobError as error:
                self._trouble = str(error)

    def _update(self, channels: Sequence[_Channel], patience_s: float) -> None:
        view = self._latest(patience_s)
        for channel in channels:
            channel.update(view, self._source.read_share)

    @property
    def _is_read(self) -> bool:
        return self._source.read_share >= 1

    def _latest(self, patience_s: float = 0.0) -> View:
        end = time.monotonic() + patience_s
        self._source.poll()
        while not self._is_read and time.monotonic() < end:
            self._source.poll()
        return self._source.view()

    def _as_it_stood(self, board: Board, at_s: float, standing: bool) -> Patch:
        latest = self._latest(CATCHING_UP_S)
        end_s, is_read = latest.head.elapsed_s, self._is_read
        first = board.is_empty
        patch = board.update(self._source.view(min(at_s, end_s)), self._source.read_share, end_s)
        patch = board.whole() if first else patch
        return patch | ({"ended": True} if is_read and (standing or at_s >= end_s) else {})


def message(patch: Patch) -> bytes:
    """Return an event of the stream."""
    text = json.dumps(patch, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # JSON can have half a character, which nothing can show.
    return f"data: {text}\n\n".encode(errors="replace")


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for the event, at most so long; return whether it is set."""
    try:
        await asyncio.wait_for(event.wait(), max(seconds, 0.01))
    except TimeoutError:
        return False
    return True
