"""All rows, in the order in which the page shows them."""

from __future__ import annotations

from faults.fault import Fault
from faults.rows.driver import DRIVER
from faults.rows.drivers import DRIVERS
from faults.rows.durability import DURABILITY
from faults.rows.labs import LABS
from faults.rows.loads import LOADS
from faults.rows.managed import MANAGED
from faults.rows.others import OTHERS
from faults.rows.records import RECORDS
from faults.rows.rights import RIGHTS
from faults.rows.server import SERVER
from faults.rows.signals import SIGNALS

FAULTS: tuple[Fault, ...] = (
    *SERVER,
    *RIGHTS,
    *LOADS,
    *SIGNALS,
    *DRIVER,
    *DRIVERS,
    *MANAGED,
    *OTHERS,
    *DURABILITY,
    *LABS,
    *RECORDS,
)
