"""Lists of statements, segments and others, in the forms of text, a page, a cluster's page and Statspack."""

from __future__ import annotations

from html import escape

from factories.awr_reports import FIXTURES

TEXT, PAGE, GLOBAL_PAGE, STATSPACK = "awr_11.2.txt", "awr_23ai.html", "awrg_19c.html", "sp_10.2.txt"
_MARK = "End of Report"
_DB = "DB/Inst: FIX/fix1  Snaps: 41-42"
_END = "                          ------------------------------------------------------\n"
_LONG = "update cf1 set c2 = :1 where custid > :2 and custid < :3 -- of text that is wrapped"
_UNDO = f"""
Undo Segment Summary                      {_DB}
-> Min/Max TR (mins) - Min and Max Tuned Retention (minutes)

Undo   Num Undo       Number of  Max Qry   Max Tx Min/Max   STO/     uS/uR/uU/
 TS# Blocks (K)    Transactions  Len (s) Concurcy TR (mins) OOS      eS/eR/eU
---- ---------- --------------- -------- -------- --------- ----- --------------
   2       15.1          94,254    1,559        8 28.9/40   1/2   3/4/5/6/7/8
{_END}
Undo Segment Stats                        {_DB}

                Num Undo    Number of Max Qry  Max Tx Tun Ret STO/    uS/uR/uU/
End Time          Blocks Transactions Len (s)   Concy  (mins) OOS     eS/eR/eU
------------ ----------- ------------ ------- ------- ------- ----- ------------
04-Feb 19:50         687       11,989     956       8      30 0/0   0/0/0/0/0/0
{_END}
"""
_ENQUEUES = f"""
Enqueue Activity                          {_DB}
-> only enqueues with requests are shown

Enqueue Type (Request Reason)
-------------------------------------------------------------------------------
    Requests    Succ Gets Failed Gets       Waits  Wt Time (s) Av Wt Time(ms)
------------ ------------ ----------- ----------- ------------ --------------
TX-Transaction (row lock contention)
      13,390       13,389           0      13,375        6,724         502.75
TM-DML
     921,713      921,689           0           0            0            N/A
{_END}
"""
_FINDINGS = """
          ADDM Report for Task 'ADDM:1_1_42'
          ----------------------------------

Activity During the Analysis Period
-----------------------------------
Total database time was 3974 seconds.
The average number of active sessions was 1.1.

          Findings and Recommendations
          ----------------------------

Finding 1: Top "SQL" Statements
Impact is .33 active sessions, 29.93% of total activity.
--------------------------------------------------------
SQL statements consuming significant database time were found. These
go on.

   Recommendation 1: SQL Tuning
   Estimated benefit is .11 active sessions, 10.21% of total activity.
   -------------------------------------------------------------------
   Action
      Run SQL Tuning Advisor on
      "0123456789abc".
      Related Object
         SQL statement with SQL_ID 0123456789abc.
   Rationale
      The SQL spent 96% of its database time on CPU.
   Action
      Look at the statement.

Finding 2: Soft Parse
Impact is .02 active sessions, 2.16% of total activity.
-------------------------------------------------------
Soft parsing was consuming time.

   No recommendations are available.

~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
"""
_TEXTS = f"""
Top ADDM Findings by Average Active Sessions
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
Finding Name                             Avg act Percen Task Name
---------------------------------------- ------- ------ ------------------------
Top "SQL" Statements                        1.10  29.93 ADDM:1_1_42
Commits                                     2.50   3.50 ADDM:1_1_41

Instance CPU
~~~~~~~~~~~~
              % of total CPU for Instance:       0.9
              % of busy  CPU for Instance:      29.5
  %DB time waiting for CPU - Resource Mgr:       0.0

SQL ordered by Elapsed Time               {_DB}
-> %Total - Elapsed Time  as a percentage of Total DB time

        Elapsed                  Elapsed Time
        Time (s)    Executions  per Exec (s)  %Total   %CPU    %IO    SQL Id
---------------- -------------- ------------- ------ ------ ------ -------------
         1,234.5            600          2.06   41.2   12.5   80.1 0123456789abc
Module: slob
select count(c2) from cf1

             2.5            N/A           N/A     .1   99.0    N/A abcdefghijklm
{_LONG[:40]}

\fSQL ordered by Elapsed Time               {_DB}
-> %Total - Elapsed Time  as a percentage of Total DB time

        Elapsed                  Elapsed Time
        Time (s)    Executions  per Exec (s)  %Total   %CPU    %IO    SQL Id
---------------- -------------- ------------- ------ ------ ------ -------------
{_LONG[40:]}

{_END}
SQL ordered by Gets                       {_DB}

     Buffer                 Gets              Elapsed
      Gets   Executions   per Exec   %Total   Time (s)   %CPU    %IO    SQL Id
----------- ----------- ------------ ------ ---------- ------ ------ -----------
     12,000           8      1,500.0   90.0      159.0   62.1     .0 0123456789a
------------------
-- a comment

         24           3          7.7    1.0        1.0   62.1     .0 abcdefghijk
begin null; end;

{_END}
SQL ordered by Executions                 {_DB}

                                              Elapsed
 Executions   Rows Processed  Rows per Exec   Time (s)  %CPU   %IO    SQL Id
------------ --------------- -------------- ---------- ----- ----- -------------
         600             600            1.0    1,234.5  12.5  80.1 0123456789abc
select count(c2) from cf1

           7               7            1.0        0.0  12.5  80.1 abcdefghijklm
begin null; end;

{_END}
Segments by Logical Reads                 {_DB}
-> Total Logical Reads:     352,274,341

                     Tablespace
Owner                   Name
-------------------- ----------
                     Subobject  Obj.                             Logical
Object Name            Name     Type        Obj#   Dataobj#        Reads  %Total
-------------------- ---------- ----- ---------- ---------- ------------ -------
SLOB                 DATA
CF1                             TABLE     142581     142581   99,505,248   28.25
{_END}
Segments by ITL Waits                     {_DB}

           Tablespace                      Subobject  Obj.           ITL    % of
Owner         Name    Object Name            Name     Type         Waits Capture
---------- ---------- -------------------- ---------- ----- ------------ -------
SLOB       DATA       CF1_PK               P1         INDEX           12   92.30
{_END}"""
_STATSPACK = """
Instance CPU
~~~~~~~~~~~~                                       % Time (seconds)
                                            -------- --------------
                     Host: Total time (s):              1,034,828.1
                  Host: Busy CPU time (s):                 14,905.7
                   % of time Host is Busy:       1.4
             Instance: Total CPU time (s):                  1,796.7
          % of Busy CPU used for Instance:      12.1
        Instance: Total Database time (s):                  1,591.9
  %DB time waiting for CPU (Resource Mgr):       0.0

SQL ordered by Elapsed time for DB: FIX  Instance: fix1  Snaps: 41 -42
-> Total DB Time (s):             618

  Elapsed                Elap per            CPU                        Old
  Time (s)   Executions  Exec (s)  %Total   Time (s)  Physical Reads Hash Value
---------- ------------ ---------- ------ ---------- --------------- ----------
     404.3        1,000       0.40   65.4      337.7       1,011,306 3851979199
Module: slob
select count(c2) from cf1

          -------------------------------------------------------------
"""
_SQL_HEADS = ("Executions", "Elapsed Time per Exec (s)", "%Total", "%CPU", "%IO", "SQL Id", "SQL Module", "SQL Text")
_TOTALS = ("CPU (s)", "IOWait (s)", "Gets", "Reads", "Rows", "Cluster (s)")
_CELLS = ("Disk Type", "Cell Name")
_SIZES = ("Small Read", "Small Write", "Large Read", "Large Write")
_SEGMENT = ("Owner", "Tablespace Name", "Object Name", "Subobject Name", "Obj. Type")
_FLASH = ("Misses/Partial Hits", "Active Secondary Hits", "Active Secondary Misses")
_UNDO_HEADS = ("Number of Transactions", "Max Qry Len (s)")
_UNDO_END = ("STO/ OOS", "uS/uR/uU/ eS/eR/eU")
_PAGES: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...] = (
    ("Top ADDM Findings by Average Active Sessions",
     ("Finding Name", "Avg active sessions of the task", "Percent active sessions of finding", "Task Name"),
     (('Top "SQL" Statements', "1.10", "29.93", "ADDM:1_1_42"), ("Commits", "2.50", "3.50", "ADDM:1_1_41"))),
    ("Instance CPU", ("%Total CPU", "%Busy CPU", "%DB time waiting for CPU (Resource Manager)"),
     (("0.9", "29.5", "0.0"),)),
    ("SQL ordered by Elapsed Time", ("Elapsed Time (s)", *_SQL_HEADS),
     (("1,234.5", "600", "2.06", "41.2", "12.5", "80.1", "0123456789abc", "slob", "select count(c2) from cf1"),
      ("2.5", "", "", ".1", "99.0", "", "abcdefghijklm", "", _LONG))),
    ("Segments by Logical Reads", (*_SEGMENT, "Obj#", "Dataobj#", "Logical Reads", "%Total"),
     (("SLOB", "DATA", "CF1", "", "TABLE", "1", "1", "99,505,248", "28.25"),)),
    ("Segments by ITL Waits", (*_SEGMENT, "ITL Waits", "% of Capture"),
     (("SLOB", "DATA", "CF1_PK", "P1", "INDEX", "12", "92.30"),)),
    ("Enqueue Activity",
     ("Enqueue Type (Request Reason)", "Requests", "Succ Gets", "Failed Gets", "Waits", "Wt Time (s)",
      "Av Wt Time(ms)"),
     (("TX-Transaction (row lock contention)", "13,390", "13,389", "0", "13,375", "6,724", "502.75"),
      ("TM-DML", "921,713", "921,689", "0", "0", "0", ""))),
    ("Undo Segment Summary",
     ("Undo TS#", "Num Undo Blocks (K)", *_UNDO_HEADS, "Max Tx Concurcy", "Min/Max TR (mins)", *_UNDO_END),
     (("2", "15.1", "94,254", "1,559", "8", "28.9/40", "1/2", "3/4/5/6/7/8"),)),
    ("Undo Segment Stats",
     ("End Time", "Num Undo Blocks", *_UNDO_HEADS, "Max Tx Concy", "Tun Ret (mins)", *_UNDO_END),
     (("04-Feb 19:50", "687", "11,989", "956", "8", "30", "0/0", "0/0/0/0/0/0"),)),
    ("Exadata Cell Server IOPS Statistics - Top Cells", (*_CELLS, "% Total", "Average", *(f"{one}s" for one in _SIZES)),
     (("F/5.8T", "cel01", "33.40", "6,623.94", "890.51", "3,978.05", "1,369.76", "385.61"),
      ("", "cel02", "34.20", "*", "8,611.24", "8,493.10", "81.33", "26.69", "10.12"))),
    ("Exadata Cell Server IO Latency - Top Cells", (*_CELLS, "Cell Latency", *_SIZES),
     (("F/5.8T", "cel01", "312.73us", "185.07us", "117.99us", "1,017.11us", "2.23"),)),
    ("Exadata OS CPU Statistics - Top Cells", ("Cell Name", "% CPU", "% User", "% Sys"),
     (("cel01", "10.13", "6.73", "3.40"),)),
    ("Flash Cache User Reads",
     ("Cell Name", "Total", "per Sec", "OLTP", "DW", *_FLASH, "Total", "per Sec", "OLTP", "DW", *_FLASH[1:]),
     (("All", "131,513,104", "36,239.49", "2,031,729", "129,481,375", "7,740", "3", "1", "129,307,769.03", "35,631.79",
       "22,464.10", "129,285,304.93", "0.02", "0.06"),)),
    ("Flash Cache User Writes",
     ("Cell Name", *("Value", "per Sec", *("Value", "% Writes") * 3) * 2),
     (("All", "3,590,864", "989.49", "274,250", "", "3,316,556", "", "58", "", "37,935.02", "10.45", "5,438.63", "",
       "32,478.97", "", "17.43", ""),)),
)  # fmt: skip
_GLOBAL: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...] = (
    ("SQL ordered by Elapsed Time (Global)",
     ("SQL Id", "Elapsed (s)", *_TOTALS, "Execs", "Elapsed (s)", *_TOTALS, "DB time", "DB CPU", "IO Wait", "Gets",
      "Reads", "Cluster", "Execs", "SQL Text"),
     (("0123456789abc", "1,234.5", "154.2", "900.0", "9,000,000", "60", "600", "0.0", "600", "2.1", "0.3", "1.5",
       "15,000.0", "0.1", "1.0", "0.0", "41.2", "51.2", "61.2", "71.2", "81.2", "0.0", "91.2",
       "select count(c2)..."),)),
    ("SQL ordered by Gets (Global)",
     ("SQL Id", "Gets", "Reads", "Elapsed (s)", "Execs", "Gets", "Reads", "Elapsed (s)", "Gets", "Reads", "DB time",
      "SQL Text"),
     (("0123456789abc", "9,000,000", "60", "1,234.5", "600", "15,000.0", "0.1", "2.1", "90.5", "1.0", "41.2",
       "select count(c2)..."),)),
    ("Segment Statistics (Global)", ("Statistic", *_SEGMENT, "Obj#", "Dataobj#", "Value", "%Total", "%Capture"),
     (("logical reads", "SLOB", "DATA", "CF1", "", "TABLE", "1", "1", "99,505,248", "28.25", ""),
      ("ITL waits", "SLOB", "DATA", "CF1_PK", "P1", "INDEX", "2", "2", "12", "", "92.30"))),
)  # fmt: skip


def with_lists(name: str) -> bytes:
    """The fixture ``name`` with the lists of its kind before its end."""
    lists = {
        TEXT: _TEXTS + _ENQUEUES + _UNDO + _FINDINGS,
        PAGE: "".join(_table(*parts) for parts in _PAGES) + f"<pre>{escape(_FINDINGS)}</pre>",
        GLOBAL_PAGE: "".join(_table(*parts) for parts in _GLOBAL),
        STATSPACK: _STATSPACK + _ENQUEUES.replace("Enqueue Activity", "Enqueue activity") + _UNDO,
    }
    report = (FIXTURES / name).read_text()
    assert _MARK in report
    return report.replace(_MARK, lists[name] + _MARK).encode()


def _table(title: str, columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    head = "".join(f"<th>{column}</th>" for column in columns)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<h3>{title}</h3>\n<table><tr>{head}</tr>\n{lines}</table><p />\n"
