"""Remedies as they are on this server: a managed service has no SYSDBA, and some servers name no files themselves.

Those of services are from their documentation, whose addresses are in docs/oracle-rds.md and docs/oracle-autonomous.md.
None was tried.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from openslob.engines.capabilities import Capability
from openslob.engines.facts import Finding, ServerFacts
from openslob.engines.oracle.server_facts import ASM, Survey, list_files

_Advice = TypeVar("_Advice", Finding, Capability)
# What SYS_CONTEXT('USERENV', 'CLOUD_SERVICE') is on Autonomous Database, as Hibernate ORM reads it.
_AUTONOMOUS = ("OLTP", "DWCS", "JDCS")
# Statements that add a file, and the parameters by which the server names it (OMF).
_ADDED = re.compile(r"(?:ALTER TABLESPACE \"?(?P<place>[^\" ]+)\"? ADD DATAFILE|ALTER DATABASE ADD LOGFILE) (?=SIZE)")
_NAMES_FILES, _NAMES_LOGS = "db_create_file_dest", ("db_create_online_log_dest_1", "db_recovery_file_dest")
_STATEMENT = re.compile(r"(?:ALTER|BEGIN|CREATE|EXEC|GRANT) ")
# A call by itself may be shown in two lines, an EXEC may not.
_CALL = "rdsadmin.rdsadmin_util."


@dataclass(frozen=True)
class Cloud:
    """A service, and who administers a database of it.

    ``remedies`` are patterns of what an administrator of an ordinary database does, and what is done here instead: the
    first that fits a line replaces it.
    """

    name: str
    administrator: str
    remedies: Sequence[tuple[str, str]]

    def rewrite(self, remedy: str) -> str:
        """Return a remedy as it is here: different lines that become the same are one, and calls are a block."""
        lines, origin = list[str](), {"": ""}
        for line in remedy.splitlines():
            changed = self._rewrite_line(line)
            if changed not in origin or (origin[changed] == line and _STATEMENT.match(changed)):
                lines.append(changed)
                origin[changed] = line
        if lines and lines[0].startswith(_CALL):
            lines = [f"BEGIN {lines[0]}", *lines[1:], "END;", "/"]
        return "\n".join(lines)

    def _rewrite_line(self, line: str) -> str:
        for pattern, instead in self.remedies:
            if found := re.fullmatch(pattern, line):
                return found.expand(instead)
        return line


_NO_ROOT = (r".*root container", "nobody gets into the root container here")
_WINDOW = (r"EXEC DBMS_SCHEDULER\.DISABLE.*", "run outside of the maintenance window")
RDS = Cloud(
    "Amazon RDS",
    "as the master user",
    (
        (r"GRANT (\w+) ON SYS\.(\S+) TO \"?(.*?)\"?;", rf"{_CALL}grant_sys_object('\2', '\3', '\1');"),
        (r"GRANT ALTER SYSTEM TO .*", f"EXEC {_CALL}checkpoint;\n-- just before the run"),
        (r"ALTER DATABASE ADD LOGFILE .*?SIZE (\w+);", rf"EXEC {_CALL}add_logfile(p_size => '\1');"),
        (r"ALTER SYSTEM DISABLE RESTRICTED SESSION;", f"EXEC {_CALL}restricted_session(p_enable => false);"),
        (
            r"ALTER SYSTEM SET \"?([\w$]+)\"? = (.*?)(?: SCOPE = SPFILE)?(?: and restart the instance|;)?",
            r"in the DB parameter group, if it has the parameter: \1 = \2",
        ),
        (r"(-- and) restart the instance(.*)", r"\1 reboot the DB instance\2"),
        (r"run spcreate.sql, then (.*)", r"add the option STATSPACK to the option group, then \1"),
        _WINDOW,
        _NO_ROOT,
    ),
)
_DECIDED = "the service decides this: take it into account when you compare servers"
AUTONOMOUS = Cloud(
    "Autonomous Database",
    "as ADMIN",
    (
        (r"GRANT SELECT ON SYS\.\S+ TO (.*)", r"GRANT SELECT_CATALOG_ROLE TO \1"),
        (r"(GRANT ALTER SYSTEM TO .*)", "\\1\n-- which ends sessions left behind: nobody may run a checkpoint here"),
        (r"(ALTER SYSTEM SET (?:max_idle_time|result_cache_mode) = .*)", r"\1"),
        (r"ALTER SYSTEM SET processes .*", "use fewer sessions, or give the database more CPUs"),
        (r"ALTER SYSTEM DISABLE RESTRICTED SESSION;", "set the operation mode to Read/Write in the console"),
        (r"ALTER TABLESPACE .* (?:ADD DATAFILE|AUTOEXTEND) .*", "give the database more storage in the console"),
        (r"ALTER (?:SYSTEM|DATABASE|TABLESPACE) .*", _DECIDED),
        (r"-- and restart .*", ""),
        _WINDOW,
        _NO_ROOT,
    ),
)


def find_cloud(survey: Survey) -> Cloud | None:
    """Return the managed service that the server says it is, if it says one."""
    if survey.row("autonomous").get("service") in _AUTONOMOUS:
        return AUTONOMOUS
    return RDS if survey.row("rds").get("is_rds") else None


def advise(survey: Survey, advice: _Advice) -> _Advice:
    """Return it with the remedy that there is on this server, and who may execute that if it is a statement."""
    cloud = find_cloud(survey)
    if cloud is None:
        lines = advice.remedy.splitlines()
        return replace(advice, remedy="\n".join(_name_file(survey, line, at) for at, line in enumerate(lines, 1)))
    remedy = cloud.rewrite(advice.remedy)
    return replace(advice, remedy=remedy, by=cloud.administrator if advice.by and _STATEMENT.match(remedy) else "")


def name_service(survey: Survey, facts: ServerFacts) -> ServerFacts:
    """Return the facts with the managed service in them, if it is one."""
    cloud = find_cloud(survey)
    if cloud is None:
        return facts
    how = {"service": cloud.name, **facts.connection}
    return replace(facts, connection=how, direct_io_remedy=cloud.rewrite(facts.direct_io_remedy))


def _name_file(survey: Survey, line: str, number: int) -> str:
    """Return a statement that adds a file with its name, beside the files that are there.

    It stays as it is where the server names files itself, and where nobody can tell.
    """
    found = _ADDED.match(line)
    if not found or not survey.is_given("parameters"):
        return line
    if any(map(survey.find_setting, (_NAMES_FILES, *(() if found["place"] else _NAMES_LOGS)))):
        return line
    place = found["place"] or str(survey.row("identity")["default_tablespace"])
    files = list_files(survey, place)
    if not files:
        return line
    name = f"{place.lower()}_{len(files) + 1}.dbf" if found["place"] else f"slob_redo_{number}.log"
    in_asm = files[0].startswith(ASM)
    path = files[0].partition("/")[0] if in_asm else re.sub(r"[^/\\]*$", "", files[0]) + name
    return f"{found[0]}'{path}' {line[found.end() :]}"
