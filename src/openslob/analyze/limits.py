"""What may limit a load, by the names that records have, and what the figures leave open."""

from __future__ import annotations

STORAGE = "storage"
CPU = "server's CPU"
CPU_QUOTA = "CPU quota"
IO_CAP = "I/O cap"
HIDDEN_QUOTA = "CPU quota that can't be read"
OTHERS_CPU = "CPU that others used"
UNKNOWN_WAIT = "CPU that others used, or not"
UNKNOWN_USER = "CPU, whoever used it"
UNKNOWN_QUOTA = "CPU that others used, or a quota"
EITHER = "CPU or storage"
# What the figures leave open, and why.
UNDECIDED = {
    UNKNOWN_WAIT: "others used most of the CPU, and whether the server waited for it is not known",
    UNKNOWN_USER: "the server's sessions did not use most of the CPU, and what its other processes used is not known",
    UNKNOWN_QUOTA: "the server waited for a CPU, of which others used most, but whether it had a quota can't be read",
    EITHER: "sessions waited for a CPU and for storage for about as long, and either may be the limit",
}
GIVEN_RATE = "given rate"
THINK_TIME = "think time"
CLIENT = "driver, protocol or network"
LOCKS, INSTANCES = "wait for locks", "wait for other instances"
