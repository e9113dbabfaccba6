"""Rights that a user has and lacks, and the statements of grants.sql that give them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from openslob.engines.facts import RIGHTS, Finding
from openslob.engines.oracle.connection import PACKAGE
from openslob.engines.oracle.names import grant_select, identifier
from openslob.engines.oracle.server_facts import Survey, has_right, is_pluggable
from openslob.engines.oracle.versions import EVENT_HISTOGRAM, SLEEP_FOR_ALL
from openslob.engines.sql import read_statements

# Sections of grants.sql, and what is not known without their views.
SECTIONS = {
    "figures": "figures of the engine",
    "figures_12_1_0_2": "how long single reads took",
    "sessions": "waits and other sessions",
    "plans": "plans",
    "facts": "settings and sizes of the server",
}
GRANT = re.compile(r"^GRANT SELECT ON SYS\.(\S+) TO .*;$", re.MULTILINE)
_NEEDED = ("CREATE TABLE", "CREATE PROCEDURE")


def sysdba(survey: Survey) -> str:
    """Return who may grant rights on SYS's views, and where."""
    name = survey.row("container").get("con_name")
    inside = is_pluggable(survey) and name
    return f"as SYSDBA, after ALTER SESSION SET CONTAINER = {name}" if inside else "as SYSDBA"


def sysdba_of_root(survey: Survey) -> str:
    """Return who may change the instance itself."""
    return "as SYSDBA" if sysdba(survey) == "as SYSDBA" else "as SYSDBA in the root container"


def findings(survey: Survey) -> Iterator[Finding]:
    """Yield the missing rights: those that a run needs, and in one finding those that make more figures known."""
    user, by = user_name(survey), sysdba(survey)
    if missing := ", ".join(name for name in _NEEDED if not has_right(survey, name)):
        yield Finding(RIGHTS, f"user {user} lacks {missing}", f"GRANT {missing} TO {user};", True, by=by)
    if survey.connection.version < SLEEP_FOR_ALL and not survey.row("may_sleep").get("granted"):
        why = f"user {user} may not sleep: before Oracle 18 that is a right on DBMS_LOCK, given to the user itself"
        yield Finding("sleep", why, list_grants("sleeping", user)[0], True, by=by)
    if not has_right(survey, "ALTER SYSTEM"):
        why = (
            "this user may not run a checkpoint before the window, so earlier writes may fall into it, and may not end "
            "sessions that a killed driver left"
        )
        yield Finding("checkpoint", why, list_grants("settling", user)[0], False, by=by)
    yield from _check_views(survey, user, by)


def _check_views(survey: Survey, user: str, by: str) -> Iterator[Finding]:
    unseen = {section: tuple(_list_unseen(survey, section)) for section in SECTIONS}
    lost = [what for section, what in SECTIONS.items() if unseen[section]]
    views = [view for section in SECTIONS for view in unseen[section]]
    if views:
        number = "one of the server's views" if len(views) == 1 else f"{len(views)} of the server's views"
        why = f"this user may not read {number}, so that less will be known of: {', '.join(lost)}"
        yield Finding("monitor", why, "\n".join(f"{grant_select(view, user)};" for view in views), False, by=by)


def _list_unseen(survey: Survey, section: str) -> Iterator[str]:
    if section == "figures_12_1_0_2" and survey.connection.version < EVENT_HISTOGRAM:
        return
    for view in GRANT.findall(read_statements(PACKAGE, "grants")[section]):
        # Views of all instances are asked in a cluster only.
        if (not view.startswith("GV_") or survey.row("instance").get("parallel") == "YES") and not survey.may_read(
            view
        ):
            yield view


def list_grants(section: str, user: str) -> list[str]:
    """Return the statements of a section of grants.sql for a user."""
    return read_statements(PACKAGE, "grants")[section].format(user=user, tablespace="{tablespace}").splitlines()


def user_name(survey: Survey) -> str:
    """Return the user's name as an identifier."""
    return identifier(str(survey.row("identity")["user_name"]))
