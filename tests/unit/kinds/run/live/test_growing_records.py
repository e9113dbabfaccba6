"""A record may be read at any moment of its growth, in any parts, and may be damaged anywhere."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories import effort
from factories.live import OPS, READS, MadeRun, run_folder
from factories.records import START_NS
from openslob.analyze import run_tables
from openslob.core.errors import SlobError
from openslob.core.units import NANOS
from openslob.kinds.contract import follow
from openslob.kinds.run.live import follow as following
from openslob.kinds.view import Follower, View
from openslob.record import arrays
from openslob.record.raw_csv import COLUMNS

SECONDS, SESSIONS = 12, 8
FILES = [name for name in COLUMNS if name not in ("samples.csv", "response.csv", "engine_latency.csv")]
EXAMPLES = settings(max_examples=effort.number(4, 20), deadline=None)
_numbers = itertools.count()


@pytest.fixture(scope="module")
def whole() -> Iterator[Path]:
    """The folder of a run in progress, whose files tests copy."""
    # A file that grows without a driver's lock shows as abandoned here at once, not after a while.
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "GROWS_S", -1.0)
        run_folder(Path(folder) / "20260301-120000-made", SECONDS, SESSIONS, finished=False)
        yield Path(folder) / "20260301-120000-made"


def _shown(view: View) -> dict[str, Any]:
    """All that a view shows."""
    return {
        "head": view.head,
        "now": view.now,
        "notes": [note for note in view.notes if "no driver" not in note.text],
        "verdicts": view.verdicts,
        "waits": view.waits(),
        "cpu": view.cpu(),
        **{name: view.series(name) for name in view.names},
        **{kind: view.heat(kind) for kind in ("select", "update") if f"latency.{kind}.p50_us" in view.names},
    }


def _differing(first: dict[str, Any], second: dict[str, Any]) -> dict[str, tuple[object, object]]:
    """Return what two views show differently; sums may have been added in another order."""
    names = {**first, **second}
    return {name: (first.get(name), second.get(name)) for name in names if not _same(first.get(name), second.get(name))}


def _same(first: object, second: object) -> bool:
    left, right = (_numbers_of(repr(each)) for each in (first, second))
    return len(left) == len(right) and all(map(_near, left, right))


def _numbers_of(text: str) -> list[str | float]:
    parts: list[str | float] = []
    for word in text.replace("[", " [ ").replace("]", " ] ").replace(",", " , ").replace("=", " = ").split():
        try:
            parts.append(float(word))
        except ValueError:
            parts.append(word)
    return parts


def _near(first: str | float, second: str | float) -> bool:
    if isinstance(first, str) or isinstance(second, str):
        return first == second
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)


def _read_all(follower: Follower) -> View:
    for _ in range(10_000):
        if not follower.poll() and follower.read_share == 1.0:
            return follower.view()
    raise AssertionError("there is always something to read")


def _copy(whole: Path, folder: Path, shares: dict[str, float]) -> Path:
    """Copy the first part of each file, cut at any byte."""
    made = folder / f"{next(_numbers)}"
    made.mkdir()
    for path in whole.iterdir():
        content = path.read_bytes()
        (made / path.name).write_bytes(content[: round(len(content) * shares.get(path.name, 1.0))])
    return made


SHARES = st.fixed_dictionaries({name: st.floats(0, 1) for name in FILES})


@EXAMPLES
@given(shares=SHARES)
def test_files_cut_at_any_byte_show_the_begin_of_the_whole(whole: Path, shares: dict[str, float]) -> None:
    complete = follow(whole).view()
    with TemporaryDirectory() as folder:
        view = follow(_copy(whole, Path(folder), {**shares, "events.csv": 1.0})).view()
        _shown(view)
        for name in ("pio_read_per_s", "host.busy_pct", "ops_per_s"):
            both = zip(view.series(name).mean, complete.series(name).mean, strict=False)
            assert all(_near(one, other) for one, other in both if one is not None and other is not None)


@EXAMPLES
@given(shares=st.lists(SHARES, min_size=1, max_size=5))
def test_following_in_steps_shows_what_reading_at_once_shows(whole: Path, shares: list[dict[str, float]]) -> None:
    """Each step has some more of each file; the last one has all."""
    steps = [{name: sorted(each[name] for each in shares)[at] for name in FILES} for at in range(len(shares))]
    with TemporaryDirectory() as folder:
        made = _copy(whole, Path(folder), steps[0])
        follower = follow(made)
        for step in [*steps[1:], dict.fromkeys(FILES, 1.0)]:
            _shown(follower.view())
            for name in FILES:
                content = (whole / name).read_bytes()
                with (made / name).open("ab") as file:
                    file.write(content[file.tell() : round(len(content) * step[name])])
            follower.poll()
        assert _differing(_shown(_read_all(follower)), _shown(follow(made).view())) == {}


@EXAMPLES
@given(name=st.sampled_from(FILES), at=st.floats(0, 1), what=st.binary(min_size=1, max_size=3))
def test_damage_is_one_error_or_shows_something_but_never_fails(whole: Path, name: str, at: float, what: bytes) -> None:
    with TemporaryDirectory() as folder:
        made = _copy(whole, Path(folder), {})
        content = bytearray((made / name).read_bytes())
        place = round(at * (len(content) - len(what)))
        content[place : place + len(what)] = what
        (made / name).write_bytes(bytes(content))
        try:
            _shown(follow(made).view())
        except SlobError as error:
            assert name in str(error)


LATER, END = f"{START_NS + 12 * NANOS},{START_NS + 13 * NANOS}", f"{START_NS + 13 * NANOS}"


@pytest.mark.parametrize(
    ("name", "row", "why"),
    [
        ("engine.csv", f"{LATER},read_requests,inf", "inf is no number"),
        ("engine.csv", f"{LATER},read_requests,1e999", "1e999 is no number"),
        ("engine.csv", f"-5,{END},read_requests,5", "days from the begin"),
        ("os.csv", f"{9 * 10**18},host.cpu_user_s,5", "days from the begin"),
        ("os.csv", f"{END},host.cores,inf", "inf is no number"),
    ],
)
def test_what_no_run_can_have_measured_is_damage(whole: Path, tmp_path: Path, name: str, row: str, why: str) -> None:
    made = _copy(whole, tmp_path, {})
    with (made / name).open("a") as file:
        file.write(f"{row}\n")
    with pytest.raises(SlobError, match=f"{name} is damaged: .*{why}"):
        follow(made)


def test_more_names_than_anybody_has_are_damage_and_do_not_fill_the_memory(whole: Path, tmp_path: Path) -> None:
    made = _copy(whole, tmp_path, {})
    with (made / "waits.csv").open("a") as file:
        file.writelines(f"{END},event{number},1\n" for number in range(5_000))
    with pytest.raises(SlobError, match=r"waits.csv is damaged: it has 5,005 different names"):
        follow(made)


@pytest.mark.parametrize("row", [f"{END},{END},read_requests,5", f"{END},{START_NS},read_requests,5"])
def test_an_interval_without_a_length_is_left_out(whole: Path, tmp_path: Path, row: str) -> None:
    made = _copy(whole, tmp_path, {})
    with (made / "engine.csv").open("a") as file:
        file.write(f"{row}\n")
    assert _differing(_shown(follow(made).view()), _shown(follow(whole).view())) == {}


@pytest.mark.parametrize("planned", ["abc", "nan", "inf", "-3", "0"])
def test_a_planned_time_that_is_none_is_not_shown(whole: Path, tmp_path: Path, planned: str) -> None:
    made = _copy(whole, tmp_path, {})
    with (made / "events.csv").open("a") as file:
        file.write(f"{START_NS},planned_s,{planned}\n")
    assert follow(made).view().head.planned_s is None


@pytest.mark.parametrize("part_bytes", [600, 5_000])
def test_a_long_record_is_read_from_its_end_and_shows_the_same(
    whole: Path, part_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = _shown(follow(whole).view())
    monkeypatch.setattr(arrays, "PART_BYTES", part_bytes)
    follower = follow(whole)
    assert _differing(_shown(_read_all(follower)), at_once) == {}


def test_the_first_look_at_a_long_record_reads_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "PART_BYTES", 4_000)
    run_folder(tmp_path / "made", 300, SESSIONS, finished=False)
    followed = follow(tmp_path / "made")
    assert isinstance(followed, following.FollowedRun)
    followed.poll(budget_s=0.0)
    assert followed.view().head.elapsed_s == 300
    assert _read_all(followed).series("ops_per_s").mean[0] == OPS * SESSIONS
    assert followed.read_share == 1.0


def test_a_record_that_is_read_again_in_longer_units_is_not_read_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "PART_BYTES", 4_000)
    monkeypatch.setattr(run_tables, "MOST_UNITS", 100)
    run_folder(tmp_path / "made", 300, SESSIONS, finished=False)
    followed = follow(tmp_path / "made")
    assert isinstance(followed, following.FollowedRun)
    # That it is so long is known by the first look, which follow() takes.
    followed.poll(budget_s=0.0)
    assert followed.read_share == 0.0
    while followed.read_share < 1:
        followed.poll()
    assert not followed.poll()


def test_a_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    made = run_folder(tmp_path / "made", 5, SESSIONS, finished=False)
    follower = follow(made.folder)
    for name in FILES:
        short = (made.folder / name).read_bytes()[:100]
        (made.folder / name).unlink()
        (made.folder / name).write_bytes(short)
    follower.poll()
    assert follower.view().head.elapsed_s == 0
    assert _differing(_shown(_read_all(follower)), _shown(follow(made.folder).view())) == {}


@pytest.mark.parametrize("sessions", [8, 1000])
def test_figures_are_those_of_the_record(tmp_path: Path, sessions: int) -> None:
    made = MadeRun(tmp_path / "made", sessions)
    made.grow(300)
    view = follow(made.folder).view()
    reads = view.series("pio_read_per_s", most=10)
    # Until every session has ended a slice, the engine has not counted all that they did.
    assert {round(value) for value in reads.mean if value is not None} == {sessions * OPS * READS}
    assert reads.mean[-1] is not None
    ops = [value for value in view.series("ops_per_s").mean if value]
    assert ops
    assert view.now["pio_read_per_s"].value == pytest.approx(sessions * OPS * READS)
    if sessions <= 8:
        assert view.now["ops_per_s"].value == pytest.approx(sessions * OPS)
        assert view.now["ops_total"].value == sessions * OPS * 300
