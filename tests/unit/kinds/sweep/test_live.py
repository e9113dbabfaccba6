"""A sweep that is followed: between its runs, and while one begins, the last one is what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from factories.live import OPS, READS, MadeRun, MadeSweep
from openslob.kinds.contract import follow
from openslob.kinds.view import RecordState, View, has_begun
from openslob.record.store import lock_marker

POINTS = ((2, 0), (8, 0), (4, 20))


@pytest.fixture
def sweep(tmp_path: Path) -> Iterator[MadeSweep]:
    made = MadeSweep(tmp_path / "20260301-101112-petals", POINTS)
    with lock_marker(made.folder):
        yield made


def shown(view: View) -> tuple[str, float | None]:
    """The run that is shown, and its reads per second."""
    assert view.current is not None
    return view.current.head.id, view.now["pio_read_per_s"].value


def make(sweep: MadeSweep) -> MadeRun:
    run = sweep.begin()
    run.grow(5)
    sweep.end(run)
    return run


def test_while_a_run_begins_the_last_one_is_shown_with_the_phase_of_the_new_one(sweep: MadeSweep) -> None:
    first, source = make(sweep), follow(sweep.folder)
    of_first = (first.folder.name, 2 * OPS * READS)
    assert shown(source.view()) == of_first
    second = sweep.begin()
    with lock_marker(second.folder):
        source.poll()
        assert shown(source.view()) == of_first
        assert source.view().head.phase == "connect"
        assert source.view().head.progress is RecordState.RUNNING
        second.grow(1)
        source.poll()
        # The engine's counters are behind the sessions: there is no rate yet.
        assert shown(source.view()) == of_first
        second.grow(2)
        source.poll()
        assert shown(source.view()) == (second.folder.name, 8 * OPS * READS)


def test_who_comes_while_a_run_begins_sees_the_last_one_too(sweep: MadeSweep) -> None:
    first, second = make(sweep), sweep.begin()
    with lock_marker(second.folder):
        assert shown(follow(sweep.folder).view())[0] == first.folder.name


def test_the_first_run_is_shown_before_it_has_anything_to_show(sweep: MadeSweep) -> None:
    first = sweep.begin()
    with lock_marker(first.folder):
        view = follow(sweep.folder).view()
        assert view.current is not None
        assert view.current.head.id == first.folder.name
        assert not has_begun(view.current)


def test_a_moment_of_a_replay_is_of_the_run_that_is_shown(sweep: MadeSweep) -> None:
    first, second = make(sweep), sweep.begin()
    with lock_marker(second.folder):
        view = follow(sweep.folder).view(3.0)
        assert view.current is not None
        assert (view.current.head.id, view.head.elapsed_s) == (first.folder.name, 3.0)
