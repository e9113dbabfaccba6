"""What a command of another program keeps for itself when its words are recorded."""

from __future__ import annotations

import pytest

from openslob.core.secrets import redact_words


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("mysql -pSECRET -h db", "mysql -p*** -h db"),
        ("load --password SECRET --jobs 4", "load --password *** --jobs 4"),
        ("load --password=SECRET", "load --password=***"),
        ("load --db-password SECRET", "load --db-password ***"),
        ("load --token SECRET", "load --token ***"),
        ("load --api-key SECRET", "load --api-key ***"),
        ("load -token=SECRET", "load -token=***"),
        ("curl -u root:SECRET http://x", "curl -u root:*** http://x"),
        ("curl -uroot:SECRET", "curl -uroot:***"),
        ("curl --user root:SECRET", "curl --user root:***"),
        ("run postgresql://u:SECRET@h/d", "run postgresql://u:***@h/d"),
        ("run password=SECRET", "run password=***"),
        # and what is none
        ("pgbench -p 5432 -h db -c 8 -T 60 -U bench", "pgbench -p 5432 -h db -c 8 -T 60 -U bench"),
        ("pgbench -p5432", "pgbench -p5432"),
        ("sysbench --threads=8 --tables=4 run", "sysbench --threads=8 --tables=4 run"),
        ("prog -u root -o a:b", "prog -u root -o a:b"),
        ("prog --password --host db", "prog --password --host db"),
    ],
)
def test_words_that_are_secrets_are_stars(words: str, shown: str) -> None:
    assert redact_words(words.split()) == shown.split()
    assert "SECRET" not in " ".join(redact_words(words.split()))


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["sh", "-c", "mysql -pSECRET -u root"], ["sh", "-c", "mysql -p*** -u root"]),
        (["sh", "-c", "load  --token HIDDEN\nrest"], ["sh", "-c", "load  --token ***\nrest"]),
        (["sh", "-c", "curl -u root:HIDDEN http://h"], ["sh", "-c", "curl -u root:*** http://h"]),
        (["curl", "-H", "Authorization: Bearer HIDDEN"], ["curl", "-H", "Authorization: ***"]),
        (["curl", "--header", "X-Api-Key: HIDDEN"], ["curl", "--header", "X-Api-Key: ***"]),
        (["sqlplus", "scott/HIDDEN@db"], ["sqlplus", "scott/***@db"]),
        (["load", "--user=root:HIDDEN"], ["load", "--user=root:***"]),
        (["load", "--db-pw", "HIDDEN"], ["load", "--db-pw", "***"]),
        (["load", "--pass", "HIDDEN"], ["load", "--pass", "***"]),
        (["psql", "-c", "SELECT a / b FROM t"], ["psql", "-c", "SELECT a / b FROM t"]),
        (["load", "--passes", "3", "--bypass", "x"], ["load", "--passes", "3", "--bypass", "x"]),
    ],
)
def test_a_script_in_a_word_and_other_forms_of_secrets(words: list[str], shown: list[str]) -> None:
    assert redact_words(words) == shown
