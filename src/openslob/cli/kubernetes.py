"""`slob kubernetes`: a command of slob as a job of Kubernetes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from openslob.cli import application, find_needed
from openslob.cli.console import notify, write
from openslob.core.errors import UsageError
from openslob.fleet import MOST_LOCAL
from openslob.fleet.kubernetes import TARGET, TLS, Job, objects, scheduler_of

# A label of DNS, with room for what is put behind it.
_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,51}[a-z0-9])?")


def _check_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise typer.BadParameter(f"{text!r} can't be a name: use up to 53 of a-z, 0-9 and -, and begin with a letter")
    return text


COMMAND = Annotated[
    list[str],
    typer.Argument(metavar="COMMAND", help="The command of slob, with its options, after two dashes."),
]
IMAGE = Annotated[
    str,
    typer.Option(metavar="IMAGE", help="The image of the Containerfile, by the name that the cluster knows."),
]
DRIVERS = Annotated[
    int,
    typer.Option(min=0, max=MOST_LOCAL, metavar="N", help="Deal the sessions over N pods; 0: the job drives them."),
]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON, as it does without.")]
NAME = Annotated[str, typer.Option(parser=_check_name, metavar="NAME", help="Name of the job; each runs once.")]


def kubernetes(
    ctx: typer.Context,
    command: COMMAND,
    image: IMAGE,
    drivers: DRIVERS = 0,
    name: NAME = "slob-run",
    _json: JSON = True,
) -> None:
    """Print a command as a job of Kubernetes, as JSON for kubectl. The server's URL is in a secret: slob-target.

    Example: slob kubernetes --image openslob:1 --drivers 4 -- run --sessions 64
    """
    words = [*command[:1], *(["--drivers", scheduler_of(name)] if drivers else []), *command[1:]]
    context = _read(ctx.find_root(), words)
    if drivers and context.params["drivers"] != scheduler_of(name):
        raise UsageError("the pods are the drivers of the job", "leave out the --drivers after the two dashes")
    if any(word.partition("=")[0] == "--target" for word in words):
        raise UsageError(f"the target of a job is in the secret {TARGET}, its key url", "leave out --target")
    job = Job(name, image, tuple(words), drivers, any(param.name == "target" for param in context.command.params))
    secrets = [
        *([f"{TARGET} (url)"] if job.has_target else []),
        *([f"{TLS} (ca.pem, cert.pem, key.pem)"] if drivers else []),
    ]
    if secrets:
        notify(f"the namespace must have secret {' and '.join(secrets)}: slob help many-drivers")
    write(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects(job))}, indent=1))


def _read(root: Any, words: Sequence[str]) -> Any:  # noqa: ANN401 - typer's own
    """Return the context of a command with its options: what is wrong is said here, and not by a pod."""
    command: Any = typer.main.get_command(application(find_needed(words)))
    rest = list(words)
    while hasattr(command, "commands"):
        if not rest or rest[0] not in command.commands:
            raise UsageError(f"{words[0]!r} is not a complete command of slob", "`slob --help` lists them")
        command = command.commands[rest.pop(0)]
    return command.make_context(words[0], rest, parent=root)
