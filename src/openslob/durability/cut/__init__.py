"""Storage that loses at a cut what was not synced, and lies about syncs if asked: a file system by FUSE."""

from openslob.durability.cut.layer import CutStatistics, Survival
from openslob.durability.cut.storage import CutStorage, remove_stale, require_fuse

__all__ = ["CutStatistics", "CutStorage", "Survival", "remove_stale", "require_fuse"]
