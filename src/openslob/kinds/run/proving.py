"""Asks what only a real server can answer, and makes a file of the answers that its owner can send to others."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from openslob._version import __version__
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.engines.base import Engine
from openslob.engines.facts import ServerFacts
from openslob.engines.proofs import Inquiry, NotAskedError, ProofAnswer, Proving
from openslob.report.format import shorten

# The version of the file's format.
PROOFS_VERSION = 1
STOPPED = "stopped before it was asked"
_DIGITS = 8
# An error may repeat a whole statement.
_LONGEST = 240
# An IPv4 address; a server's version has five numbers.
_ADDRESS = r"(?<!\.)(?:\d{1,3}\.){3}\d{1,3}(?!\.\d)"


@dataclass(frozen=True)
class AskedQuestion:
    """A question with its answer, and how long that took; ``stopped``: it was not asked any more."""

    question: Inquiry
    answer: ProofAnswer
    seconds: float
    stopped: bool = False


@contextmanager
def open_proving(engine: Engine) -> Iterator[Proving]:
    """Return the questions of an engine, under the target's lock; what they make is gone when the block ends.

    Raises:
        UsageError: The engine has no such questions.
        SlobError: The server can't be reached, or somebody else uses the target.

    """
    found = engine.proving()
    if found is None:
        why = f"--prove: {engine.name} has nothing to prove, because its contract tests run on real servers"
        raise UsageError(why, "leave --prove out")
    with engine.exclusive("check --prove"), found as proving:
        yield proving


def ask(question: Inquiry, interrupt: Interrupt) -> AskedQuestion:
    """Ask a question; after a stop it is not asked any more. A failure keeps no other from being asked."""
    if interrupt.requested:
        return AskedQuestion(question, ProofAnswer(None, STOPPED), 0.0, stopped=True)
    began = time.monotonic()
    try:
        answer = question.ask()
    except NotAskedError as error:
        answer = ProofAnswer(None, str(error))
    except SlobError as error:
        answer = ProofAnswer(None, shorten(error.what, _LONGEST))
    except Exception as error:  # the server said what nobody had thought of: that is an answer, too
        answer = ProofAnswer(None, f"slob did not understand the server: {error!r}")
    return AskedQuestion(question, answer, time.monotonic() - began)


def document(
    engine: Engine, facts: ServerFacts, proving: Proving, asked: Sequence[AskedQuestion], with_names: bool
) -> dict[str, Any]:
    """Return the answers as plain values. Unless ``with_names``, names are replaced by ones that say nothing.

    The same name has the same replacement everywhere in one file, and another one in the next.
    """
    values = {
        "proofs_version": PROOFS_VERSION,
        "openslob_version": __version__,
        "asked_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "engine": engine.name,
        "product": facts.product,
        "version": facts.version,
        "stand_in": facts.stand_in,
        "target": engine.target,
        "connection": dict(facts.connection),
        "block_size": facts.block_size,
        "cache_bytes": facts.cache_bytes,
        "direct_io": facts.direct_io,
        "about": dict(proving.about),
        "settings": dict(facts.settings),
        "answers": [_record(one) for one in asked],
    }
    return values if with_names else _without_names(values, proving)


def _record(one: AskedQuestion) -> dict[str, Any]:
    return {
        "number": one.question.number,
        "name": one.question.name,
        "question": one.question.text,
        "holds": one.answer.holds,
        "seen": one.answer.seen,
        "figures": dict(one.answer.figures),
        "seconds": round(one.seconds, 3),
    }


def _without_names(values: Mapping[str, Any], proving: Proving) -> dict[str, Any]:
    salt = secrets.token_hex()

    def replace_name(name: str) -> str:
        return "name-" + hashlib.sha256(f"{salt}{name.lower()}".encode()).hexdigest()[:_DIGITS]

    known = sorted({name for name in proving.names if name}, key=len, reverse=True)
    any_of = "|".join([*map(re.escape, known), _ADDRESS])
    pattern = re.compile(rf"(?<![\w$#])(?:{any_of})(?![\w$#])", re.IGNORECASE)

    def clean(value: Any) -> Any:  # noqa: ANN401 - any plain value
        if isinstance(value, str):
            return pattern.sub(lambda match: replace_name(match[0]), value)
        if isinstance(value, Mapping):
            return {name: clean(each) for name, each in value.items()}
        return [clean(each) for each in value] if isinstance(value, list) else value

    settings = {
        name: value if proving.is_plain(value) else replace_name(value) for name, value in values["settings"].items()
    }
    return {**clean({**values, "settings": {}, "target": replace_name(values["target"])}), "settings": settings}
