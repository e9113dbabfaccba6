#!/usr/bin/env python3
"""Parse every statement of the Oracle engine in grammars of Oracle's SQL and PL/SQL: no Oracle is here to compile them.

Usage: tools/oracle_grammar.py JARS

Three grammars are asked, two of which know PL/SQL. They are no dependencies of openslob, so install them by hand. JARS
is a folder with the jar files of the first two, which need Java, and ``JPype1`` from PyPI:

- ANTLR's of PL/SQL and SQL (antlr/grammars-v4, sql/plsql; Apache-2.0): the parser that ANTLR makes of it for Java, with
  ANTLR's runtime.
- ZPA's of PL/SQL and SQL (felipebz/zpa, zpa-core; LGPL-3.0), with what it needs. It takes any words after ALTER SESSION
  and DROP, so it is not asked for those, and lists without commas.
- sqlglot's Oracle dialect (MIT), which knows queries and changes of rows alone: ``sqlglot`` from PyPI.

parseora, from PyPI, knows 12.2, 19c and 26ai. It is proprietary though free to use, so nothing here calls it; give it
the files that ``--save FOLDER`` writes.

Prints the figures for each grammar. Exits with 1 if a grammar refuses a statement that it is not known to lack, or
takes one that it is known to lack, or one of the errors that are put in on purpose. A whole run takes a minute.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from openslob.core.workload import Workload
from openslob.engines.oracle.connection import PACKAGE
from openslob.engines.oracle.slice_procedure import compose_slice
from openslob.engines.sql import read_statements

SQL = Path(__file__).parents[1] / "src" / "openslob" / "engines" / "oracle" / "sql"
# A parser says what it does not like, or nothing.
Parser = Callable[[str], str]
# A class of Java's by its name.
Java = Callable[[str], Any]


class Grammar(NamedTuple):
    """A grammar: which statements it reads, and which of them it is known not to have, with what it lacks."""

    name: str
    parse: Parser
    reads: Callable[[str], bool]
    lacks: Mapping[str, str]


# What stands for a placeholder, by its name.
_SAMPLES: Mapping[str, object] = {
    "assignments": "c2 = 'x', c20 = 'x'", "columns": "custid, c2", "first_key": 1, "in_tablespace": "TABLESPACE slob",
    "index": "cf1_1_custid", "initrans": 4, "inst_id": "inst_id", "into": "", "keys": "slob_keys_cf1_1",
    "kind": "NATIVE", "last_key": 64, "manifest": "slob_manifest", "parallel": "PARALLEL 4", "prefix": "g",
    "own": "con_", "procedure": "slob_slice_1", "procedures": "SLOB\\_SLICE\\_%", "run_table": "slob_run",
    "single": "NO_BATCH_TABLE_ACCESS_BY_ROWID(t) ", "sleep": "DBMS_SESSION.SLEEP",
    "statement": "SELECT COUNT(c2) FROM cf1_1 t", "statements": "'a', 'b'", "stretch": "WHERE t.custid IN (1, 2)",
    "table": "cf1_1", "tables": "slob_tables", "tablespace": "slob", "user": "slob", "values": ":1, :2",
    "victim": "42,1,@1", "view": "v$sysstat",
}  # fmt: skip
# What stands for a placeholder in one statement alone.
_OWN_SAMPLES: Mapping[str, Mapping[str, object]] = {
    "schema.create_table": {"columns": "c2 VARCHAR2(128 BYTE) DEFAULT 'x', c20 VARCHAR2(128 BYTE) DEFAULT 'x'"},
    "schema.no_defaults": {"columns": "c2 DEFAULT NULL, c20 DEFAULT NULL"},
    "prove.drawn_keys": {"draw": read_statements(PACKAGE, "slice")["key_zipf"]},
}
# Pieces of the work loop, which is parsed whole.
_PIECES = {
    "slice.single", "slice.plain", "slice.obfuscated", "slice.procedure", "slice.key_uniform", "slice.key_zipf",
    "slice.key_zipf_of_one",
}  # fmt: skip
# Of the work loop: a version and a workload for each text that it is composed of.
_LOOPS: tuple[tuple[tuple[int, int], Mapping[str, Any]], ...] = (
    ((11, 2), {}),
    ((12, 1), {"commit_mode": "nowait", "obfuscate_columns": True}),
    ((19, 3), {"commit_mode": "engine", "redo_stress": "HEAVY"}),
    ((23, 0), {"access": "zipf:0.99"}),
)

# Errors put into the work loop: a text that is there, and what becomes of its first place.
_ERRORS = (
    ("IF hot THEN", "IF hot"),
    ("done := done + 1;", "done = done + 1;"),
    ("WHEN deadlock THEN", "WHEN deadlock"),
    ("WHERE custid BETWEEN first_key AND last_key", "WHERE custid BETWEEN first_key"),
    ("    END LOOP;\n\n    ended_us", "    END;\n\n    ended_us"),
)


def statements() -> Iterator[tuple[str, str]]:
    """Yield every statement by its name, ready to be parsed."""
    for file in sorted(SQL.glob("*.sql")):
        for short, text in read_statements(PACKAGE, file.stem).items():
            name = f"{file.stem}.{short}"
            if name not in _PIECES:
                yield name, terminated(text.format(**{**_SAMPLES, **_OWN_SAMPLES.get(name, {})}))
    for version, given in _LOOPS:
        yield f"slice.procedure/{version[0]}.{version[1]}", procedure(version, given)


def procedure(version: tuple[int, int], given: Mapping[str, Any]) -> str:
    """Return the work loop for a version and a workload."""
    return terminated(compose_slice(2, Workload(schemas=2, **given), version, 128))


def terminated(text: str) -> str:
    """Return a statement as a script has it."""
    is_block = re.match(r"\s*(?:BEGIN|DECLARE|CREATE OR REPLACE PROCEDURE)\b", text)
    return f"{text.rstrip()}\n/\n" if is_block else f"{text.rstrip().rstrip(';')};\n"


def antlr(java: Java) -> Parser:
    """Return the parser that ANTLR made of its grammar."""
    charstreams, tokens_of = (java(f"org.antlr.v4.runtime.{name}") for name in ("CharStreams", "CommonTokenStream"))
    lexer, parser = java("PlSqlLexer"), java("PlSqlParser")

    def parse(text: str) -> str:
        tokens = lexer(charstreams.fromString(text))
        script = parser(tokens_of(tokens))
        heard = Heard()
        for each in (tokens, script):
            each.removeErrorListeners()
            each.addErrorListener(heard.listener)
        script.sql_script()
        return heard.found[0] if heard.found else ""

    return parse


class Heard:
    """Collects the errors that a parser of ANTLR's reports."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.listener = importlib.import_module("jpype").JProxy("org.antlr.v4.runtime.ANTLRErrorListener", inst=self)

    def syntaxError(self, *at: object) -> None:  # noqa: N802  (ANTLR's names)
        """Note an error: where, and what."""
        self.found.append(f"line {at[2]}: {at[4]}")

    def ambiguity(self, *_: object) -> None:
        """Hear what is no error."""

    reportAmbiguity = reportAttemptingFullContext = reportContextSensitivity = ambiguity  # noqa: N815


