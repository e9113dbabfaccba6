"""Runs the unit tests on mutants, each in a fork of a process that has loaded the package and the tests.

A mutant within functions takes the place of their code in the fork. One at module or class level takes effect by
loading the package again; so does one that survived within functions, since what was computed from it may be kept.
"""

from __future__ import annotations

import gc
import importlib.util
import inspect
import json
import os
import resource
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import _lru_cache_wrapper
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "openslob"
# A mutant may compute or ask for memory without end: it is caught, too.
MOST_CPU_S = 30
MOST_BYTES = 8 << 30
# All that tests know to try: how much they try for each change is not what is measured.
_OPTIONS = ("-q", "--nightly", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov",
            "-W", "ignore::pytest.PytestAssertRewriteWarning")  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """Whether tests failed, or could not even be run to their end, and those that failed."""

    caught: bool
    failed: tuple[str, ...]


class Recorder:
    """A plugin of pytest: notes the tests and which failed, and does not let failing examples be made smaller."""

    def __init__(self) -> None:
        self.collected: set[str] = set()
        self.failed: list[str] = []

    def pytest_sessionstart(self) -> None:
        """Let hypothesis draw the same examples each time, and leave those that fail as they are."""
        settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate), derandomize=True, deadline=None)
        settings.load_profile("mutants")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note all tests."""
        self.collected = {item.nodeid for item in session.items}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that failed."""
        if report.failed:
            self.failed.append(report.nodeid)


class Runner:
    """Runs tests in forks of this process, at most ``workers`` at a time; ``place`` is for their files."""

    def __init__(self, test_files: Sequence[str], place: Path, workers: int) -> None:
        self._place, self._workers = place, workers
        self._running: dict[int, tuple[Path, Callable[[Outcome], None]]] = {}
        self._started = 0
        recorder = Recorder()
        if code := pytest.main([*_OPTIONS, "--collect-only", "-qqq", *test_files], plugins=[recorder]):
            sys.exit(f"mutants: pytest can't collect the tests: {code!r}")
        self._known = recorder.collected
        gc.unfreeze()  # the tests hide what is loaded from collections, and from what follows
        self._live = _functions_by_code()
        if not self._live:
            sys.exit("mutants: no function of the package is found, so that no mutant can take its place")
        self._caches = [each for each in gc.get_objects() if _is_our_cache(each)]
        gc.collect()
        gc.freeze()  # a fork's collections would copy all memory

    def try_mutant(
        self, file: Path, source: str, tests: Sequence[str], anew: bool, then: Callable[[Outcome], None]
    ) -> None:
        """Run tests up to the first that fails on a file with another source; its outcome goes to ``then``.

        What is put in the place of functions can't be seen in what was computed when the package was loaded, so it is
        loaded ``anew`` where that matters, and where more than functions has changed.
        """
        pairs = changed_functions(_compiled(file, file.read_text(encoding="utf-8")), _compiled(file, source))

        def put_in() -> None:
            if anew or pairs is None:
                _unload()
                sys.meta_path.insert(0, _Finder(file, source))
            else:
                self._replace(file, pairs)

        self._start(put_in, ["-x", *tests], then)

    def try_unchanged(self, tests: Sequence[str], anew: bool, then: Callable[[Outcome], None]) -> None:
        """Run all of the tests on the source as it is."""
        self._start(_unload if anew else lambda: None, tests, then)

    def finish(self, left: int = 0) -> None:
        """Wait until at most ``left`` processes run."""
        while len(self._running) > left:
            child, status = os.wait()
            result, then = self._running.pop(child)
            failed = tuple(json.loads(result.read_text())) if result.exists() else ()
            then(Outcome(status != 0, failed))

    def _start(self, prepare: Callable[[], None], arguments: Sequence[str], then: Callable[[Outcome], None]) -> None:
        # What pytest says of a test that there is not, it says of a mutant that can't be loaded, too.
        if strange := {each for each in arguments if "::" in each} - self._known:
            sys.exit(f"mutants: there is no test {min(strange)}")
        self.finish(self._workers - 1)
        self._started += 1
        base = self._place / str(self._started)
        result = base.with_suffix(".json")
        if child := os.fork():
            self._running[child] = result, then
            return
        code = 1
        try:
            _restrict()
            prepare()
            recorder = Recorder()
            code = int(pytest.main([*_OPTIONS, f"--basetemp={base}", *arguments], plugins=[recorder]))
            result.write_text(json.dumps(recorder.failed))
            shutil.rmtree(base, ignore_errors=True)
        finally:
            os._exit(code)

    def _replace(self, file: Path, pairs: Sequence[tuple[CodeType, CodeType]]) -> None:
        for old, new in pairs:
            for function in self._live.get((str(file), old), ()):
                function.__code__ = new
        for each in self._caches:
            each.cache_clear()


def _restrict() -> None:
    """Make this process quiet, and limit what it may use."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))


def changed_functions(old: CodeType, new: CodeType) -> list[tuple[CodeType, CodeType]] | None:
    """Return the functions that differ, old and new; None if what runs when the module is loaded differs, too."""
    if (old.co_code, old.co_names, len(old.co_consts)) != (new.co_code, new.co_names, len(new.co_consts)):
        return None
    changed: list[tuple[CodeType, CodeType]] = []
    for was, becomes in zip(old.co_consts, new.co_consts, strict=True):
        if not isinstance(was, CodeType) or not isinstance(becomes, CodeType):
            if (type(was), repr(was)) != (type(becomes), repr(becomes)):
                return None
        elif was.co_flags & inspect.CO_NEWLOCALS:
            if was.co_freevars != becomes.co_freevars:
                return None
            if was != becomes:
                changed.append((was, becomes))
        elif (within := changed_functions(was, becomes)) is None:
            return None
        else:
            changed += within
    return changed


def _compiled(file: Path, source: str) -> CodeType:
    return compile(source, str(file), "exec", dont_inherit=True)


def _functions_by_code() -> Mapping[tuple[str, CodeType], list[FunctionType]]:
    found: defaultdict[tuple[str, CodeType], list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(str(PACKAGE)):
            found[each.__code__.co_filename, each.__code__].append(each)
    return found


def _is_our_cache(found: object) -> bool:
    return isinstance(found, _lru_cache_wrapper) and (found.__module__ or "").startswith("openslob")


def _unload() -> None:
    """Forget the package and all that is the tests', so that they are loaded again."""
    for name, module in list(sys.modules.items()):
        if name.startswith("openslob") or _is_of_tests(module):
            del sys.modules[name]


def _is_of_tests(module: ModuleType) -> bool:
    return (getattr(module, "__file__", None) or "").startswith(str(ROOT / "tests"))


class _Loader(SourceFileLoader):
    """Loads a module from a source that is not its file's."""

    def __init__(self, name: str, file: Path, source: str) -> None:
        super().__init__(name, str(file))
        self._source = source

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the import system's interface
        """Return the code of the other source, which is kept in no file."""
        return _compiled(Path(self.path), self._source)


class _Finder:
    """Finds one mutant's module."""

    def __init__(self, file: Path, source: str) -> None:
        self._name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        self._file, self._source = file, source

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        loader = _Loader(name, self._file, self._source)
        places = [str(self._file.parent)] if self._file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, self._file, loader=loader, submodule_search_locations=places
        )
