"""The files of a configuration: slob.toml of the user and of the working directory, and the profile that is chosen.

The order, the strongest first: the working directory's profile, its file, the user's profile, the user's file. A file
that is named takes the place of the one in the working directory.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from openslob.config.files import EXTERNAL_SCRIPT, read_shell, script_of, target_of_services, translate
from openslob.config.layers import Layer, known_layer, nearest
from openslob.config.parameters import Setting
from openslob.config.slob_toml import ConfigSection, SlobToml, read_toml, variable_of
from openslob.core import places
from openslob.core.disk import is_there
from openslob.core.errors import UsageError
from openslob.core.secrets import STARS, Address, redact_url
from openslob.core.workload import PRICE

DEFAULT_FILE = Path("slob.toml")
CONFIG_VARIABLE, PROFILE_VARIABLE = "SLOB_CONFIG", "SLOB_PROFILE"
# Of options that are in no file.
BASELINES_VARIABLE, INCONCLUSIVE_VARIABLE = "SLOB_BASELINES", "SLOB_INCONCLUSIVE"
TARGET_VARIABLE, ENGINE_VARIABLE, CONSENT_VARIABLE, HOST_VARIABLE, DIRECT_VARIABLE = map(
    variable_of, ("target", "engine", "consent", "host", "direct")
)
# Others than the file's owner may read it, or replace what it says.
_OPEN_TO_OTHERS = 0o077
_ROOT = 0


@dataclass(frozen=True)
class Configuration:
    """What the files give: settings by environment variable, and the layers of parameters, the weakest first.

    ``files`` are those that were read, the strongest last. ``notices`` say which they are, for user and record.
    """

    settings: Mapping[str, Setting]
    workload: Sequence[Layer]
    files: Sequence[Path]
    notices: Sequence[str]


@dataclass(frozen=True)
class _File:
    path: Path
    content: SlobToml
    unasked: bool

    @property
    def shown(self) -> str:
        return f"./{self.path}" if self.unasked and not self.path.is_absolute() else str(self.path)


def names(text: str | None) -> frozenset[str]:
    """Return the names in a setting that takes several, separated by commas."""
    return frozenset(name.strip().lower() for name in (text or "").split(",") if name.strip())


def environment_with(environment: Mapping[str, str], target: str = "", engine: str = "") -> Mapping[str, str]:
    """Return the environment with the target or the engine that a command or a call itself names, if it does.

    A price in a file may be that of another target.
    """
    named = {TARGET_VARIABLE: redact_url(target), ENGINE_VARIABLE: engine}
    if not (target or engine):
        return environment
    others = {name: value for name, value in environment.items() if name not in named}
    return {**others, **{name: value for name, value in named.items() if value}}


def user_file() -> Path:
    """Return the path of the user's file, which need not exist."""
    return places.configuration() / DEFAULT_FILE


def read_configuration(config: Path | None, environment: Mapping[str, str]) -> Configuration:
    """Read the user's file, and ``config`` or the one in the working directory, with the profile of the environment.

    Raises:
        UsageError: A file can't be read or has a wrong key; no file has the profile; others may read a password.

    """
    files = list(_files(config, environment))
    profile = environment.get(PROFILE_VARIABLE, "")
    if profile and not any(profile in each.content.profiles for each in files):
        raise _no_profile(profile, files)
    sections, notices = list[ConfigSection](), list[str]()
    for file in files:
        chosen = file.content.profiles.get(profile) if profile else None
        used = [file.content.section, *([chosen] if chosen else [])]
        if file.unasked or chosen:
            notices.append(f"{file.shown} is read{f', profile {profile}' if chosen else ''}")
        notices += [notice for section in used for notice in section.notices]
        for section in used:
            _require_private(file.path, section)
        sections += used
    layers = [_with_own_price(number, sections, environment, notices) for number in range(len(sections))]
    return Configuration(_strongest(sections), layers, [each.path for each in files], notices)


def _with_own_price(
    number: int, sections: Sequence[ConfigSection], environment: Mapping[str, str], notices: list[str]
) -> Layer:
    """Return the parameters of a section; without the price, with a notice, if that is of another target.

    A price is of the target that a file names with it or before it, if it does. The environment says which target the
    command has, if that is not from the files.
    """
    layer, named = sections[number].workload, _strongest(sections[: number + 1])
    price = layer.get(PRICE)
    others = any({TARGET_VARIABLE, ENGINE_VARIABLE} & each.settings.keys() for each in sections[number + 1 :])
    if price is None or not (others or _is_other(named, environment)):
        return layer
    if not (environment.get(variable_of(PRICE)) or any(PRICE in each.workload for each in sections[number + 1 :])):
        notices.append(f"{price.where}: the price is that of another target and is not used for this one")
    return {name: setting for name, setting in layer.items() if name != PRICE}


