"""Tar archives, unpacked without leaving their folder on every Python: tarfile's filters are not in all of them."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from openslob.core.errors import SlobError


class OutsideError(SlobError):
    """A member of an archive lies outside the folder that it is unpacked into."""


def unpack(archive: tarfile.TarFile, place: Path) -> None:
    """Unpack files, folders and links to what is below ``place``; other links and devices are left out.

    Files keep the right to be run, and nothing else of their modes and owners. OutsideError for a member whose path
    leads elsewhere, also through a link.
    """
    root = place.resolve()
    links = []
    for member in archive:
        path = (root / member.name).resolve()
        if not path.is_relative_to(root):
            raise OutsideError(f"{member.name} leads out of the archive's folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        if member.isdir():
            path.mkdir(exist_ok=True)
        elif member.issym():
            path.symlink_to(member.linkname)
            links.append(path)
        elif content := archive.extractfile(member):
            # A second name of a file becomes a copy of it.
            with content, path.open("wb") as file:
                shutil.copyfileobj(content, file)
            path.chmod(0o755 if member.mode & 0o100 else 0o644)
    # Only now it is known where each leads: others may be on its way.
    for outside in [link for link in links if not link.resolve().is_relative_to(root)]:
        outside.unlink()
