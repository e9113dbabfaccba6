"""Records and configurations that are damaged, of another version, or not there: told in one line, and left alone."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from factories.paths import FIXTURES
from faults.fault import NO_SERVER, Fault, Left
from faults.scene import Outcome, Scene

PLACE = FIXTURES / "records"
MEASURED, SWEEP, STORAGE = "v2/measured", "sweep-v1/measured", "storage-v1/dd"
FILES = {MEASURED: "run.json", SWEEP: "sweep.json", STORAGE: "storage.json"}
Damage = Callable[[Path], object]


def damaged(source: str, damage: Damage, *command: str) -> Callable[[Scene], Outcome]:
    """A command on a record whose document is damaged; the document stays as it is."""

    def strike(scene: Scene) -> Outcome:
        folder = shutil.copytree(PLACE / source, scene.results / "20270101-000000-x")
        file = folder / FILES[source]
        damage(file)
        before = file.read_bytes() if file.is_file() else b""
        done = scene.to_end(*command, "--results", scene.results, cwd=scene.place)
        assert (file.read_bytes() if file.is_file() else b"") == before
        return done

    return strike


def text(new: str) -> Damage:
    return lambda file: file.write_text(new)


def half(file: Path) -> None:
    file.write_text(file.read_text()[: file.stat().st_size // 2])


def changed(pattern: str, new: str) -> Damage:
    def damage(file: Path) -> None:
        before = file.read_text()
        after = re.sub(pattern, new, before, count=1)
        assert after != before
        file.write_text(after)

    return damage


def raw_file(name: str, damage: Damage, *command: str) -> Callable[[Scene], Outcome]:
    """A command on a record one of whose raw files is damaged."""

    def strike(scene: Scene) -> Outcome:
        folder = shutil.copytree(PLACE / "v3/measured", scene.results / "20270101-000000-x")
        damage(folder / name)
        return scene.to_end(*command, "--results", scene.results, cwd=scene.place)

    return strike


def raw(new: bytes) -> Damage:
    return lambda file: file.write_bytes(new)


def appended(new: bytes) -> Damage:
    return lambda file: file.write_bytes(file.read_bytes() + new)


def cut_short(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 7)


def configured(content: bytes | None, name: str = "slob.toml") -> Callable[[Scene], Outcome]:
    """A command with a configuration file; without content it is a folder."""

    def strike(scene: Scene) -> Outcome:
        file = scene.place / name
        if content is None:
            file.mkdir()
        else:
            file.write_bytes(content)
        words = ("run", "--target", "postgresql://127.0.0.1:1/slob", "--results", scene.results, "--config", file)
        done = scene.to_end(*words)
        assert str(file) in done.stderr, done.stderr
        return done

    return strike


def variable(name: str, value: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        words = ("run", "--target", "postgresql://127.0.0.1:1/slob", "--results", scene.results)
        return scene.to_end(*words, env={name: value})

    return strike


def missing(*command: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        return scene.to_end(*command, "--results", scene.results)

    return strike


def baseline(scene: Scene) -> Outcome:
    scene.results.mkdir()
    folder = scene.place / "baselines"
    folder.mkdir()
    (folder / "main" / "20270101-000000-x").mkdir(parents=True)
    (folder / "main" / "20270101-000000-x" / "run.json").write_text("{")
    done = scene.to_end("baseline", "show", "main", "--dir", folder)
    assert "damaged" in done.stdout
    return done


def report_into(path: str) -> Callable[[Scene], Outcome]:
    def strike(scene: Scene) -> Outcome:
        shutil.copytree(PLACE / MEASURED, scene.results / "20270101-000000-x")
        return scene.to_end("report", "latest", "-o", path, "--results", scene.results)

    return strike


def row(what: str, command: str, does: str, strike: Callable[[Scene], Outcome], says: str = "", code: int = 1) -> Fault:
    """A row without a server, of a command that reads files."""
    return Fault(what, "read", command, does, strike, says, code, Left.AS_IT_WAS, NO_SERVER)


DAMAGED = "is damaged: .*; restore it, or move its folder elsewhere"
NOT_ONE = "name another file, or move it elsewhere"
REPORT = ("report", "latest", "-o", "x.html")
DOCUMENTS = tuple(
    row(what, words[0], does, damaged(source, damage, *words), NOT_ONE if "kind" in what else says)
    for source, words in ((MEASURED, ("show", "latest")), (SWEEP, REPORT), (STORAGE, ("show", "20270101-000000-x")))
    for what, damage, says, does in (
        ("the record's document was cut off", half, DAMAGED, "names the file and what is wrong in it"),
        ("the record's document is empty", text(""), DAMAGED, "names the file and what is wrong in it"),
        ("the record's document is of another kind", text("[]"), "", "names the file"),
        ("the record's document is not UTF-8", raw(b'{"a": "\xe9"}'), DAMAGED,
         "names the file and what is wrong in it"),
        ("a later version wrote the record", changed(r'(version": )\d+', r"\g<1>99"), "this openslob reads up to",
         "says which version is needed"),
        ("the record's version is none", changed(r'(version": )\d+', r"\g<1>-1"), DAMAGED, "names the file"),
    )
)  # fmt: skip
RAW_FILES = (
    row("a raw file ends within a line, as after a crash", "report", "leaves out that line",
        raw_file("engine.csv", cut_short, *REPORT), code=0),
    row("a raw file ends in zeros, as after a power failure", "report", "leaves them out",
        raw_file("engine.csv", appended(bytes(4096)), *REPORT), code=0),
    row("a raw file is missing", "report", "leaves out the pictures of it", raw_file("engine.csv", Path.unlink,
        *REPORT), code=0),
    row("a raw file has a line of nonsense", "report", "names the file, and `slob show`, which does not need it",
        raw_file("engine.csv", appended(b"x,y,z\n"), *REPORT),
        "engine.csv is damaged.*`slob show` needs run.json alone"),
    row("a raw file is not UTF-8", "report", "names the file, and `slob show`, which does not need it",
        raw_file("latency.csv", appended(b"\xff\xfe\n"), *REPORT),
        "latency.csv is damaged.*`slob show` needs run.json alone"),
)  # fmt: skip
CONFIGURED = tuple(
    row(f"the configuration {what}", "run", does, configured(content, name), says, code=2)
    for what, does, content, name, says in (
        ("is no TOML", "names the file and the line", b"schemas = = 3\n", "slob.toml", "line 1"),
        ("has an unknown key", "names it, and the likely one", b"schmeas = 3\n", "slob.toml", "did you mean SCHEMAS"),
        ("has a value of a wrong type", "names file and line", b"schemas = [1, {a = 2}]\n", "slob.toml",
         ":1: schemas is not"),
        ("has a value out of its range", "names file, line and range", b"update_pct = 101\n", "slob.toml",
         "from 0 to 100"),
        ("has a target that is not UTF-8", "names file and line; it shows no text that may be a password",
         b'target = "\xe9"\n', "slob.toml", ":1: .*not shown"),
        ("is zeros", "names the file and the line", bytes(4096), "slob.toml", "line 1"),
        ("is a folder", "names it", None, "slob.toml", "Is a directory"),
        ("in a shell file would run a command", "runs nothing; names file and line",
         b"SCALE=$(rm -rf /tmp/nothing)\n", "slob.conf", "nothing is executed"),
    )
)  # fmt: skip
RECORDS: tuple[Fault, ...] = (
    *DOCUMENTS,
    *RAW_FILES,
    row("the folder of records is empty", "show", "says where it looked", missing("show", "latest"),
        "there are no records in"),
    row("there is no such record", "compare", "says where it looked", missing("compare", "before", "after"),
        "there are no records in", code=2),
    row("a record of a baseline was cut off", "baseline show", "shows that it is damaged", baseline, code=0),
    row("the report's folder does not exist", "report", "names the file", report_into("/nonexistent/x.html"),
        "can't be written"),
    row("the report's file is a folder", "report", "names it", report_into("/tmp"), "can't be written: Is a directory"),
    row("the disk of the report is full", "report", "names the file", report_into("/dev/full"),
        "can't be written: No space left"),
    *CONFIGURED,
    row("a variable is no number", "run", "names the variable", variable("SLOB_SCHEMAS", "three"), "SLOB_SCHEMAS",
        code=2),
)  # fmt: skip
