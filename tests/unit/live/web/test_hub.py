"""Streams of viewers: late joiners, slow ones, one computation for all, none while nobody looks, and their end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import aclosing
from typing import Any

import pytest

from factories.views import MadeSource
from openslob.core.errors import SlobError
from openslob.kinds.view import RecordState
from openslob.live.web import hub as hub_module
from openslob.live.web.board import Board
from openslob.live.web.hub import Hub


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "INTERVAL_S", 0.02)


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(work, 60)

    asyncio.run(limited())


def told(message: bytes) -> dict[str, Any]:
    assert message.startswith(b"data: ")
    assert message.endswith(b"\n\n")
    assert message.count(b"\n") == 2
    patch: dict[str, Any] = json.loads(message.removeprefix(b"data: "))
    return patch


async def take(stream: AsyncIterator[bytes], count: int) -> list[dict[str, Any]]:
    return [told(await anext(stream)) for _ in range(count)]


async def until(stream: AsyncIterator[bytes], wanted: dict[str, Any]) -> None:
    async for message in stream:
        if told(message) == wanted:
            return


def rows(patches: list[dict[str, Any]], name: str) -> list[list[Any]]:
    """Put together what was told of one picture, as the page does."""
    kept: list[list[Any]] = []
    begin_s = 0.0
    for patch in patches:
        begin_s = patch.get("axis", {"begin_s": begin_s})["begin_s"]
        for each in patch.get("pictures", ()):
            if each["name"] == name:
                kept = [row for row in kept if "spec" not in each and row[0] < each["since"]] + each["rows"]
        kept = [row for row in kept if row[0] >= begin_s]
    return kept


NAMES = ("requests", "latency-select", "waits", "cpu", "map-select-share_pct")


def test_a_late_viewer_sees_all_that_the_first_one_saw() -> None:
    async def work() -> None:
        hub = Hub(MadeSource(grows_s=1, elapsed_s=20))
        async with aclosing(hub.watch(0)) as first:
            seen = await take(first, 8)
            assert seen[0]["whole"]
            assert not any("whole" in each or "spec" in each.get("pictures", [{}])[0] for each in seen[1:])
            async with aclosing(hub.watch(0)) as late:
                [whole] = await take(late, 1)
            while seen[-1]["head"]["end_s"] < whole["head"]["end_s"]:
                seen += await take(first, 1)
        assert {each["name"] for each in whole["pictures"]} == {each["name"] for each in seen[0]["pictures"]}
        for name in NAMES:
            assert rows(seen, name) == rows([whole], name), name
            assert rows([whole], name)
        for section in ("head", "figures", "verdicts", "notes", "axis"):
            assert next(each[section] for each in reversed(seen) if section in each) == whole[section]

    run(work())


def test_steps_become_longer_and_everything_is_told_again() -> None:
    async def work() -> None:
        hub = Hub(MadeSource(grows_s=2, elapsed_s=112))
        async with aclosing(hub.watch(0)) as stream:
            patches = await take(stream, 8)
        lengths = {row[1] - row[0] for row in rows(patches, "requests")}
        assert lengths == {2.0}
        assert len({row[0] for row in rows(patches, "requests")}) == patches[-1]["head"]["end_s"] / 2

    run(work())


def test_a_span_forgets_what_is_before_it() -> None:
    async def work() -> None:
        hub = Hub(MadeSource(grows_s=1, elapsed_s=300))
        async with aclosing(hub.watch(60)) as stream:
            patches = await take(stream, 12)
            async with aclosing(hub.watch(60)) as late:
                [whole] = await take(late, 1)
            while patches[-1]["head"]["end_s"] < whole["head"]["end_s"]:
                patches += await take(stream, 1)
        begins = [row[0] for row in rows(patches, "requests")]
        # Pictures follow at every second look.
        assert min(begins) - (patches[-1]["head"]["end_s"] - 60) in (-1, 0)
        assert rows(patches, "requests") == rows([whole], "requests")

    run(work())


def test_many_viewers_cost_one_computation_and_none_costs_nothing() -> None:
    async def work() -> None:
        started = asyncio.get_running_loop().time()
        source = MadeSource(grows_s=1)
        hub = Hub(source)
        streams = [hub.watch(0) for _ in range(20)]
        for stream in streams:
            await take(stream, 1)
        for _ in range(5):
            for stream in streams:
                await take(stream, 1)
        ticks = (asyncio.get_running_loop().time() - started) / hub_module.INTERVAL_S
        assert source.polls <= ticks + 2
        for stream in streams:
            await stream.aclose()  # type: ignore[attr-defined]
        assert hub.is_reading
        while hub.is_reading:  # what reads ends by itself
            await asyncio.sleep(hub_module.INTERVAL_S)
        left = source.polls
        await asyncio.sleep(3 * hub_module.INTERVAL_S)
        assert source.polls == left

    run(work())


def test_nothing_is_read_after_the_last_viewer_left(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        source = MadeSource(grows_s=1)
        hub = Hub(source)
        stream = hub.watch(0)
        left: list[float] = []

        async def leave(_event: asyncio.Event, seconds: float) -> bool:
            await stream.aclose()  # type: ignore[attr-defined]
            left.append(seconds)
            return len(left) > 1

        monkeypatch.setattr(hub_module, "is_set_within", leave)
        await take(stream, 1)
        first = source.polls
        while hub.is_reading:
            await asyncio.sleep(0)
        assert (len(left), source.polls) == (1, first)

    run(work())


def test_a_viewer_that_was_too_slow_is_told_everything_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "MOST_BEHIND", 3)

    async def work() -> None:
        hub = Hub(MadeSource(grows_s=1, elapsed_s=20))
        async with aclosing(hub.watch(0)) as slow, aclosing(hub.watch(0)) as steady:
            first = await take(slow, 1)
            await take(steady, 8)
            [again] = await take(slow, 1)
            assert again["whole"]
            assert again["head"]["end_s"] >= first[0]["head"]["end_s"] + 5

    run(work())


def test_nothing_is_sent_when_nothing_is_new_and_the_connection_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "SIGN_OF_LIFE_S", 0.05)

    async def work() -> None:
        hub = Hub(MadeSource(grows_s=0, elapsed_s=20, progress=RecordState.COMPLETE))
        async with aclosing(hub.watch(0)) as stream:
            await take(stream, 1)
            assert await anext(stream) == b": alive\n\n"

    run(work())


def test_a_stop_ends_every_stream() -> None:
    async def work() -> None:
        hub = Hub(MadeSource(grows_s=1))
        watched, replayed = hub.watch(0), hub.replay(1, 0.001, 0)
        await take(watched, 1)
        await take(replayed, 1)
        rest = [asyncio.create_task(_drain(each)) for each in (watched, replayed)]
        hub.stop()
        await asyncio.gather(*rest)

    run(work())


async def _drain(stream: AsyncIterator[bytes]) -> None:
    async for _ in stream:
        pass


def test_trouble_is_told_and_taken_back() -> None:
    class Shaky(MadeSource):
        broken = False

        def poll(self) -> bool:
            if self.broken:
                raise SlobError("waits.csv can't be read")
            return super().poll()

    async def work() -> None:
        source = Shaky(grows_s=1)
        hub = Hub(source)
        async with aclosing(hub.watch(0)) as stream:
            await take(stream, 1)
            source.broken = True
            await until(stream, {"trouble": "waits.csv can't be read"})
            source.broken = False
            await until(stream, {"trouble": ""})

    run(work())


def test_a_replay_goes_on_at_its_speed_and_ends_with_the_record() -> None:
    async def work() -> None:
        hub = Hub(MadeSource(grows_s=0, elapsed_s=40, progress=RecordState.COMPLETE))
        patches = [told(each) async for each in hub.replay(5, 500, 0)]
        moments = [each["head"]["elapsed_s"] for each in patches if "head" in each]
        assert moments[0] == 5
        assert moments == sorted(moments)
        assert moments[-1] == 40
        assert patches[-1]["ended"]
        assert not any("ended" in each for each in patches[:-1])
        assert rows(patches, "requests")[-1][1] == 40

    run(work())


def test_a_moment_stands_still() -> None:
    async def work() -> None:
        hub = Hub(MadeSource(grows_s=1, elapsed_s=40))
        [patch] = [told(each) async for each in hub.replay(31.5, 0, 0)]
        assert patch["head"]["elapsed_s"] == 31.5
        assert patch["head"]["end_s"] > 40
        assert max(row[1] for row in rows([patch], "requests")) <= 32

    run(work())


def test_a_reader_that_fails_ends_the_streams_and_shows_nothing_old_as_new(monkeypatch: pytest.MonkeyPatch) -> None:
    # At once, and not only when a silent connection is tried.
    monkeypatch.setattr(hub_module, "SIGN_OF_LIFE_S", 3600.0)

    class Failing(MadeSource):
        def poll(self) -> bool:
            if self.polls == 3:
                raise ZeroDivisionError
            return bool(super().poll())

    async def work() -> None:
        async with aclosing(Hub(Failing(grows_s=1, elapsed_s=20)).watch(0)) as stream:
            with pytest.raises(ZeroDivisionError):
                await take(stream, 20)

    run(work())


def test_half_a_character_in_a_name_is_sent_as_a_question_mark() -> None:
    assert hub_module.message({"name": "a\ud800"}) == b'data: {"name":"a?"}\n\n'


def test_pictures_follow_at_every_second_look_and_the_figures_at_each() -> None:
    board, source = Board(0.0), MadeSource(grows_s=1, elapsed_s=20)
    patches = []
    for _ in range(8):
        source.poll()
        patches.append(board.update(source.view()))
    assert all(patch["head"]["elapsed_s"] == 21 + at for at, patch in enumerate(patches))
    drawn = [bool(patch.get("pictures")) for patch in patches]
    assert drawn == [at % 2 == 0 for at in range(8)]
    source.made = MadeSource(view=source.made, progress=RecordState.COMPLETE).made
    assert board.update(source.view())["pictures"]
