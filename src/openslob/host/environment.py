"""The description of the host for the record: facts that affect results. Unknown facts are None with a reason."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openslob._version import __version__
from openslob.core.host import FigureUnknownError, Host
from openslob.host.device import mount_of, parse_mounts, whole_disk
from openslob.host.model import text_of
from openslob.host.this_host import HERE

# The key of the model's name in /proc/cpuinfo: x86, arm boards, mips, power, s390.
_CPU_KEYS = ("model name", "Model", "cpu model", "cpu", "processor 0")


def environment(data_directory: Path | None, host: Host = HERE) -> dict[str, Any]:
    """Return host, CPU, memory, kernel, virtualisation, and the file system and device under the data, as plain values.

    Sizes are in bytes. ``unknown`` maps the dotted name of each fact that is None to the reason.
    """
    root, own = host.root, host.identify()
    facts: dict[str, Any] = {
        "host": own["host"],
        "os": _os_name(root) or own["os"],
        "kernel": own["kernel"],
        "machine": own["machine"],
        "cpu": _cpu(root, own),
        "memory": _memory(root, own),
        "virtualization": _virtualization(root),
        "clock_source": text_of(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "data": None if data_directory is None else _data(data_directory, host),
        "python": platform.python_version(),
        "openslob": __version__,
    }
    unknown = {name: "this system does not report it" for name in _missing(facts)}
    if data_directory is None:
        unknown["data"] = "the location of the server's data is not known"
    elif facts["data"]["device"] is None:
        unknown["data.device"] = facts["data"].pop("why_no_device")
    return {**facts, "unknown": unknown}


def _missing(facts: dict[str, Any], prefix: str = "") -> list[str]:
    names = []
    for name, value in facts.items():
        if value is None:
            names.append(prefix + name)
        elif isinstance(value, dict):
            names += _missing(value, f"{prefix}{name}.")
    return names


def _os_name(root: Path) -> str | None:
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', text_of(root / "etc/os-release") or "", re.MULTILINE)
    return match[1] if match else None


def _cpuinfo(root: Path) -> dict[str, str]:
    """Return the fields of the first processor in /proc/cpuinfo."""
    lines = (text_of(root / "proc/cpuinfo") or "").splitlines()
    pairs = [tuple(part.strip() for part in line.split(":", 1)) for line in reversed(lines) if ":" in line]
    return {key: value for key, value in pairs}


def _cpu(root: Path, own: Mapping[str, Any]) -> dict[str, Any]:
    info = _cpuinfo(root)
    return {
        "model": next((info[key] for key in _CPU_KEYS if key in info), None) or own["processor"],
        "online": own["online"],
        "cores": own["cores"],
        "usable": own["usable"],
        "governor": text_of(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "smt": text_of(root / "sys/devices/system/cpu/smt/control"),
    }


def _memory(root: Path, own: Mapping[str, Any]) -> dict[str, Any]:
    fields = dict(line.split(":", 1) for line in (text_of(root / "proc/meminfo") or "").splitlines() if ":" in line)

    def number(key: str) -> int | None:
        return int(fields[key].split()[0]) if key in fields else None

    page_kib = number("Hugepagesize")
    return {
        "total_bytes": own["total_bytes"],
        "swap_bytes": own["swap_bytes"],
        "huge_pages": number("HugePages_Total"),
        "huge_pages_free": number("HugePages_Free"),
        "huge_page_bytes": page_kib * 1024 if page_kib is not None else None,
        "transparent_huge_pages": _select(text_of(root / "sys/kernel/mm/transparent_hugepage/enabled")),
    }


def _select(text: str | None) -> str | None:
    """Return the choice in brackets of a text such as ``none [mq-deadline] kyber``, or the text if it has none."""
    match = re.search(r"\[(.+?)\]", text or "")
    return match[1] if match else text


def _virtualization(root: Path) -> dict[str, Any]:
    """Return whether this kernel is a ``guest``, the ``platform`` named by the firmware, and the kind of container."""
    names = [text_of(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name")]
    kind = text_of(root / "sys/hypervisor/type")
    flags = _cpuinfo(root).get("flags")
    guest = True if kind else None if flags is None else "hypervisor" in flags.split()
    return {"guest": guest, "platform": " ".join(filter(None, [*names, kind])) or None, "container": _container(root)}


def _container(root: Path) -> str | None:
    """Return the kind of container that this process runs in, by its traces; ``none found`` if there are none.

    None where no trace could be seen.
    """
    if (root / "run/.containerenv").exists():
        return "podman"
    if (root / ".dockerenv").exists():
        return "docker"
    groups = text_of(root / "proc/1/cgroup")
    if groups is None and (root / "proc").exists():
        return None
    return next((kind for kind in ("kubepods", "docker", "lxc", "containerd") if kind in (groups or "")), "none found")


def _data(directory: Path, host: Host) -> dict[str, Any]:
    mount = mount_of(host.resolve(directory), parse_mounts(text_of(host.root / "proc/self/mountinfo") or ""))
    facts: dict[str, Any] = {
        "directory": str(directory),
        "mount_point": str(mount.point) if mount else None,
        "file_system": mount.file_system if mount else None,
        "mount_options": mount.options if mount else None,
        "source": mount.source if mount else None,
    }
    try:
        return {**facts, "device": _device(host.find_device(directory))}
    except FigureUnknownError as error:
        return {**facts, "device": None, "why_no_device": str(error)}


def _device(folder: Path) -> dict[str, Any]:
    """Return the attributes of the device in /sys; ``disk`` is the whole disk of a partition."""
    disk = whole_disk(folder)
    sectors, depth = text_of(folder / "size"), text_of(disk / "queue/nr_requests")
    rotational, block = text_of(disk / "queue/rotational"), text_of(disk / "queue/logical_block_size")
    return {
        "name": folder.name,
        "disk": disk.name,
        "model": text_of(disk / "device/model") or text_of(disk / "dm/name"),
        "bytes": int(sectors) * 512 if sectors else None,
        "rotational": rotational == "1" if rotational else None,
        "scheduler": _select(text_of(disk / "queue/scheduler")),
        "queue_depth": int(depth) if depth else None,
        "logical_block_bytes": int(block) if block else None,
        "write_cache": text_of(disk / "queue/write_cache"),
        "read_ahead_kib": int(ahead) if (ahead := text_of(disk / "queue/read_ahead_kb")) else None,
    }