def zpa(java: Java) -> Parser:
    """Return ZPA's parser."""
    charset = java("java.nio.charset.StandardCharsets").UTF_8
    settings = java("com.felipebz.zpa.squid.PlSqlConfiguration")(charset, False)
    parser = java("com.felipebz.zpa.parser.PlSqlParser").INSTANCE.create(settings)
    refusal = java("com.felipebz.flr.api.RecognitionException")

    def parse(text: str) -> str:
        try:
            parser.parse(text)
        except refusal as error:
            return str(error.getMessage()).splitlines()[0]
        return ""

    return parse


def sqlglot() -> Parser:
    """Return a parser of sqlglot's Oracle dialect."""
    module = importlib.import_module("sqlglot")
    logging.getLogger("sqlglot").setLevel(logging.ERROR)

    def parse(text: str) -> str:
        try:
            module.parse(text, dialect="oracle")
        except module.errors.SqlglotError as error:
            return str(error).splitlines()[0]
        return ""

    return parse


def is_query(text: str) -> bool:
    """Whether a statement reads or changes rows."""
    return bool(re.match(r"\s*(?:SELECT|WITH|INSERT INTO|UPDATE|DELETE)\b", text))


def is_read_by_zpa(text: str) -> bool:
    """Whether ZPA reads more than a statement's first words."""
    return not re.match(r"\s*(?:ALTER SESSION|DROP)\b", text)