def _is_other(named: Mapping[str, Setting], environment: Mapping[str, str]) -> bool:
    """Return whether the environment has another target or engine than these settings, if these have one."""
    target, engine = (environment.get(name, "") for name in (TARGET_VARIABLE, ENGINE_VARIABLE))
    if not (target or engine):
        return False
    if ENGINE_VARIABLE in named:
        return engine != named[ENGINE_VARIABLE].value
    return TARGET_VARIABLE in named and _address(named[TARGET_VARIABLE].value) != _address(target)


def _address(target: str) -> str:
    """Return a target without any trace of a password: it is the same one with and without it."""
    return redact_url(target).replace(f":{STARS}", "")


def _files(config: Path | None, environment: Mapping[str, str]) -> Iterator[_File]:
    if (user := user_file()).is_file() and not _same(user, config or DEFAULT_FILE):
        yield _File(user, _read(user, environment), unasked=True)
    if config or DEFAULT_FILE.is_file():
        path = config or DEFAULT_FILE
        if config is None:
            _require_own(path)
        yield _File(path, _read(path, environment), unasked=config is None)


def _require_own(path: Path) -> None:
    """Raise UsageError if others could have written a file that nobody named: it says which server to connect to."""
    if why := _explain_others(path):
        raise UsageError(f"./{path} {why}", f"name it on purpose (--config {path}), or work in another directory")


def _explain_others(path: Path) -> str:
    """Return why others could have written a file; empty if they could not."""
    file, folder = path.stat(), path.absolute().parent.stat()
    if file.st_uid not in (os.geteuid(), _ROOT):
        return "belongs to another user"
    if file.st_mode & stat.S_IWOTH:
        return "may be written by others"
    if folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX:
        return "is in a directory that others may write to"
    return ""


def _same(user: Path, other: Path) -> bool:
    return is_there(str(other)) and user.samefile(other)


def _read(path: Path, environment: Mapping[str, str]) -> SlobToml:
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"the configuration file {path} can't be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{str(path)[:40]!r} can't be a configuration file: no file can have that name") from None
    if is_toml(path):
        return read_toml(text, str(path), path.parent)
    given = read_shell(text, str(path), environment)
    settings, notices = translate(given)
    target = target_of_services(given, notices)
    script = script_of(given, path.parent, notices)
    if script and (why := _explain_others(path)):
        raise UsageError(f"{script.where}: {script.key} is a program, and the file {why}", "make it yours alone")
    layer = known_layer(settings, notices)
    named = {TARGET_VARIABLE: target, EXTERNAL_SCRIPT: script}
    return SlobToml(ConfigSection({key: one for key, one in named.items() if one}, layer, tuple(notices)), {})


def is_toml(path: Path) -> bool:
    """Return whether a file is read as TOML and not as shell assignments."""
    return path.suffix.lower() == ".toml"


def _no_profile(profile: str, files: Sequence[_File]) -> UsageError:
    known = sorted({name for file in files for name in file.content.profiles})
    near = nearest(profile, known)
    remedy = f"did you mean {near}?" if near else f"there are {', '.join(known)}" if known else ""
    where = " or ".join(file.shown for file in files) or f"./{DEFAULT_FILE} or {user_file()}, which do not exist"
    return UsageError(f"there is no profile {profile!r} in {where}", remedy or f"add a table [profiles.{profile}]")


def _require_private(path: Path, section: ConfigSection) -> None:
    """Raise UsageError if the section's target has a password and others than the file's owner may read it."""
    setting = section.settings.get(TARGET_VARIABLE)
    if setting is None:
        return
    try:
        target = Address.parse(setting.value)
    except UsageError as error:
        raise UsageError(f"{setting.where}: {error.what}", error.remedy) from None
    if target.has_password and path.stat().st_mode & _OPEN_TO_OTHERS:
        raise UsageError(
            f"{setting.where}: the target has a password, and others may read the file",
            f"`chmod 600 {path}`; or leave the password out: --ask-password, or the password file of the engine's own",
        )


def _strongest(sections: Sequence[ConfigSection]) -> dict[str, Setting]:
    """Return the strongest of each setting. A target replaces a weaker engine, and an engine a weaker target."""
    merged: dict[str, Setting] = {}
    for section in sections:
        given = {name: setting for name, setting in section.settings.items() if setting.value}
        for one, other in ((TARGET_VARIABLE, ENGINE_VARIABLE), (ENGINE_VARIABLE, TARGET_VARIABLE)):
            if one in given and other not in given:
                merged.pop(other, None)
        merged.update(given)
    return merged
