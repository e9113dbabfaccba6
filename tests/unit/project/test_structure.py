"""Rules of the source that ruff and the import contracts (pyproject.toml) cannot state; each names all offenders."""

import ast
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from factories import marks
from factories.paths import ROOT, SOURCE

sys.path.insert(0, str(ROOT / "tools"))

import structure

FILES = sorted(SOURCE.rglob("*.py"))
ENGINE_NAMES = re.compile(r"postgres|psycopg|mysql|mariadb|oracle|innodb", re.IGNORECASE)
# AWR and Statspack are reports of one product, read without any engine; that folder may name it.
MAY_NAME_ENGINES = ("engines", "awr")
# The program itself and its commands.
MAY_PRINT = ("cli", "__main__.py")
PRINTS_OR_EXITS = {"print", "exit", "quit", "sys.exit", "os._exit", "sys.stdout.write", "sys.stderr.write"}
MOST_LINES = 800
MOST_LINES_A_FUNCTION = 60
MOST_LINES_OF_HALF_THE_FUNCTIONS = 10
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TESTS = sorted((ROOT / "tests").rglob("*.py"))
# Public in all but name: the interface of named tuples, and a process's end without its clean-up.
PUBLIC_IN_ALL_BUT_NAME = {"_asdict", "_exit", "_fields", "_make", "_replace"}
# What takes the name of an attribute as a text.
BY_NAME = {"delattr", "getattr", "hasattr", "object", "patch", "setattr"}
# Private things that tests use, by file, with the reason.
PRIVATE_IN_TESTS = {
    # Textual waits for at least 20 ms at each key of a headless screen, and has no public name for that.
    ("unit/live/test_screen.py", "_wait"),
    # Typer makes the command anew for each call of a test, and has no public name for what does it.
    ("conftest.py", "typer.testing._get_command"),
    # Python says by a public name what is a protocol from 3.13 on.
    ("unit/project/test_docs.py", "_is_protocol"),
}


# Most files have no such word: to look at all expressions of all files takes seconds.
MAY_BE_CALLED = re.compile(r"\b(print|exit|_exit|quit|write)\(")
# Of others, in a text, and imported, in one line or in one of several.
MAY_REACH = re.compile(
    r"""(?<!\bself)(?<!\bcls)[."']_[a-z]|\bimport\b.*\b_[a-z]|^ +_\w+( as \w+)?,""", re.IGNORECASE | re.M
)


@dataclass(frozen=True)
class Facts:
    """What the tests ask of a file: the libraries that it imports, its functions with their lengths."""

    libraries: set[str]
    functions: list[tuple[int, str, int]]


@pytest.fixture(scope="module")
def trees():
    return {path.relative_to(SOURCE): ast.parse(path.read_text()) for path in FILES}


@pytest.fixture(scope="module")
def facts(trees):
    return {str(path): facts_of(tree) for path, tree in trees.items()}


def facts_of(tree):
    facts = Facts(set(), [])
    for node in structure.statements(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            facts.libraries.update(imported(node))
        elif isinstance(node, FUNCTIONS):
            facts.functions.append((node.lineno, node.name, node.end_lineno - node.lineno + 1))
    return facts


def calls(path):
    text = path.read_text()
    found = ast.walk(ast.parse(text)) if MAY_BE_CALLED.search(text) else ()
    return [(node.lineno, called(node)) for node in found if isinstance(node, ast.Call)]


def name_of(path):
    return str(path.relative_to(SOURCE))


def outside(folders):
    return [path for path in FILES if path.relative_to(SOURCE).parts[0] not in folders]


def called(node):
    function = node.func
    if isinstance(function, ast.Name):
        return function.id
    owner = function.value.id if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) else ""
    return f"{owner}.{function.attr}" if owner else ""


def imported(node):
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    return {node.module.partition(".")[0]}


def test_the_files_are_found():
    assert {"cli/run.py", "kinds/run/runner.py", "engines/base.py", "__init__.py"} <= {name_of(path) for path in FILES}


def test_no_engine_is_named_outside_engines():
    found = [
        f"{name_of(path)}:{number}: {line.strip()}"
        for path in outside(MAY_NAME_ENGINES)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if ENGINE_NAMES.search(line)
    ]
    assert found == []


