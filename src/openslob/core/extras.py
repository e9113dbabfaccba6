"""The command that installs the Python packages which only some commands need."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

# On no package index: it is installed from a clone.
_UNPUBLISHED = "openslob"


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
