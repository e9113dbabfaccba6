"""What a product's own benchmark program must offer, where it has one: it drives the server from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from openslob.histogram import Histogram


@dataclass(frozen=True)
class ClientLoad:
    """What a product's own benchmark program shall do: one-row selects of keys 1 to ``keys`` in each schema's table.

    ``clients`` connections are driven by ``threads`` threads for ``seconds``.
    """

    schemas: int
    keys: int
    clients: int
    threads: int
    seconds: float


@dataclass(frozen=True)
class ClientResult:
    """What such a program did: transactions, their rate per second, and their latency as the client sees it."""

    transactions: int
    per_s: float
    latency: Histogram


class ClientProgram(Protocol):
    """The benchmark program that comes with a product, which drives its server from outside, a query at a time."""

    name: str

    def command(self, load: ClientLoad, folder: Path) -> Sequence[str]:
        """Program and arguments; what it needs, and what it leaves behind, lies in ``folder``."""

    def result(self, output: str, folder: Path) -> ClientResult:
        """What it did, from its output and ``folder``. SlobError when that can't be read."""
