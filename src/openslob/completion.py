"""What a shell may complete: options, and names of records, servers, figures, verdicts and the like.

A shell asks while the user types: nothing here prints, fails, or connects to anything, and the answer comes at once. To
import a command takes longer than that. So the first answer about a command notes its options in the user's cache, and
later ones come from there, without anything of openslob but this file (`bench/starts.py`).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import Any

from openslob._version import __version__
from openslob.core import places
from openslob.core.disk import write_atomically
from openslob.core.errors import SlobError

Completion = Callable[[str], list[str]]

# Set by the shell when it wants completions: how, and the words so far.
COMPLETE, _WORDS = "_SLOB_COMPLETE", ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
# Shells evaluate what they are offered, each in its own way: a name with other signs is never offered.
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
# What no user types: a completion that looks up what there is tells its name then, so that it can be noted.
_WHICH = "\0"
# What the id of a record begins with, before its name.
_TIME = re.compile(r"\d{8}-\d{6}-")
_LATEST = "latest"
# With so many commands a program is the list of all, and not one of them.
_LIST = 2


def typed_words() -> list[str]:
    """Return the words of the command line, or of the one that a shell completes; the last may not be finished yet."""
    if COMPLETE not in os.environ:
        return sys.argv[1:]
    return _line().split()[1:]


def _line() -> str:
    return next((os.environ[name] for name in _WORDS if name in os.environ), "")


def _split_line() -> tuple[list[str], str]:
    """Return the finished words of the line that is completed, and the beginning of the one that is not."""
    words = _line().split()
    number = os.environ.get("COMP_CWORD", "")
    is_begun = int(number) < len(words) if number.isdigit() else not _line()[-1:].isspace()
    finished, begun = (words[:-1], words[-1]) if is_begun and len(words) > 1 else (words, "")
    return finished[1:], begun.lstrip("'\"")


def one_of(choices: Iterable[str]) -> Completion:
    """Return the completion of a word that is one of these."""
    return lambda incomplete: _offer(choices, incomplete)


def _offer(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name)]


def _looked_up(function: Completion) -> Completion:
    """Return a completion that looks up what there is whenever it is asked; nothing where that can't be read."""

    @wraps(function)
    def asked(incomplete: str) -> list[str]:
        if incomplete == _WHICH:
            return [function.__name__]
        with suppress(SlobError, OSError, ValueError):
            return function(incomplete)
        return []

    LOOKED_UP[function.__name__] = asked
    return asked


# By their names.
LOOKED_UP: dict[str, Completion] = {}


@_looked_up
def records(incomplete: str) -> list[str]:
    """Return the word for the latest record, the names of records, and their ids, the latest first."""
    folder = _results()
    ids = sorted((path.name for path in folder.iterdir() if path.name[0] != "." and path.is_dir()), reverse=True)
    names = dict.fromkeys(_label(folder / each).get("name") or _TIME.sub("", each) for each in ids)
    return _offer(dict.fromkeys((_LATEST, *names, *ids)), incomplete)


@_looked_up
def tags(incomplete: str) -> list[str]:
    """Return the tags of records."""
    labels = map(_label, _results().glob("[!.]*"))
    return _offer(sorted({tag for label in labels for tag in label.get("tags") or ()}), incomplete)


@_looked_up
def servers(incomplete: str) -> list[str]:
    """Return the names of the managed servers; of several targets, the last one is completed."""
    before, comma, last = incomplete.rpartition(",")
    there = (path.name for path in sorted((places.home() / "servers").glob("*")) if path.is_dir())
    return [f"{before}{comma}{name}" for name in _offer(dict.fromkeys(("embedded", *there)), last)]


@_looked_up
def baselines(incomplete: str) -> list[str]:
    """Return the names of the baselines in the directory that the command names."""
    directory = Path(_given("--dir") or os.environ.get("SLOB_BASELINES") or "baselines")
    return _offer(sorted(path.name for path in directory.iterdir() if path.is_dir()), incomplete)


def _results() -> Path:
    return Path(_given("--results") or os.environ.get("SLOB_RESULTS") or places.results())


