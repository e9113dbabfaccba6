"""The contract of a product's own benchmark program, which drives the server from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from openslob.histogram import Histogram


@dataclass(frozen=True)
class ClientLoad:
    """The load that a benchmark program runs: one-row selects of keys 1 to ``keys`` in each schema's table.

    ``clients`` connections are driven by ``threads`` threads for ``seconds``.
    """

    schemas: int
    keys: int
    clients: int
    threads: int
    seconds: float


@dataclass(frozen=True)
class ClientResult:
    """What a benchmark program did: transactions, their rate per second, and their latency as the client sees it."""

    transactions: int
    per_s: float
    latency: Histogram


class ClientProgram(Protocol):
    """The benchmark program that comes with a product. It drives the server from outside, a query at a time."""

    name: str

    def command(self, load: ClientLoad, folder: Path) -> Sequence[str]:
        """Return the program and its arguments; its input and output files are in ``folder``."""

    def result(self, output: str, folder: Path) -> ClientResult:
        """Return what it did, from its output and ``folder``. SlobError when that can't be read."""
