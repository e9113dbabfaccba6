"""A record as one file, with all that its figures can be checked with: `slob export --bundle` and `slob verify`.

A bundle is a zip archive: `manifest.json` (what it is, with the SHA-256 of each file), `requirements.txt` (the Python
packages of the program that made it) and the record's folder below `record/`. The archive's comment is the SHA-256 of
all bytes before it, so no byte of the file can change unnoticed. Whoever can write a bundle can write its checksums,
too: they tell of damage, not of forgery, unless the checksum is known from elsewhere.

Archives come from others and are not trusted: nothing is written before names, kinds and sizes of all members are
known to be harmless, and only into a new folder.

History of the format, newest first:
  1  first version.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import IO, BinaryIO

from openslob._version import __version__
from openslob.core.disk import open_regular, refuse_planted, require_space
from openslob.core.errors import SlobError
from openslob.core.secrets import redact_document, redact_text
from openslob.record import finding, store
from openslob.record.digests import FileDigest, files_of
from openslob.record.finding import Found
from openslob.record.model import RecordModel
from openslob.record.versions import Format

BUNDLE_VERSION = 1
MANIFEST, LOCK, RECORD = "manifest.json", "requirements.txt", "record"
_SEAL = re.compile(rb"sha256:([0-9a-f]{64})")
_SEAL_BYTES = len("sha256:") + 64
_CHUNK = 1024 * 1024
# Far beyond any record: a week of load is 450 MB, an archive of numbers is a tenth of its content.
MOST_FILES, MOST_MANIFEST_BYTES, MOST_BYTES, MOST_RATIO = 20_000, 16 * 1024**2, 64 * 1024**3, 200
# What a small archive may grow to, whatever its ratio.
_ALWAYS_BYTES = 16 * 1024**2
# A file is written once and is mostly small: what must stay free beside a load need not beside it.
_RESERVE_TIMES = 64
_RENAME = "rename it, or move it elsewhere"
_NOT_OURS = "name a file that `slob export --bundle` wrote"


class Manifest(RecordModel):
    """What a bundle is of: the kind of the record and its id, who made it, and its files by their names in it."""

    bundle_version: int = BUNDLE_VERSION
    kind: str
    id: str
    openslob_version: str
    python: str
    platform: str
    files: Mapping[str, FileDigest]


FORMAT = Format(Manifest, "the manifest of a bundle", "bundle_version", BUNDLE_VERSION)


@dataclass(frozen=True)
class Opened:
    """A bundle that was unpacked: its manifest, the record, its own checksum, and what was changed since it was made.

    ``record`` is None if its folder can't be found because of these changes.
    """

    manifest: Manifest
    record: Found | None
    sha256: str
    changed: tuple[str, ...]


def save(found: Found, path: Path) -> str:
    """Write the bundle of a record, all of it or nothing, and return its checksum.

    Raises:
        SlobError: The record is in progress, or can't be read, or the bundle can't be written.

    """
    folder = found.folder
    if (pid := store.running_pid(folder)) is not None:
        raise SlobError(f"{folder.name} is still in progress (process {pid})", "wait for its end")
    files = list(files_of(folder))
    # With manifest and packages.
    if len(files) + 2 > MOST_FILES:
        raise SlobError(f"{folder} has {len(files):,} files: a bundle has at most {MOST_FILES:,}")
    for each in files:
        if not _is_harmless(_name_in(folder, each)):
            raise SlobError(
                f"{each} can't be in a bundle: its name or its folder's has characters that verify refuses", _RENAME
            )
    require_space(path.parent, sum(each.stat().st_size for each in files) // 4, "a bundle", _RESERVE_TIMES)
    refuse_planted(path)
    temporary = path.with_name(f".slob-{token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            _write(file, found, files, zipfile.ZIP_DEFLATED)
        if not _is_safe_size(temporary):
            # What shrinks to so little would be refused where it comes from others.
            with temporary.open("wb") as file:
                _write(file, found, files, zipfile.ZIP_STORED)
            if not _is_safe_size(temporary):
                raise SlobError(f"{folder} is too large for a bundle, which unpacks to at most {MOST_BYTES:,} bytes")
        seal = _seal(temporary)
        temporary.replace(path)
    except OSError as error:
        raise SlobError(f"{path} can't be written: {error.strerror}", "free space, or name another file") from error
    finally:
        temporary.unlink(missing_ok=True)
    return seal


def _name_in(folder: Path, path: Path) -> str:
    """Return the name that a file of a record has in its bundle."""
    return f"{RECORD}/{folder.name}/{path.relative_to(folder).as_posix()}"


def _is_safe_size(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        return _is_fit(archive, path.stat().st_size)


def _write(file: BinaryIO, found: Found, paths: list[Path], compression: int) -> None:
    folder, files = found.folder, dict[str, FileDigest]()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for path in paths:
            name = _name_in(folder, path)
            files[name] = _add(archive, name, path)
        files[LOCK] = _add_text(archive, LOCK, list_packages())
        manifest = Manifest(
            kind=str(found.kind),
            id=folder.name,
            openslob_version=__version__,
            python=platform.python_version(),
            platform=platform.platform(),
            files=files,
        )
        text = json.dumps(manifest.model_dump(mode="json"), indent=1, ensure_ascii=False)
        if _add_text(archive, MANIFEST, text).bytes > MOST_MANIFEST_BYTES:
            raise SlobError(f"{folder} has too many files with long names for a bundle", _RENAME)
        archive.comment = b"sha256:" + b"0" * 64


def list_packages() -> str:
    """Return the Python packages that this program runs with, as pip reads them."""
    packages = [each.metadata for each in distributions()]  # read once: a package's name and its version read it each
    found = {(each["Name"] or "").lower(): each["Version"] for each in packages}
    return "".join(f"{name}=={version}\n" for name, version in sorted(found.items()) if name)


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> FileDigest:
    """Add a file; of a document or a text without what looks like a password, if that was put there by others."""
    if path.suffix == ".json":
        document = store.read_document(path)
        clean = redact_document(document)
        if clean != document:
            return _add_text(archive, name, json.dumps(clean, indent=1, ensure_ascii=False))
    if path.suffix == ".txt":
        return _add_text(archive, name, redact_text(path.read_bytes().decode("utf-8", errors="replace")))
    digest, length = hashlib.sha256(), 0
    with path.open("rb") as source, archive.open(_member(name, archive.compression), "w", force_zip64=True) as target:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            length += len(chunk)
            target.write(chunk)
    return FileDigest(sha256=digest.hexdigest(), bytes=length)


def _add_text(archive: zipfile.ZipFile, name: str, text: str) -> FileDigest:
    raw = text.encode("utf-8")
    archive.writestr(_member(name, archive.compression), raw)
    return FileDigest(sha256=hashlib.sha256(raw).hexdigest(), bytes=len(raw))


def _member(name: str, compression: int) -> zipfile.ZipInfo:
    """Return a member without a time of its own: the same record makes the same bytes."""
    info = zipfile.ZipInfo(name)
    info.compress_type = compression
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    return info


def _seal(path: Path) -> str:
    """Put the checksum of all that is before it at the end of a file, and return it."""
    with path.open("r+b") as file:
        digest = _digest(file)
        file.seek(-64, os.SEEK_END)
        file.write(digest.encode())
        file.flush()
        os.fsync(file.fileno())
    return digest


def _digest(file: IO[bytes]) -> str:
    """Return the SHA-256 of all bytes of a file but those of its seal."""
    left = max(file.seek(0, os.SEEK_END) - _SEAL_BYTES, 0)
    file.seek(0)
    digest = hashlib.sha256()
    while left and (chunk := file.read(min(_CHUNK, left))):
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest()


def is_bundle(path: Path) -> bool:
    """Return whether a file may be a bundle, by its first bytes."""
    try:
        with open_regular(path) as file:
            return file.read(2) == b"PK"
    except OSError:
        return False


def unpack(path: Path, into: Path) -> Opened:
    """Check a bundle and unpack its record into the folder ``into``, which is new and empty.

    Raises:
        SlobError: It is none, it is of a later version, or its members could do harm. Nothing is unpacked then.

    """
    with _open(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _SEAL_BYTES, 0))
        sealed = _SEAL.fullmatch(file.read())
        digest = _digest(file)
        try:
            with zipfile.ZipFile(file) as archive:
                members = _check_members(path, archive, size)
                manifest = _manifest(path, archive, members)
                # The manifest is not in itself.
                changed = list(_unpack(archive, members, manifest, into))
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OverflowError) as error:
            raise SlobError(f"{path} is damaged, or not a bundle: {error}", _NOT_OURS) from error
        except OSError as error:
            raise SlobError(f"{path} can't be unpacked: {error.strerror}", "free space for temporary files") from error
    if sealed is None or sealed[1].decode() != digest:
        changed = changed or ["the archive itself: no file in it differs"]
    return Opened(manifest, finding.at(into / RECORD / manifest.id), digest, tuple(changed))


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    try:
        with open_regular(path) as file:
            yield file
    except FileNotFoundError as error:
        raise SlobError(f"there is no file {path}", _NOT_OURS) from error
    except OSError as error:
        raise SlobError(f"{path} can't be read: {error.strerror}", _NOT_OURS) from error


def _check_members(path: Path, archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name. SlobError if a name leads elsewhere, a member is no file, or all are too large."""
    members: dict[str, zipfile.ZipInfo] = {}
    for each in archive.infolist():
        kind = stat.S_IFMT(each.external_attr >> 16)
        if not _is_harmless(each.filename) or kind not in (0, stat.S_IFREG) or each.filename in members:
            raise _refuse(path, f"its member {each.filename!r} is not a plain file inside the archive")
        if each.flag_bits & 1 or each.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _refuse(path, f"its member {each.filename!r} is encrypted, or compressed in another way")
        members[each.filename] = each
    folders = {str(folder) for name in members for folder in PurePosixPath(name).parents}
    for name in members.keys() & folders:
        raise _refuse(path, f"its member {name!r} is a file and a folder")
    if not _is_fit(archive, size):
        total = sum(each.file_size for each in members.values())
        raise _refuse(path, f"its {len(members):,} members would be {total:,} bytes, from {size:,}")
    return members


