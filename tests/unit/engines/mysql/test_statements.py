"""Statements by themselves: that they use no name which a server of any version takes for a word of its own."""

import re
from pathlib import Path

import pytest

from factories.paths import FIXTURES
from openslob.engines.mysql.connection import PACKAGE
from openslob.engines.sql import __file__ as source
from openslob.engines.sql import read_sql

# What MySQL 8.0, 8.4, 9.7 and MariaDB 10.11, 11.4, 11.8 refuse as an alias or as a column's name, one or more of them.
RESERVED = frozenset((FIXTURES / "mysql" / "reserved_words.txt").read_text().split())
FILES = sorted(each.stem for each in (Path(source).parent / "mysql" / "sql").glob("*.sql"))
# Neither comments, texts, placeholders, quoted names nor the columns of the server's own tables.
_NO_NAMES = re.compile(r"^\s*--.*$|\s-- .*$|'[^'\n]*'|%\(\w+\)s|\{[^}\n]*\}|`[^`\n]*`|\.\w+|@@?\w+", re.MULTILINE)


def names_of(text):
    """Words in small letters: what the language has is in capitals."""
    return set(re.findall(r"\b[a-z_][a-z_0-9]*\b", _NO_NAMES.sub("", text)))


def test_names_are_found():
    assert names_of("SELECT IF(a = 'b', LOWER(%(c)s), x.d) AS stored -- of\nFROM {e}") == {"a", "x", "stored"}
    assert "stored" in RESERVED


@pytest.mark.parametrize("name", FILES)
def test_no_name_of_ours_is_reserved(name):
    assert names_of(read_sql(PACKAGE, name)) & RESERVED == set()
