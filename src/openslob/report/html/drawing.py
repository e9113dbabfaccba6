"""The library that draws the pictures of a page, kept in the user's cache: to put it together takes over a second."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

from openslob.core import places
from openslob.core.disk import existing_parent, open_regular, write_atomically
from openslob.core.errors import SlobError
from openslob.report.charts.picture import VEGA_LITE

# Exports of the JavaScript bundle that draw.js uses.
_GLOBALS = "window.vegaEmbed = vegaEmbed; window.vega = vega;"
_NAME = "vega.js"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@cache
def library() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script, which gives ``window`` the two that draw."""
    kept = _own_folder()
    script = _read(kept / _NAME) if kept else None
    if script is None:
        script = _put_together()
        if kept:
            with suppress(OSError, SlobError):  # a full or read-only disk: it is put together again next time
                write_atomically(kept / _NAME, f"{_digest(script)}\n{script}", mode=0o600)
    return script


def _put_together() -> str:
    script: str = vl_convert.javascript_bundle(_GLOBALS, VEGA_LITE)
    return script


def _digest(script: str) -> str:
    """Return what stands before a script in the cache: another for each version of what it is made of."""
    return hashlib.sha256("\0".join((version("vl-convert-python"), VEGA_LITE, _GLOBALS, script)).encode()).hexdigest()


def _own_folder() -> Path | None:
    """Return the folder of the cache, which is made if need be; None if there is none of this user's.

    Root may have another user's home: files of root are not left there.
    """
    folder = places.cache()
    try:
        if folder is None or existing_parent(folder).stat().st_uid != os.geteuid():
            return None
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return folder


def _read(path: Path) -> str | None:
    """Return the script in a file that this user alone may write, if it is whole and of these versions; else None."""
    try:
        with open_regular(path) as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
                return None
            digest, _, script = file.read().decode("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return script if digest == _digest(script) else None