def test_what_engines_share_names_no_engine():
    """An engine is found by its entry points: neither the registry nor the contract knows which there are."""
    folders = {path.parent for path in FILES if (path.parent / "sql").is_dir()}
    shared = [path for path in FILES if name_of(path).startswith("engines/") and path.parent not in folders]
    assert any(name_of(path) == "engines/registry/__init__.py" for path in shared)
    assert [name_of(path) for path in shared if ENGINE_NAMES.search(path.read_text())] == []


def test_a_kind_of_measurement_knows_no_other_but_the_run():
    kinds = {path.parent.name for path in SOURCE.glob("kinds/*/__init__.py")} - {"run"}
    assert {"sweep", "lab", "storage"} <= kinds
    found = {
        (kind, other)
        for kind in kinds
        for path in (SOURCE / "kinds" / kind).rglob("*.py")
        for other in re.findall(r"openslob\.kinds\.(\w+)", path.read_text())
        if other in kinds - {kind}
    }
    assert found == set()


def test_only_the_command_line_prints_or_exits():
    found = [
        f"{name_of(path)}:{line}: {name}"
        for path in outside(MAY_PRINT)
        for line, name in calls(path)
        if name in PRINTS_OR_EXITS
    ]
    assert found == []


def test_every_library_has_a_contract(facts):
    """A new dependency is a decision about layers, too."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    placed = {name for contract in tools["importlinter"]["contracts"] for name in contract.get("protected_modules", ())}
    used = {library: name for name, of_file in facts.items() for library in of_file.libraries}
    missing = set(used) - set(sys.stdlib_module_names) - {"openslob"} - placed
    assert {name: used[name] for name in missing} == {}


def test_files_are_short():
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in FILES}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_functions_are_short(facts):
    found = [
        f"{file}:{line}: {name}: {length}"
        for file, of_file in facts.items()
        for line, name, length in of_file.functions
        if length > MOST_LINES_A_FUNCTION
    ]
    assert found == []


def test_half_of_all_functions_have_at_most_10_lines(facts):
    lengths = sorted(length for of_file in facts.values() for _, _, length in of_file.functions)
    assert lengths[len(lengths) // 2] <= MOST_LINES_OF_HALF_THE_FUNCTIONS


def package_of(files):
    return {Path(name): ast.parse(text) for name, text in files.items()}


def test_a_file_that_one_neighbour_alone_imports_has_a_reason(trees):
    """Otherwise the two are one file: merge them, or say in REASONS of tools/structure.py why they are two."""
    alone = structure.single_importers(trees)
    assert Path("kinds/run/probing.py") in alone
    assert [str(path) for path, by in alone.items() if not structure.reason_of(path, by, trees)] == []
    assert structure.unneeded_reasons(trees) == []


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a/b.py": "", "a/c.py": "from openslob.a import b"}, ""),
        ({"a/b.py": "", "a/c.py": "from openslob.a.b import B"}, ""),
        ({"a/b.py": "", "a/c.py": "class C:\n    import openslob.a.b"}, ""),
        ({"a/b.py": "", "a/c.py": "def c():\n    from openslob.a import b"}, "imported when it is needed, not before"),
        (
            {
                "a/b.py": "",
                "a/c.py": "if TYPE_CHECKING:\n    from openslob.a import b\ndef c():\n    import openslob.a.b",
            },
            "imported when it is needed, not before",
        ),
        ({"a/b.py": "\n" * 400 + "b = 1", "a/c.py": "from openslob.a import b" + "\n" * 98 + "c = 1"}, ""),
        (
            {"a/b.py": "\n" * 400 + "b = 1", "a/c.py": "from openslob.a import b" + "\n" * 99 + "c = 1"},
            "501 lines together",
        ),
        (
            {f"engines/{name}/{file}.py": text for name in "xyz"
             for file, text in (("b", ""), ("adapter", f"from openslob.engines.{name} import b"))},
            "y and z have the same",
        ),
        (
            {"engines/x/adapter.py": "from openslob.engines.x import b", "engines/x/b.py": "", "engines/y/b.py": ""},
            "",
        ),
    ],
)  # fmt: skip
def test_the_source_shows_why_a_file_is_one_of_its_own(files, reason):
    trees = package_of(files)
    path, importer = next(iter(structure.single_importers(trees).items()))
    assert structure.reason_of(path, importer, trees) == reason


def test_a_reason_that_nothing_needs_is_found(monkeypatch):
    trees = package_of(
        {"a/b.py": "", "a/c.py": "import openslob.a.b", "a/d.py": "import openslob.a.c\ndef d():\n    import e"}
    )
    monkeypatch.setattr(structure, "REASONS", {"a/b.py": "why", "a/c.py": "why", "a/gone.py": "why"})
    assert structure.unneeded_reasons(trees) == ["a/gone.py"]
    trees[Path("a/e.py")] = ast.parse("import openslob.a.b")
    assert structure.unneeded_reasons(trees) == ["a/b.py", "a/gone.py"]


def is_private(name):
    """Whether a name, or the last part of a dotted one, is private; those of notebooks (`_repr_html_`) are not."""
    last = name.rpartition(".")[2]
    is_one = last.startswith("_") and not last.startswith("__") and not last.endswith("_")
    return is_one and last.isidentifier() and last not in PUBLIC_IN_ALL_BUT_NAME


def private_names(tree):
    """The private names that a test reaches for: of others, by import, or as a text."""
    for node in ast.walk(tree):
        if find := NAMES_REACHED.get(type(node)):
            yield from filter(is_private, find(node))


def attribute(node):
    return [] if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") else [node.attr]


def modules(names):
    return [part for name in names for part in name.split(".")]


def last_name(function):
    return getattr(function, "attr", getattr(function, "id", ""))


def texts(nodes):
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def place(found):
    """A place in the source, as `faults.pausing` takes it."""
    return found if any(text.startswith("openslob.") for text in found) else []


NAMES_REACHED = {
    ast.Attribute: attribute,
    ast.Import: lambda node: modules(alias.name for alias in node.names),
    ast.ImportFrom: lambda node: modules([node.module or "", *(alias.name for alias in node.names)]),
    ast.Call: lambda node: texts(node.args) if last_name(node.func) in BY_NAME else [],
    ast.Tuple: lambda node: place(texts(node.elts)),
    ast.Subscript: lambda node: texts([node.slice]) if last_name(getattr(node.value, "func", None)) == "vars" else [],
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a.b._c", ["_c"]),
        ("self._a + cls._b + a.__dict__ + a._replace() + a._repr_html_()", []),
        ("self.a._b", ["_b"]),
        ("from openslob.a import _b, c", ["_b"]),
        ("from openslob._a import b", ["_a"]),
        ("import openslob._a", ["_a"]),
        ("monkeypatch.setattr('openslob.a._B', 1)", ["openslob.a._B"]),
        ("self.patched.setattr(a, '_b', 1)", ["_b"]),
        ("patch.object(a, '_b')", ["_b"]),
        ("vars(a)['_b'] = 1", ["_b"]),
        ("at = ('openslob.a', 'A._b')", ["A._b"]),
        ("name.endswith('_pct')", []),
    ],
)
def test_a_private_name_is_found_however_it_is_reached(text, found):
    assert not found or MAY_REACH.search(text)
    assert list(private_names(ast.parse(text))) == found


def test_tests_use_public_names():
    """A test that reaches for private parts holds the shape of the source, not what it does."""
    assert any(path.name == "conftest.py" for path in TESTS)
    found = {
        (str(path.relative_to(ROOT / "tests")), name)
        for path in TESTS
        if MAY_REACH.search(text := path.read_text())
        for name in private_names(ast.parse(text))
    }
    assert found == PRIVATE_IN_TESTS


def test_workers_keep_the_tests_of_one_server_together(request):
    """Otherwise every worker would start every server: xdist shows a group at the end of its tests' ids."""
    if not request.config.getoption("loadgroup", False):
        pytest.skip("this run has no groups")
    apart = [item.nodeid for item in request.session.items if marks.is_left_apart(item)]
    assert not apart, "pytest-xdist ignores xdist_group: install the versions of constraints.txt"
