"""The LUNs of a test: the paths in ``NAME.lun``, their sizes, and the part of each that makes the simulated volume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openslob.errors import UsageError
from openslob.storage.orion.options import Options, SimulatedArray
from openslob.storage.testfile import TestFile
from openslob.units import format_bytes

LUN_SUFFIX = ".lun"
# LUNs of one array differ by some blocks; more than this, and an even choice of LUNs is no longer one of blocks.
_UNEVEN = 0.01


@dataclass(frozen=True)
class Volume:
    """``files`` together, ``size`` bytes of each: what the requests go to."""

    files: tuple[TestFile, ...]
    size: int

    @property
    def total(self) -> int:
        """Bytes of the whole volume."""
        return self.size * len(self.files)


def paths_in(file: Path) -> tuple[Path, ...]:
    """The paths in a .lun file, one per line, blank lines left out. UsageError when there are none or one twice."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from error
    paths = tuple(Path(line.strip()) for line in lines if line.strip())
    if not paths:
        raise UsageError(f"{file} names no LUN", "it has the path of a file or device on each line")
    real = [path.resolve() for path in paths]
    for path, target in zip(paths, real, strict=True):
        if real.count(target) > 1:
            raise UsageError(f"{file} names {path} more than once")
    return paths


def volume(files: Sequence[TestFile], options: Options) -> Volume:
    """The volume that ``files`` make. UsageError when their sizes, or a stripe, can't be simulated.

    A random request chooses a LUN, each as likely as any other, then a block of it. That is even over a striped
    volume, which uses the same part of each LUN; over a concatenated one only if all LUNs are equally long.
    """
    sizes = [file.size for file in files]
    smallest, largest = min(sizes), max(sizes)
    if options.simulate is SimulatedArray.CONCAT and smallest < largest * (1 - _UNEVEN):
        raise UsageError(
            f"LUNs of {format_bytes(smallest)} to {format_bytes(largest)} can't be simulated one after another: fio "
            "chooses LUNs evenly, and would read the small ones more often",
            "give LUNs of one size, or --simulate raid0, which uses the same part of each",
        )
    if options.simulate is SimulatedArray.RAID0 and len(files) > 1 and options.stripe % options.size_large:
        raise UsageError(
            f"a stripe of {format_bytes(options.stripe)} is not a multiple of large requests of "
            f"{format_bytes(options.size_large)}: fio can't split a request over two LUNs",
            "give --stripe or --size-large so that it is",
        )
    unit = max(options.size_large, options.stripe if options.simulate is SimulatedArray.RAID0 else 0)
    if smallest < unit:
        raise UsageError(f"{files[sizes.index(smallest)].label} is shorter than {format_bytes(unit)}")
    return Volume(tuple(files), smallest // unit * unit)
