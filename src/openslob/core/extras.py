"""Python packages that only some commands need: whether they are installed, and the command that installs them."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from openslob.core.errors import SlobError

# On no package index: it is installed from a clone.
_UNPUBLISHED = "openslob"
_DRAWING = ("altair", "jinja2", "vl_convert")
# What needs an extra, as the begin of a sentence, and the packages that come with it.
_EXTRAS = {
    "cut": ("storage that can be cut off needs", ("mfusepy",)),
    "distributed": ("many drivers need", ("cryptography", "distributed")),
    "parquet": ("Parquet needs", ("pyarrow",)),
    "pictures": ("pages and pictures need", _DRAWING),
    "web": ("slob live --web needs", ("starlette", "uvicorn", *_DRAWING)),
}


def require_extra(name: str) -> None:
    """Raise SlobError, which says how to install it, unless an extra such as ``web`` is installed."""
    what, packages = _EXTRAS[name]
    if missing := [package for package in packages if find_spec(package) is None]:
        why = f"{what} the Python package {missing[0]}, which is not installed"
        raise SlobError(why, install_command(f"openslob[{name}]"))


def install_command(requirement: str) -> str:
    """Return the command that installs a requirement such as ``openslob[web]`` for this Python.

    What was installed from a folder is installed from there again, in the same way (direct_url.json of PEP 610).
    """
    name, _, extras = requirement.partition("[")
    pip = [sys.executable, "-m", "pip", "install"]
    try:
        source = json.loads(metadata.distribution(name).read_text("direct_url.json") or "{}")
    except metadata.PackageNotFoundError:
        source = {}
    folder = unquote(urlsplit(source.get("url", "")).path)
    if "dir_info" in source and Path(folder).is_dir():
        editable = ["-e"] if source["dir_info"].get("editable") else []
        return shlex.join([*pip, *editable, f"{folder}[{extras}"])
    if name == _UNPUBLISHED:
        return f"in a clone of {name}: {shlex.join([*pip, f'.[{extras}'])}"
    return shlex.join([*pip, requirement])
