"""Capabilities of a server: whether each is present, why it matters, how to turn it on, and which licence it needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from openslob.core.errors import SlobError
from openslob.engines.facts import Finding


@dataclass(frozen=True)
class Capability:
    """One capability of a server, as it is now.

    Attributes:
        name: The name by which it is required and consented to.
        present: Whether the server offers it to this user.
        lack: The state of the server when it is missing, such as ``track_io_timing is off``.
        why: What a run loses without it, such as ``the engine's read latency will be unknown``.
        remedy: How to turn it on; a statement for the server can be used as it stands.
        by: Who may run the remedy and where; empty if any user may.
        licence: The licence without which it must not be used; None when it comes with the server.

    """

    name: str
    present: bool
    lack: str
    why: str
    remedy: str
    licence: str | None = None
    by: str = ""


def require(capabilities: Iterable[Capability], name: str, consented: frozenset[str] = frozenset()) -> None:
    """Check that a server offers a capability and that it may be used.

    ``consented`` names the licensed capabilities that the user allowed: their presence is no proof of a licence.

    Raises:
        SlobError: The capability is missing, unknown to the server's engine, or licensed and not consented to.

    """
    capability = next((offered for offered in capabilities if offered.name == name), None)
    if capability is None:
        raise SlobError(f"servers of this kind have no {name}")
    licence = f"; it needs the licence of the {capability.licence}" if capability.licence else ""
    if not capability.present:
        raise SlobError(
            f"{capability.lack}: {capability.why}",
            f"{capability.remedy.rstrip(';') if licence else capability.remedy}{licence}",
        )
    if capability.licence and name not in consented:
        others = f" (only that of {', '.join(sorted(consented))})" if consented else ""
        why = f"{name} may be used only with the licence of the {capability.licence}, "
        why += f"and its use was not consented to{others}"
        raise SlobError(why, f"with that licence, give --consent {name}; without it, {capability.why}")


def find_lacking(capabilities: Iterable[Capability]) -> Iterator[Finding]:
    """Yield a finding for each missing capability. Licensed ones are left out: nobody has to buy one."""
    for capability in capabilities:
        if not capability.present and not capability.licence:
            yield Finding(
                capability.name,
                f"{capability.lack}: {capability.why}",
                capability.remedy,
                blocking=False,
                by=capability.by,
            )


def merge_capabilities(of_instances: Sequence[Sequence[Capability]]) -> list[Capability]:
    """Return the capabilities of a cluster: present only if all instances have it.

    A missing capability is described as on the first instance that lacks it.
    """
    merged: dict[str, Capability] = {}
    for capability in chain.from_iterable(of_instances):
        before = merged.setdefault(capability.name, capability)
        if before.present and not capability.present:
            merged[capability.name] = capability
    return list(merged.values())
