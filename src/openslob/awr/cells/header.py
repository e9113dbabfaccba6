"""Readers of columns of the file name and the header, and of what was found out about the report."""

from __future__ import annotations

from openslob.awr.cells.base import ColumnReader, ColumnValue, Subject, absent, near
from openslob.awr.model import ReportKind
from openslob.awr.numbers import Number
from openslob.awr.verdicts import verdicts


def file(subject: Subject) -> ColumnValue:
    """Return the path of the report."""
    return ColumnValue(subject.report.path)


def named(attribute: str) -> ColumnReader:
    """Return a reader of a field of the file name."""

    def read(subject: Subject) -> ColumnValue:
        value = getattr(subject.name, attribute)
        return ColumnValue(value) if value not in (None, "") else absent("not in the file name")

    return read


def kind(subject: Subject) -> ColumnValue:
    """Return the kind of report."""
    return ColumnValue(subject.report.kind.value)


def header(attribute: str, heading: str) -> ColumnReader:
    """Return a reader of a header field; ``heading`` names it in reasons."""

    def read(subject: Subject) -> ColumnValue:
        value = getattr(subject.report.header, attribute)
        if value is None:
            return absent(f"{heading} is blank or not in the report")
        return ColumnValue(value.value if isinstance(value, Number) else value)

    return read


def instance(subject: Subject) -> ColumnValue:
    """Return the names of the instances, separated by spaces."""
    names = [entry.name for entry in subject.report.header.instances if entry.name]
    return ColumnValue(" ".join(names)) if names else absent("Instance is blank in the report")


def host(subject: Subject) -> ColumnValue:
    """Return the names of the hosts: of every instance in a global report."""
    names = [entry.host for entry in subject.report.header.instances if entry.host]
    if subject.report.kind is ReportKind.AWR_GLOBAL and names:
        return ColumnValue(" ".join(names))
    return header("host", "Host Name")(subject)


def block_size(subject: Subject) -> ColumnValue:
    """Return the block size in bytes, from the cache sizes or else from the parameters."""
    if (size := subject.report.header.block_size) is not None:
        return ColumnValue(size)
    parameter = subject.report.parameters.get("db_block_size")
    if parameter and parameter.begin.isdecimal() and len(parameter.begin) < 7:
        return ColumnValue(int(parameter.begin), source="init.ora Parameters")
    return absent("neither Cache Sizes nor db_block_size is in the report")


def elapsed_s(subject: Subject) -> ColumnValue:
    """Return the seconds between the two snapshots."""
    elapsed = subject.report.elapsed_s
    return ColumnValue(elapsed.value) if elapsed else absent("Elapsed is not in the report")


def parameter(name: str) -> ColumnReader:
    """Return a reader of an initialization parameter's value at the first snapshot."""

    def read(subject: Subject) -> ColumnValue:
        setting = subject.report.parameters.get(name)
        if setting is not None:
            return ColumnValue(setting.begin)
        return absent(f"{name}: not listed in init.ora Parameters{near(name, subject.report.parameters)}")

    return read


def failed_verdicts(subject: Subject) -> ColumnValue:
    """Return the names of the verdicts that fail, separated by spaces."""
    found = verdicts(subject.report, subject.name.sessions)
    return ColumnValue(" ".join(verdict.name for verdict in found if verdict.verdict == "fails"))


def warnings(subject: Subject) -> ColumnValue:
    """Return the number of warnings of the parser."""
    return ColumnValue(len(subject.report.warnings))


def complete(subject: Subject) -> ColumnValue:
    """Return whether the report is complete, not cut off."""
    return ColumnValue(subject.report.complete)


def instance_number(subject: Subject) -> ColumnValue:
    """Return the number of the instance, of a global report those of all instances."""
    numbers = [str(entry.number) for entry in subject.report.header.instances if entry.number is not None]
    return ColumnValue(" ".join(numbers)) if numbers else absent("Inst Num is blank in the report")