def _given(option: str) -> str:
    """Return the value of an option in the line that is completed; empty if it has none."""
    words = typed_words()
    values = [after for word, after in pairwise(words) if word == option]
    values += [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
    return values[-1] if values else ""


def _label(folder: Path) -> Mapping[str, Any]:
    """Return the label of a record (`record.labels`); none if it can't be read."""
    with suppress(OSError, ValueError):
        label = json.loads((folder / "label.json").read_text(encoding="utf-8"))
        return label if isinstance(label, dict) else {}
    return {}


def answer() -> tuple[str, int] | None:
    """Return what a shell is to print and its exit code; None if the options of the command are not noted yet."""
    asked, _, shell = os.environ[COMPLETE].partition("_")
    file = _notes() if asked == "complete" and shell in _IN_SHELLS else None
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        if file:
            return _IN_SHELLS[shell](complete(json.loads(file.read_text(encoding="utf-8")), *_split_line()))
    return None


def complete(known: Mapping[str, Any], finished: Iterable[str], begun: str) -> dict[str, str]:
    """Return what a word that is ``begun`` may become after these words, each with what it is about.

    ``known`` are the options and commands of the program, as `note` describes them.
    """
    command, places_taken, option = known, 0, None
    for word in finished:
        if option is not None:
            option = None
        elif word.startswith("-"):
            option = next((each for each in command["params"] if word in (each["options"] or ())), None)
            option = None if option and option["flag"] else option
        elif "commands" in command:
            command = command["commands"][word]
        else:
            places_taken += 1
    if option is not None:
        return dict.fromkeys(_values(option, begun), "")
    if begun.startswith("-"):
        named = {
            name: each["help"] for each in command["params"] if not each["hidden"] for name in each["options"] or ()
        }
        return {name: about for name, about in named.items() if name.startswith(begun)}
    if "commands" in command:
        return {name: each["help"] for name, each in command["commands"].items() if name.startswith(begun)}
    arguments = [each for each in command["params"] if each["options"] is None]
    arguments = arguments[places_taken:] or [each for each in arguments[-1:] if each["nargs"] != 1]
    return dict.fromkeys(_values(arguments[0], begun), "") if arguments else {}


def _values(param: Mapping[str, Any], begun: str) -> list[str]:
    return (LOOKED_UP[param["looked_up"]] if param["looked_up"] else one_of(param["words"]))(begun)


def _in_bash(found: Mapping[str, str]) -> tuple[str, int]:
    return "\n".join(found), 0


def _in_zsh(found: Mapping[str, str]) -> tuple[str, int]:
    # The shell evaluates this line: of what a word is about, only signs that mean nothing to it are left.
    about = {name: re.sub(r"[^\w ,.%=/-]", "", text) for name, text in found.items()}
    items = "\n".join(f'"{name}":"{text}"' if text else f'"{name}"' for name, text in about.items())
    return f"_arguments '*: :(({items}))'" if items else "_files", 0


def _in_fish(found: Mapping[str, str]) -> tuple[str, int]:
    if os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return "", 0 if found else 1
    return "\n".join(f"{name}\t{' '.join(text.split())}" if text else name for name, text in found.items()), 0


_IN_SHELLS = {"bash": _in_bash, "zsh": _in_zsh, "fish": _in_fish}


def note(program: Any) -> None:  # noqa: ANN401 - typer's own
    """Note the options of the command that is completed, for the next time; nothing where that can't be written."""
    file, commands = _notes(), list(getattr(program, "commands", ()))
    if file is None or (commands != [_named()] if _named() else len(commands) < _LIST):
        return
    described = _describe(program, program.make_context("slob", [], resilient_parsing=True))
    with suppress(SlobError, OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        for old in file.parent.glob(f"{file.name.split('@', maxsplit=1)[0]}@*"):
            old.unlink()
        write_atomically(file, json.dumps(described))


def _named() -> str:
    """Return the command that the line names, whose options are completed; empty if its name is completed itself."""
    return next((word for word in _split_line()[0] if not word.startswith("-")), "")


def _notes() -> Path | None:
    """Return the file with the options of the command that is completed, as this installation has them."""
    cache, name = places.cache(), _named()
    if cache is None or (name and not _PLAIN.fullmatch(name)):
        return None
    # Another version, or another package beside this one, may have other commands and options.
    changed = [folder.stat().st_mtime_ns for folder in map(Path, sys.path) if folder.is_dir()]
    changed += [path.stat().st_mtime_ns for path in (Path(__file__).parent / "cli").glob("*.py")]
    return cache / "completion" / f"{name or 'slob'}@{__version__}-{hash(tuple(changed)):x}.json"


def _describe(command: Any, ctx: Any) -> dict[str, Any]:  # noqa: ANN401 - typer's own
    """Return the options of a command and of those below it as plain values."""
    below = {name: _describe(child, ctx) for name, child in getattr(command, "commands", {}).items()}
    params = [_describe_param(each, ctx) for each in command.params]
    return {"help": command.get_short_help_str(), "params": params, **({"commands": below} if below else {})}


def _describe_param(param: Any, ctx: Any) -> dict[str, Any]:  # noqa: ANN401
    is_option = param.param_type_name == "option"
    which = [str(each.value) for each in param.shell_complete(ctx, _WHICH)]
    words = [] if which else [str(each.value) for each in param.shell_complete(ctx, "") if each.type == "plain"]
    return {
        "name": param.name,
        "options": [*param.opts, *param.secondary_opts] if is_option else None,
        "flag": bool(getattr(param, "is_flag", False)),
        "nargs": param.nargs,
        "help": getattr(param, "help", "") or "",
        "hidden": bool(param.hidden),
        "looked_up": which[0] if which and which[0] in LOOKED_UP else None,
        "words": words,
    }