def _is_fit(archive: zipfile.ZipFile, size: int) -> bool:
    """Return whether what an archive of so many bytes unpacks to is no more than a record's is."""
    sizes = [each.file_size for each in archive.infolist()]
    return len(sizes) <= MOST_FILES and sum(sizes) <= min(MOST_BYTES, max(MOST_RATIO * size, _ALWAYS_BYTES))


def _is_harmless(name: str) -> bool:
    parts = name.split("/")
    plain = name.isprintable() and not re.search(r'[\\:*?"<>|]', name) and len(name) < 1000
    short = all(0 < len(part.encode()) < 250 and part != ".." for part in parts)
    return plain and str(PurePosixPath(name)) == name and short


def _refuse(path: Path, why: str) -> SlobError:
    return SlobError(f"{path} is not unpacked: {why}", _NOT_OURS)


def _manifest(path: Path, archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]) -> Manifest:
    member = members.get(MANIFEST)
    if member is None or member.file_size > MOST_MANIFEST_BYTES:
        raise SlobError(f"{path} is not a bundle: it has no manifest.json", _NOT_OURS)
    try:
        document = json.loads(archive.read(member))
    except (ValueError, RecursionError) as error:
        raise SlobError(f"{path} is damaged: its manifest.json is not JSON", _NOT_OURS) from error
    manifest = FORMAT.parse(document, f"manifest.json of {path}")
    if not _is_harmless(manifest.id) or "/" in manifest.id:
        raise _refuse(path, f"the record's name {manifest.id!r} can't be a folder's")
    return manifest


def _unpack(
    archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], manifest: Manifest, into: Path
) -> Iterator[str]:
    """Unpack all files, and yield what each is whose bytes are not those that the manifest says."""
    require_space(into, sum(each.file_size for each in members.values()), "a bundle", _RESERVE_TIMES)
    for name in sorted(members.keys() - manifest.files.keys() - {MANIFEST}):
        yield f"{name}: not in the manifest"
    for name, said in manifest.files.items():
        if name not in members:
            yield f"{name}: missing"
            continue
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            sha256 = copy_member(archive, members[name], target)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            yield f"{name}: damaged ({error})"
            continue
        if sha256 != said.sha256:
            yield f"{name}: changed"


def copy_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> str:
    """Copy a file of the archive to ``target``, which must not exist, and return its SHA-256.

    BadZipFile if it is longer than the archive says.
    """
    digest, left = hashlib.sha256(), member.file_size
    with archive.open(member) as source, target.open("xb") as file:
        while chunk := source.read(min(_CHUNK, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise zipfile.BadZipFile("it is longer than the archive says")
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()
