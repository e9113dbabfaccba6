"""The library that draws is kept for the next process, and never taken from a file that is not what we wrote."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openslob.report.html import page

FRESH = "window.vega = 'ä';\nmade once"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was put together; the cache is an empty one."""
    calls: list[str] = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(page, "bundle_library", lambda: calls.append(FRESH) or FRESH)
    return calls


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "openslob" / "vega.js"


@pytest.fixture(autouse=True)
def each_process_anew() -> Iterator[None]:
    page.library.cache_clear()
    yield
    page.library.cache_clear()


def in_a_new_process() -> str:
    page.library.cache_clear()
    return page.library()


def test_put_together_once_for_all_processes(made: list[str], kept: Path) -> None:
    assert [in_a_new_process() for _ in range(3)] == [FRESH] * 3
    assert len(made) == 1
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "cut off": _cut,
    "changed": lambda path: path.write_bytes(path.read_bytes().replace(b"made", b"evil")),
    "not text": lambda path: path.write_bytes(b"\xff\xfe"),
    "empty": lambda path: path.write_bytes(b""),
    "others may write": lambda path: path.chmod(0o666),
    "a folder": _folder,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_we_did_not_write_is_made_anew(made: list[str], kept: Path, damage: Callable[[Path], object]) -> None:
    in_a_new_process()
    damage(kept)
    assert in_a_new_process() == FRESH
    assert len(made) == 2
    if kept.is_file():  # and it is whole again
        assert in_a_new_process() == FRESH
        assert len(made) == 2


def test_another_version_has_another_script(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_new_process()
    monkeypatch.setattr(page, "version", lambda _: "999.0")
    in_a_new_process()
    assert len(made) == 2


def test_files_of_another_user_are_not_taken(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_new_process()
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    assert in_a_new_process() == FRESH
    assert len(made) == 2


@pytest.mark.parametrize("place", ["/proc/none", "/dev/null/cache"])
def test_no_cache_where_none_can_be(made: list[str], monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", place)
    assert in_a_new_process() == FRESH


def test_a_user_without_a_home_has_no_cache(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openslob.core.places.cache", lambda: None)
    assert in_a_new_process() == FRESH


def test_the_library_draws() -> None:
    """The real one: what draw.js asks of the window."""
    script = in_a_new_process()
    assert "window.vegaEmbed" in script
    assert in_a_new_process() == script
