"""Sections beyond the fixtures, as text and as HTML with the same figures, to be put before a report's end."""

from __future__ import annotations

from pathlib import Path

from factories.awr_reports import FIXTURES

_MARK = "End of Report"
_DB = "DB/Inst: FIX/fix1  Snaps: 41-42"
_TEXT = f"""
Instance Efficiency Percentages (Target 100%)
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
            Buffer Nowait %:   99.50       Redo NoWait %:  100.00
            Buffer  Hit   %:    9.09    In-memory Sort %:  100.00
            Library Hit   %:   98.00        Soft Parse %:   91.00

Wait Classes by Total Wait Time
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                                                        Avg             Avg
                                        Total Wait     Wait   % DB   Active
Wait Class                  Waits       Time (sec)     (ms)   time Sessions
---------------- ---------------- ---------------- -------- ------ --------
User I/O                6,050,000            2,410        0   80.3      4.0
DB CPU                                         540            18.0      0.9
System I/O                  1,200                4        3     .1      0.0

Foreground Wait Class                    {_DB}
-> ordered by wait time desc, waits desc

                                                                  Avg
                                      %Time       Total Wait     wait
Wait Class                      Waits -outs         Time (s)     (ms)  %DB time
-------------------- ---------------- ----- ---------------- -------- ---------
User I/O                    6,041,300     0            2,403        0      80.1
DB CPU                                                   540               18.0
Commit                              9     0                0       32        .0
                          ------------------------------------------------------

Instance Activity Stats - Thread Activity {_DB}
-> Statistics identified by '(derived)' come from sources other than SYSSTAT

Statistic                                     Total  per Hour
-------------------------------- ------------------ ---------
log switches (derived)                            3     18.00
                          ------------------------------------------------------

IOStat by Filetype summary               {_DB}

                Reads:   Reqs   Data    Writes:  Reqs   Data      Small   Large
Filetype Name   Data    per sec per sec Data    per sec per sec    Read    Read
--------------- ------- ------- ------- ------- ------- ------- ------- -------
Data File         45.8G   10000 78.125M    469M    50.0   .781M     0.4     N/A
Log File             0M     0.0      0M      1M     1.0   .002M     N/A     N/A
TOTAL:            45.8G   10001 78.141M    470M    51.0   .783M     0.4     N/A
                          ------------------------------------------------------

Tablespace IO Stats                      {_DB}
-> ordered by IOs (Reads + Writes) desc

Tablespace
------------------------------
                 Av       Av     Av                       Av     Buffer  Av Buf
         Reads Reads/s  Rd(ms) Blks/Rd       Writes Writes/s      Waits  Wt(ms)
-------------- ------- ------- ------- ------------ -------- ---------- -------
SLOB_DATA
     5,999,000    9998     0.4     1.0       29,000       48          7     3.0
UNDOTBS1
         1,000       2     2.0     1.0        1,000        2          0     0.0
                          ------------------------------------------------------

File IO Stats                            {_DB}
-> ordered by Tablespace, File

Tablespace               Filename
------------------------ ----------------------------------------------------
                 Av       Av     Av                       Av     Buffer  Av Buf
         Reads Reads/s  Rd(ms) Blks/Rd       Writes Writes/s      Waits  Wt(ms)
-------------- ------- ------- ------- ------------ -------- ---------- -------
SLOB_DATA                /u01/app/oracle/oradata/FIX/a_long_path/slob_data_01
                         .dbf
     4,999,000    8332     0.4     1.0       20,000       33          7     3.0
                         /u01/oradata/FIX/slob_data_02.dbf
     1,000,000    1667     0.5     1.0        9,000       15          0     N/A
UNDOTBS1                 /u01/oradata/FIX/undotbs01.dbf
         1,000       2     2.0     1.0        1,000        2          0     0.0
                          ------------------------------------------------------

Global Cache Load Profile
~~~~~~~~~~~~~~~~~~~~~~~~~                  Per Second  Per Transaction
                                      ---------------  ---------------
  Global Cache blocks received:                 12.50             2.00
    Global Cache blocks served:                 10.25             1.50

Global Cache and Enqueue Services - Workload Characteristics
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                     Avg global enqueue get time (ms):      1.9

          Avg global cache cr block receive time (ms):      0.8
     Avg global cache current block receive time (ms):      1.4
      Global cache log flushes for cr blocks served %:      3.6

"""
_TABLES: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...] = (
    (
        "Instance Efficiency Percentages (Target 100%)",
        (),
        (
            ("Buffer Nowait %:", "99.50", "Redo NoWait %:", "100.00"),
            ("Buffer Hit %:", "9.09", "In-memory Sort %:", "100.00"),
            ("Library Hit %:", "98.00", "Soft Parse %:", "91.00"),
        ),
    ),
    (
        "Wait Classes by Total Wait Time",
        ("Wait Class", "Waits", "Total Wait Time (sec)", "Avg Wait (ms)", "% DB time", "Avg Active Sessions"),
        (
            ("User I/O", "6,050,000", "2,410", "0", "80.3", "4.0"),
            ("DB CPU", "", "540", "", "18.0", "0.9"),
            ("System I/O", "1,200", "4", "3", ".1", "0.0"),
        ),
    ),
    (
        "Foreground Wait Class",
        ("Wait Class", "Waits", "%Time -outs", "Total Wait Time (s)", "Avg wait (ms)", "%DB time"),
        (
            ("User I/O", "6,041,300", "0", "2,403", "0", "80.1"),
            ("DB CPU", "", "", "540", "", "18.0"),
            ("Commit", "9", "0", "0", "32", ".0"),
        ),
    ),
    (
        "Instance Activity Stats - Thread Activity",
        ("Statistic", "Total", "per Hour"),
        (("log switches (derived)", "3", "18.00"),),
    ),
    (
        "IOStat by Filetype summary",
        (
            "Filetype Name",
            "Reads: Data",
            "Reqs per sec",
            "Data per sec",
            "Writes: Data",
            "Reqs per sec",
            "Data per sec",
            "Small Read",
            "Large Read",
        ),
        (
            ("Data File", "45.8G", "10000", "78.125M", "469M", "50.0", ".781M", "0.4", ""),
            ("Log File", "0M", "0.0", "0M", "1M", "1.0", ".002M", "", ""),
            ("TOTAL:", "45.8G", "10001", "78.141M", "470M", "51.0", ".783M", "0.4", ""),
        ),
    ),
    (
        "Tablespace IO Stats",
        (
            "Tablespace",
            "Reads",
            "Av Rds/s",
            "Av Rd(ms)",
            "Av Blks/Rd",
            "Writes",
            "Writes avg/s",
            "Buffer Waits",
            "Av Buf Wt(ms)",
        ),
        (
            ("SLOB_DATA", "5,999,000", "9998", "0.4", "1.0", "29,000", "48", "7", "3.0"),
            ("UNDOTBS1", "1,000", "2", "2.0", "1.0", "1,000", "2", "0", "0.0"),
        ),
    ),
    (
        "File IO Stats",
        (
            "Tablespace",
            "Filename",
            "Reads",
            "Av Rds/s",
            "Av Rd(ms)",
            "Av Blks/Rd",
            "Writes",
            "Writes avg/s",
            "Buffer Waits",
            "Av Buf Wt(ms)",
        ),
        (
            (
                "SLOB_DATA",
                "/u01/app/oracle/oradata/FIX/a_long_path/slob_data_01.dbf",
                *("4,999,000", "8332", "0.4", "1.0", "20,000", "33", "7", "3.0"),
            ),
            (
                "SLOB_DATA",
                "/u01/oradata/FIX/slob_data_02.dbf",
                *("1,000,000", "1667", "0.5", "1.0", "9,000", "15", "0", ""),
            ),
            (
                "UNDOTBS1",
                "/u01/oradata/FIX/undotbs01.dbf",
                *("1,000", "2", "2.0", "1.0", "1,000", "2", "0", "0.0"),
            ),
        ),
    ),
    (
        "Global Cache Load Profile",
        ("", "Per Second", "Per Transaction"),
        (
            ("Global Cache blocks received:", "12.50", "2.00"),
            ("Global Cache blocks served:", "10.25", "1.50"),
        ),
    ),
    (
        "Global Cache and Enqueue Services - Workload Characteristics",
        (),
        (
            ("Avg global enqueue get time (us):", "1,900.0"),
            ("Avg global cache cr block receive time (us):", "800.0"),
            ("Avg global cache current block receive time (us):", "1,400.0"),
            ("Global cache log flushes for cr blocks served %:", "3.6"),
        ),
    ),
)


def text_with_sections() -> bytes:
    """The fixture of 11.2 as text, with all sections."""
    return (FIXTURES / "awr_11.2.txt").read_text().replace(_MARK, _TEXT + _MARK).encode()


def page_with_sections() -> bytes:
    """The same figures in a page, as 19c prints them: times in µs, blanks in place of N/A."""
    page = (FIXTURES / "awr_11.2_no_summaries.html").read_text()
    return page.replace(_MARK, "".join(_table(*parts) for parts in _TABLES) + _MARK).encode()


def _table(title: str, columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    head = "".join(f"<th>{column}</th>" for column in columns)
    lines = "".join("<tr>" + "".join(f"<td>{cell or '&#160;'}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<h3>{title}</h3>\n<table><tr>{head}</tr>\n{lines}</table><p />\n"


def write_twins(folder: Path) -> tuple[Path, Path]:
    """Write both reports into ``folder``."""
    text, page = folder / "awr_0_8.txt", folder / "awr_0_8.html"
    text.write_bytes(text_with_sections())
    page.write_bytes(page_with_sections())
    return text, page
