"""Which wait events are idle: a process waiting for work, not work waiting.

AWR leaves them out of its top lists; Statspack knows those of its own time only, so that the daemons of later
releases top its list (``LGWR worker group idle``, ``lreg timer``).
"""

from __future__ import annotations

import re

_IDLE = re.compile(
    r"(sql\*net message from (client|dblink)|sql\*net vector data from client|rdbms ipc message|.* timer|.*\bidle\b.*"
    r"|.* idle|jobq slave wait|class slave wait|heartbeat redo informer|dispatcher timer|.*: slave idle.*"
    r"|virtual circuit (status|next request)|pipe get|px deq: (execution msg|execute reply|join ack|msg fragment).*"
    r"|wait for unread message on (broadcast|b).*|streams aq: (waiting|qmn).*|data guard: .*|gcs remote message"
    r"|ges remote message|ksv master wait|watchdog main loop|vkrm idle|single-task message|null event"
    r"|pl/sql lock timer|wakeup time manager|lock manager wait for remote message)"
)


def is_idle(event: str) -> bool:
    """Whether processes that wait for ``event`` wait for work."""
    return _IDLE.fullmatch(event.lower()) is not None


def is_cpu(event: str) -> bool:
    """Whether the row of a top list is CPU time, not a wait."""
    return event.lower() in {"db cpu", "cpu time", "background cpu time"}