def parsed(grammar: Grammar, found: Mapping[str, str]) -> tuple[set[str], int]:
    """Print the figures of a grammar; return what it takes, and of how many statements something else was known."""
    chosen = {each: text for each, text in found.items() if grammar.reads(text)}
    wrong = {each: why for each, text in chosen.items() if (why := grammar.parse(text))}
    for each, why in wrong.items():
        known = f"known: it lacks {grammar.lacks[each]}" if each in grammar.lacks else why
        print(f"  {grammar.name} refuses {each}: {known}")
    for each in grammar.lacks.keys() - wrong.keys():
        print(f"  {grammar.name} does not refuse {each}, which it is known to lack")
    figures = f"{len(chosen)} statements, {len(chosen) - len(wrong)} taken, {len(wrong)} refused"
    print(f"{grammar.name}: {figures}; {len(found) - len(chosen)} not asked for", flush=True)
    return chosen.keys() - wrong.keys(), len(wrong.keys() ^ grammar.lacks.keys())


def not_found(grammar: Grammar) -> int:
    """Put errors into the work loop, one at a time; return how many a grammar takes."""
    text, taken = procedure((19, 3), {}), 0
    for old, new in _ERRORS:
        if old not in text:
            sys.exit(f"oracle_grammar: {old!r} is no longer in slice.sql")
        taken += not grammar.parse(text.replace(old, new, 1))
    print(f"{grammar.name}: {len(_ERRORS)} errors put into the work loop, {len(_ERRORS) - taken} found", flush=True)
    return taken


# Statements that a grammar is known not to have, with what it lacks.
_NUMBER, _SYSTEM, _PLACES = "ALTER SESSION SET … = number", "this ALTER SYSTEM", "binds that are numbers"
_STORAGE, _ALTER, _INDEX = "storage of CREATE TABLE", "ALTER TABLE but for ADD and DROP", "statements on indexes"
_ANTLR_LACKS: Mapping[str, str] = {
    "load.session": _NUMBER,
    "session.dynamic_sampling": _NUMBER, "session.optimize_level": _NUMBER,
    "quiesce.checkpoint": _SYSTEM, "stop.kill": _SYSTEM,
}  # fmt: skip
_ZPA_LACKS: Mapping[str, str] = {
    "grants.working": "CREATE USER", "slice.explain": "EXPLAIN PLAN",
    "quiesce.checkpoint": "ALTER SYSTEM", "stop.kill": "ALTER SYSTEM",
    "schema.create_table": _STORAGE, "stop.create": _STORAGE,
    "schema.minimize": _ALTER, "schema.no_defaults": _ALTER, "schema.logging": _ALTER,
    "schema.create_index": _INDEX, "schema.index_serial": _INDEX, "schema.index_logging": _INDEX,
}  # fmt: skip
_SQLGLOT_LACKS: Mapping[str, str] = {"load.stage": _PLACES, "manifest.enter": _PLACES}


def main() -> None:
    """Parse everything in all grammars."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("jars", type=Path, help="a folder with the jar files of ANTLR's parser and of ZPA's")
    arguments.add_argument("--save", type=Path, metavar="FOLDER", help="write the statements there, a file each")
    given = arguments.parse_args()
    found = dict(statements())
    if given.save:
        save(given.save, found)
    jpype = importlib.import_module("jpype")
    jpype.startJVM(classpath=[str(each) for each in given.jars.glob("*.jar")])
    of_procedures = [
        Grammar("ANTLR", antlr(jpype.JClass), bool, _ANTLR_LACKS),
        Grammar("ZPA", zpa(jpype.JClass), is_read_by_zpa, _ZPA_LACKS),
    ]
    times: Counter[str] = Counter(dict.fromkeys(found, 0))
    wrong = 0
    for grammar in (*of_procedures, Grammar("sqlglot", sqlglot(), is_query, _SQLGLOT_LACKS)):
        taken, others = parsed(grammar, found)
        times.update(taken)
        wrong += others
    wrong += sum(not_found(each) for each in of_procedures)
    for count, so_many in ((0, "none"), (1, "one")):
        print(f"  taken by {so_many}: {', '.join(each for each in found if times[each] == count)}")
    print(f"{len(found)} statements, {sum(each >= 2 for each in times.values())} taken by two grammars or more")
    sys.exit(1 if wrong else 0)


def save(folder: Path, found: Mapping[str, str]) -> None:
    """Write the statements, a file each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in found.items():
        (folder / f"{name.replace('/', '_')}.sql").write_text(text)


if __name__ == "__main__":
    main()
