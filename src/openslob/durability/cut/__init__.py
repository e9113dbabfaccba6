"""Storage that loses at a cut what was not synced, and lies or fails if asked: a file system by FUSE."""

from openslob.durability.cut.faults import FAULTS, Fault, Files
from openslob.durability.cut.layer import CutStatistics, Survival
from openslob.durability.cut.storage import CutStorage, remove_stale, require_fuse

__all__ = ["FAULTS", "CutStatistics", "CutStorage", "Fault", "Files", "Survival", "remove_stale", "require_fuse"]
