"""Tablespaces, files and services of several pluggable databases, and the row of a host with blank columns."""

from __future__ import annotations

import re

import pytest

from factories.awr.making import example
from factories.awr.report import write
from factories.awr.sheet import Layout
from factories.awr_reports import FIXTURES, SAMPLES, needs_samples
from factories.tables import table
from openslob.awr import Report, read, read_bytes
from openslob.awr.cells import Subject, Value
from openslob.awr.columns import PREFIXES, column_of
from openslob.awr.rows import ROW_SETS

CDB = "awr_html_12.1.0.2_rac_exadata_cdb1.html"
_SPACES = ("SYSAUX", "SLOB_DATA", "UNDOTBS1")


def values(report: Report, name: str) -> list[list[Value]]:
    return [[cell.value for cell in row][1:] for row in ROW_SETS[name].rows_of(Subject(report), ())]


def cell(report: Report, column: str):
    return column_of(column).read(Subject(report))


def divided() -> Report:
    """Three tablespaces of one name: of the root and of two pluggable databases."""
    page = write(example(7), Layout("11.2.0.2", is_html=True)).data.decode()
    start = page.index("Tablespace IO Stats")
    head, part = page[:start], page[start:]
    part = re.sub(r"(Av Buf Wt\(ms\)</th>)(</tr>)", r"\1<th>PDB Name</th>\2", part)
    for name, pdb in zip(_SPACES, ("", "PDB1", "PDB2"), strict=True):
        part = re.sub(rf"(<tr>(?:(?!</tr>).)*>){name}(<(?:(?!</tr>).)*)(</tr>)", rf"\1SYSAUX\2<td>{pdb}</td>\3", part)
    return read_bytes((head + part).encode())


def test_tablespaces_of_the_same_name_are_those_of_their_containers():
    report = divided()
    assert {(one.tablespace, one.pdb) for one in report.tablespaces} == {
        ("SYSAUX", None), ("SYSAUX", "PDB1"), ("SYSAUX", "PDB2"),
    }  # fmt: skip
    rows = {row[1]: row[2] for row in values(report, "tablespaces")}
    for name, pdb in (("CDB$ROOT", None), ("PDB1", "PDB1"), ("pdb2", "PDB2")):
        assert cell(report, f"tablespace:{name}:SYSAUX:reads").value == rows[pdb]
    found = cell(report, "tablespace:SYSAUX:reads")
    assert found.value is None
    assert "CDB$ROOT:SYSAUX, PDB1:SYSAUX, PDB2:SYSAUX" in found.why
    assert set(PREFIXES["tablespace"].names(report)) == {"CDB$ROOT:SYSAUX", "PDB1:SYSAUX", "PDB2:SYSAUX"}
    assert {(one.file is None, one.pdb) for one in report.files} >= {(False, "PDB1"), (False, "PDB2")}


@needs_samples
def test_containers_of_a_real_report():
    report = read(SAMPLES / CDB)
    rows = [row[:3] for row in values(report, "tablespaces") if row[0] == "SYSAUX"]
    assert {pdb: reads for _, pdb, reads in rows} == {None: 3986, "PDB1": 112, "PDB2": 71, "PDB3": 58}
    assert cell(report, "tablespace:PDB1:SYSAUX:reads").value == 112
    assert "several containers" in cell(report, "tablespace:SYSAUX:reads").why
    services = values(report, "services")
    assert services[0][1:] == ["pdb2.enkitec.com", None, 63_968, 3_802, 2_590_888_000, 2_591_313_000]


_SERVICES = """
Service Statistics                       DB/Inst: FIX/fix1  Snaps: 41-42
-> ordered by DB Time

                                                           Physical      Logical
Service Name                  DB Time (s)   DB CPU (s)    Reads (K)    Reads (K)
---------------------------- ------------ ------------ ------------ ------------
slob                                1,234          567           89        4,321
SYS$USERS                               1            0            0           12
          -------------------------------------------------------------

"""


def test_services_have_their_time_and_their_reads():
    text = (FIXTURES / "awr_11.2.txt").read_text()
    at = text.index("Time Model Statistics")
    report = read_bytes((text[:at] + _SERVICES.lstrip() + text[at:]).encode())
    assert values(report, "services") == [
        ["1", "slob", None, 1234, 567, 89_000, 4_321_000],
        ["1", "SYS$USERS", None, 1, 0, 0, 12_000],
    ]
    heads = ("Service Name", "DB Time (s)", "DB CPU (s)", "Physical Reads (K)", "Logical Reads (K)", "PDB Name")
    rows = (f"<tr>{''.join(f'<td>{one}</td>' for one in row)}</tr>" for row in (heads, ("s1", 5, 4, 3, 2, "PDB1")))
    page = f"<h3>Service Statistics</h3><table>{''.join(rows)}</table>".replace("td>", "th>", 2 * len(heads))
    whole = write(example(7), Layout("19c", is_html=True)).data.decode()
    report = read_bytes(whole.replace("</body>", f"{page}</body>").encode())
    assert values(report, "services")[-1][1:] == ["s1", "PDB1", 5, 4, 3000, 2000]


@table("shift", [7, 8, 9])
@pytest.mark.parametrize("cores", ["    8", "     "])
def test_a_host_whose_sockets_are_blank_keeps_its_figures_wherever_they_are_moved_to(shift, cores):
    text = (FIXTURES / "awr_11.2.txt").read_text()
    start = text.index("Host CPU (")
    end = text.index("\n\n", start)
    figures = ("136.70", "1.20", "11.0", "2.0", "0.0", "87.0")
    row = f"   16 {cores}{' ' * (9 - shift)}{' '.join(f'{figure:>9}' for figure in figures)}"
    host = (
        "Host CPU\n~~~~~~~~                  Load Average\n"
        " CPUs Cores Sockets     Begin       End     %User   %System      %WIO     %Idle\n"
        "----- ----- ------- --------- --------- --------- --------- --------- ---------\n"
    )
    found = read_bytes((text[:start] + host + row + text[end:]).encode())
    assert (found.host_cpu.load_begin.value, found.host_cpu.load_end.value) == (136.7, 1.2)
    assert (found.host_cpu.user_pct.value, found.host_cpu.idle_pct.value) == (11, 87)
    assert found.warnings == ()
