"""The digests of a record's files, written at its end: they name a file that was changed afterwards.

`digests.json` has the SHA-256 of each file of the folder, and that of all of them: of the lines that ``sha256sum``
prints, in the order of names. Of a run that is a part of the record it has that of the run's own `digests.json`, which
has those of its files. Whoever can change a file can compute other digests: they tell of damage, and of forgery only
where the digest of the whole is known from elsewhere.

History of the format, newest first:
  1  first version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from openslob.core.disk import read_json, write_atomically
from openslob.core.errors import SlobError
from openslob.record.labels import LABEL_FILE
from openslob.record.model import RecordModel
from openslob.record.versions import RESTORE, Format

DIGESTS_VERSION = 1
DIGESTS_FILE = "digests.json"
# The lock of whoever writes the folder, a page that is made of the record, and what a user calls it afterwards.
NO_PART = frozenset({"running", "report.html", LABEL_FILE})
# What a record consists of: a file of another kind that lies beside is somebody's own.
_OURS = frozenset({".csv", ".json"})


class FileDigest(RecordModel):
    """The SHA-256 of a file, and its length."""

    sha256: str
    bytes: int


class Digests(RecordModel):
    """The digests of the files of a folder by their paths in it, and that of the whole."""

    digests_version: int = DIGESTS_VERSION
    files: Mapping[str, FileDigest]
    sha256: str


FORMAT = Format(Digests, "the digests of a record", "digests_version", DIGESTS_VERSION)


@dataclass(frozen=True)
class Checked:
    """What is not as it was at the end of a record, in words, and the digest of the whole that the files have now.

    ``sha256`` is empty for a record without digests: an old one, or one whose end was never written.
    """

    sha256: str = ""
    changed: tuple[str, ...] = ()


def files_of(folder: Path) -> Iterator[Path]:
    """Yield the files that belong to a record, parts of it included, in the order of their names."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not path.is_symlink() and not hidden and path.name not in NO_PART:
            yield path


def write(folder: Path) -> None:
    """Write the digests of all files of a folder. OSError if they can't be."""
    files = {name: _digest(folder / name) for name in _names(folder)}
    found = Digests(files=files, sha256=_of_all(files))
    write_atomically(folder / DIGESTS_FILE, json.dumps(found.model_dump(mode="json"), indent=1) + "\n")


def remove(folder: Path) -> None:
    """Remove the digests of a record that goes on: those of its files will be others. OSError if they can't be."""
    (folder / DIGESTS_FILE).unlink(missing_ok=True)


def check(folder: Path) -> Checked:
    """Compare all files of a folder with its digests."""
    if not (folder / DIGESTS_FILE).is_file():
        return Checked()
    try:
        known = FORMAT.parse(read_json(folder / DIGESTS_FILE, RESTORE), DIGESTS_FILE)
    except SlobError as error:
        return Checked(changed=(f"{DIGESTS_FILE}: {error}",))
    there = set(_names(folder))
    now = {name: _digest_now(folder / name) for name in known.files if name in there}
    changed = [f"{name}: missing" for name in known.files if name not in there]
    changed += [f"{name}: changed" for name, each in now.items() if each != known.files[name]]
    added = (name for name in there - known.files.keys() if Path(name).suffix in _OURS)
    changed += [f"{name}: added" for name in sorted(added)]
    if _of_all(known.files) != known.sha256:
        changed.append(f"{DIGESTS_FILE}: the digest of the whole is not that of its files")
    for part in (name for name in now if name.endswith(f"/{DIGESTS_FILE}")):
        below = part.removesuffix(DIGESTS_FILE)
        changed += [f"{below}{each}" for each in check(folder / below).changed]
    return Checked(_of_all(now), tuple(changed))


def _names(folder: Path) -> Iterator[str]:
    """Yield the files of a folder; of a part that has digests of its own, these alone."""
    parts = {path.parent for path in folder.rglob(f"?*/{DIGESTS_FILE}")}
    for path in files_of(folder):
        name = path.relative_to(folder).as_posix()
        inside = any(parent in parts for parent in path.parents)
        if name != DIGESTS_FILE and (not inside or (path.name == DIGESTS_FILE and path.parent in parts)):
            yield name


def _digest(path: Path) -> FileDigest:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return FileDigest(sha256=digest.hexdigest(), bytes=file.tell())


def _digest_now(path: Path) -> FileDigest:
    """Return the digest of a file as it is; one of nothing if it can't be read."""
    try:
        return _digest(path)
    except OSError:
        return FileDigest(sha256="", bytes=0)


def _of_all(files: Mapping[str, FileDigest]) -> str:
    lines = "".join(f"{each.sha256}  {name}\n" for name, each in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
