"""What the help shows first: the commands by what they are for, and of each command the options that most users need.

What is not here is in `--help-all`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

# The commands that most users need, and the others by what they are for, each in a few words.
FIRST: Mapping[str, str] = {
    "demo": "what this host can do: a server, its data, eight runs; 3 minutes",
    "load": "make the test data in a database",
    "run": "one load: its figures, and what limits them",
    "sweep": "many loads: where the peak is, and what updates cost",
    "show": "a result again: one screen, or all of it with --all",
    "compare": "what differs between two results, and whether that is sure",
}
OTHERS: Mapping[str, Mapping[str, str]] = {
    "MEASURE": {
        "check": "what can be measured",
        "server": "servers that slob runs",
        "observe": "a load of any program",
        "endure": "for hours and days",
        "watch": "a server, by the second",
        "raw": "storage alone",
        "kubernetes": "a command as a job",
        "drop": "remove the test data",
    },
    "LOOK": {
        "list": "the records",
        "tag": "words to find one by",
        "rename": "give one another name",
        "rm": "remove one",
        "live": "as it runs, or replayed",
        "report": "a page with pictures",
        "history": "a server over time",
        "export": "for other programs",
        "awr": "AWR, Statspack reports",
        "config": "settings in use",
    },
    "COMPARE": {
        "ab": "two sides until decided",
        "lab": "what settings cost",
        "baseline": "records to compare with",
        "verify": "figures with raw data",
    },
    "PROVE": {
        "crash": "that commits survive",
        "failover": "what an outage costs",
    },
}
# The order of all lists of commands.
COMMANDS = (*chain(FIRST, *OTHERS.values()), "help")


@dataclass(frozen=True)
class Usual:
    """The options of a command that most users need, by heading, and examples beside the one of its docstring."""

    options: Mapping[str, str]
    examples: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the options in this order."""
        return tuple(chain.from_iterable(names.split() for names in self.options.values()))


# Of commands with many options; those of the others are few enough to be all in the help.
USUAL: Mapping[str, Usual] = {
    "slob run": Usual(
        {
            "SERVER": "--target --set",
            "LOAD": "--sessions --update-pct --target-ops --mode",
            "TIME": "--run-time --warmup",
            "RESULT": "--name --require --live --all --json",
        },
        (
            "slob run --target q1 --mode pio --run-time 5m --require mode",
            "slob run --target q1 --sessions 16 --target-ops 2000",
        ),
    ),
    "slob sweep": Usual(
        {
            "SERVER": "--target --set",
            "LOADS": "--sessions --update-pct --ready --find-max-iops-under",
            "TIME": "--run-time --repeats --dry-run --resume",
            "RESULT": "--name --live --all --json",
        },
        ("slob sweep --ready petals --dry-run", "slob sweep --target q1 --find-max-iops-under 500us --at p99"),
    ),
    "slob load": Usual(
        {
            "SERVER": "--target --engine --ask-password",
            "DATA": "--schemas --scale --scan-table-sz",
            "TIME": "--load-parallel-degree",
            "RESULT": "--all --json",
        },
        ("slob load --target q1 --schemas 1 --scale 10G", "slob load --target q1 --load-parallel-degree 2"),
    ),
    "slob check": Usual(
        {
            "SERVER": "--target --ask-password",
            "FOR": "--mode --sessions --drivers",
            "PROVE": "--prove --output",
            "RESULT": "--json",
        },
        ("slob check --target q1 --ask-password", "slob check --target q1 --prove"),
    ),
    "slob ab": Usual(
        {
            "SERVER": "--target",
            "LOAD": "--sessions --update-pct",
            "TIME": "--until-decided --for --run-time",
            "RESULT": "--same-within --figure --inconclusive --name --json",
        },
        ("slob ab before after --until-decided --for 10m", "slob ab './use old' './use new' --target q1 --for 20m"),
    ),
    "slob lab": Usual(
        {
            "SERVER": "--target",
            "SETTINGS": "--ready",
            "LOADS": "--loads --sessions --cache",
            "TIME": "--for --dry-run --resume",
            "RESULT": "--name",
        },
        ("slob lab work_mem=64MB --for 20m --dry-run", "slob lab --ready list"),
    ),
    "slob endure": Usual(
        {
            "SERVER": "--target",
            "LOAD": "--sessions --update-pct --target-ops --probe",
            "TIME": "--for --warmup --resume",
            "RESULT": "--name --require --live --json",
        },
        ("slob endure --target q1 --for 30m --sessions 16 --live", "slob endure --resume latest"),
    ),
    "slob observe": Usual(
        {
            "SERVER": "--target --ask-password",
            "LOAD": "--workload --scale --clients",
            "TIME": "--for",
            "RESULT": "--name --require --all --json",
        },
        ("slob observe --target q1 --for 60s", "slob observe --target q1 -- pgbench -c 8 -T 60 bench"),
    ),
    "slob watch": Usual(
        {
            "SERVER": "--target",
            "SHOW": "--filter --sort --top",
            "TIME": "--interval --count --every --for",
            "RESULT": "--record --json",
        },
        ("slob watch --target q1 --interval 5s --record", "slob watch --every 15m --for 3d --run '--sessions 8'"),
    ),
    "slob crash": Usual(
        {
            "SERVER": "--engine --version --server",
            "CRASHES": "--kind --cycles --fault --control",
            "LOAD": "--sessions --rows",
            "RESULT": "--name --require --all --json",
        },
        ("slob crash --sessions 4 --cycles 20", "slob crash --control lying-disk"),
    ),
    "slob failover": Usual(
        {
            "SERVERS": "--target --nodes --synchronous",
            "OUTAGES": "--cycles --on-outage --repair",
            "LOAD": "--sessions --rate",
            "RESULT": "--name --require --json",
        },
    ),
    "slob config": Usual({"FILES": "--config --profile", "RESULT": "--json"}),
    "slob compare": Usual(
        {
            "GATE": "--fail-if --thresholds --baseline --inconclusive",
            "CONDITIONS": "--anyway --may-differ",
            "PRECISION": "--see",
            "RESULT": "--all --format --results",
        },
        ("slob compare 11 12", "slob compare latest --baseline main --fail-if 'pio_read_per_s < -5%'"),
    ),
    "slob raw orion": Usual(
        {
            "STORAGE": "--testname --num-disks --size --io-engine",
            "LOAD": "--run --size-small --size-large --write",
            "TIME": "--duration",
            "RESULT": "--results --require --json",
        },
    ),
    "slob raw calibrate": Usual(
        {
            "STORAGE": "--size --io-engine --buffered",
            "LOAD": "--block-size --latency-limit --at",
            "TIME": "--repeats --run-time",
            "RESULT": "--name --require --json",
        },
    ),
    "slob raw compare": Usual(
        {
            "STORAGE": "--data-dir --io-engine",
            "LOAD": "--in-flight --block-size --engines --update-pct",
            "TIME": "--run-time --repeats",
            "RESULT": "--name --require --json",
        },
    ),
    "slob awr": Usual(
        {
            "FIGURES": "--columns --event --sort",
            "PICTURE": "--petals --group-by",
            "RESULT": "--output --format --jobs",
        },
        ("slob awr old.html new.html -o reports.xlsx", "slob awr --columns list"),
    ),
}
