"""ARCHITECTURE.md and CONTRIBUTING.md name what exists, and the house keeps its own rules."""

from __future__ import annotations

import ast
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
SOURCES = sorted((ROOT / "dpcheck").rglob("*.py"))
MAP = re.findall(r"^\| (.+?) \| `(dpcheck\.[\w.]+)` \|$", PAGE, flags=re.MULTILINE)


def test_the_map_from_paper_to_code_is_not_empty():
    assert len(MAP) >= 15


@pytest.mark.parametrize("dotted", [dotted for _, dotted in MAP])
def test_every_name_of_the_map_can_be_imported(dotted):
    module, _, name = dotted.rpartition(".")
    assert getattr(import_module(module), name) is not None


def test_every_room_has_its_paragraph():
    rooms = {
        path.name if path.is_dir() else path.stem
        for path in (ROOT / "dpcheck").iterdir()
        if (path / "__init__.py").exists() or (path.suffix == ".py" and path.stem[0] != "_")
    }
    described = set(re.findall(r"\*\*(\w+)\*\*", PAGE))
    assert rooms - described == set()


def test_every_wing_has_its_paragraph():
    rooms = ROOT / "dpcheck"
    wings = {
        f"{path.parent.parent.name}.{path.parent.name}"
        for path in rooms.glob("*/*/__init__.py")
        if path.parent.parent.parent == rooms
    }
    assert len(wings) >= 16
    assert wings - set(re.findall(r"\*\*(\w+\.\w+)\*\*", PAGE)) == set()


WORDS_OF_THE_LANGUAGE = {"compose", "dp", "forall", "group"}


def test_every_file_that_a_paragraph_of_a_wing_names_is_there():
    missing = []
    for wing, text in re.findall(r"\*\*(\w+\.\w+)\*\*(.+?)(?=\n\n|\n- )", PAGE, flags=re.DOTALL):
        folder = ROOT / "dpcheck" / wing.replace(".", "/")
        names = re.findall(r"`([a-z_]+)`", text)
        missing += [f"{wing}: {name}" for name in names if not (folder / f"{name}.py").exists()]
    assert [name for name in missing if name.split(": ")[1] not in WORDS_OF_THE_LANGUAGE] == []


def test_every_file_is_named_by_a_paragraph():
    named = set(re.findall(r"[`*.](\w+)[`*]", PAGE)) | {"__init__", "__main__"}
    unnamed = [str(path.relative_to(ROOT)) for path in SOURCES if path.stem not in named]
    assert unnamed == [], "say in ARCHITECTURE.md, in the paragraph of its folder, what is in it"


def test_every_package_says_in_one_line_what_comes_in_and_what_goes_out():
    for path in (ROOT / "dpcheck").glob("*/**/__init__.py"):
        if path.parent.name in {"cli", "std"}:
            continue  # the command line is a door, libraries are models
        said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert re.fullmatch(r".* comes? in\b.*; .* go(es)? out\b.*", said), path


def test_every_path_that_contributing_names_is_there():
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"`((?:dpcheck|tests|grammar|docs|benchmarks)/[\w./-]+)`", page)
    assert len(named) >= 15
    assert [name for name in named if "nnn" not in name and not (ROOT / name).exists()] == []


def float_uses(tree):
    """Yield the lines that make a float: a literal with a point, or a call of `float`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield node.lineno
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "float":
            yield node.lineno


NO_EVIDENCE = {
    "chain/contraction/eliminate.py": "estimates which of two exact methods takes less time",
    "check/arrangements.py": "chooses the least of several promises, each of which is true",
    "check/evidence/number_codes.py": "rounds an enclosure once, with a proved error",
    "check/quantities/grid_bounds.py": "chooses steps of a grid whose bounds hold for each",
    "check/values/verdicts.py": "hands a decimal to who asks for a float",
    "exact/budget.py": "adds one half, which a float holds exactly",
    "exact/text.py": "adds one half, which a float holds exactly",
    "parse/explain.py": "how alike two words must be for a suggestion",
    "privacy/grid.py": "guesses an event whose probabilities are then enclosed",
    "resolve/names/scopes.py": "how alike two names must be for a suggestion",
}


@pytest.mark.parametrize(
    "room", ["exact", "model", "logic", "chain", "resolve", "parse", "check", "privacy"]
)
def test_no_float_is_made_where_evidence_is_made(room):
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in (ROOT / "dpcheck" / room).rglob("*.py")
        if path.relative_to(ROOT / "dpcheck").as_posix() not in NO_EVIDENCE
        for line in float_uses(ast.parse(path.read_text("utf-8")))
    ]
    assert found == []


def test_nothing_prints_outside_of_the_command_line():
    for path in SOURCES:
        tree = ast.parse(path.read_text("utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        assert not any(getattr(call.func, "id", "") == "print" for call in calls) or (
            path.name == "generate.py"
        ), path


def test_no_room_is_called_after_nothing():
    banned = {"utils", "helpers", "common", "misc"}
    assert not [path for path in SOURCES if path.stem in banned or path.parent.name in banned]


ARRAYS = {"IntArray", "BoolArray", "FloatArray", "WeightArray"}
WITHOUT_SHAPES = 138
"""How many functions take or return arrays without a shape in their docstring: it only falls."""


def takes_or_returns_arrays(function):
    arguments = function.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    annotations = [argument.annotation for argument in given] + [function.returns]
    names = {getattr(node, "id", "") for found in annotations if found for node in ast.walk(found)}
    return not names.isdisjoint(ARRAYS)


def test_no_more_functions_of_arrays_go_without_shapes():
    without = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and takes_or_returns_arrays(node)
        if not re.search(r"\[(n|\d)\w*(, \w+)*\]", ast.get_docstring(node) or "")
    ]
    assert len(without) <= WITHOUT_SHAPES, without


NAMED_LATE = {
    *("dpcheck/__init__.py", "dpcheck/diagnostics/registry.py"),
    "dpcheck/cli/checking.py",  # formats, all of them in report
}
"""Files that import by a text: names that are public, codes of mistakes (each in a file below)."""


def imports_between_files():
    """Return who imports whom, imports in functions and for type checkers included.

    A package's own `__init__` counts as a file; that importing `a.b` runs `a/__init__` first does
    not count as an arrow from who wrote it.
    """
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in SOURCES
    }
    files = nx.DiGraph()
    for name, path in paths.items():
        text = path.read_text("utf-8")
        assert "import_module(" not in text or path.relative_to(ROOT).as_posix() in NAMED_LATE
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                inside = [f"{node.module}.{each.name}" for each in node.names]
                found = [full if full in paths else node.module for full in inside]
            else:
                continue
            files.add_edges_from((name, other) for other in found if other in paths)
    return files


def test_no_circle_of_files():
    files = imports_between_files()
    assert files.number_of_edges() > 1000
    circles = [sorted(part) for part in nx.strongly_connected_components(files)]
    assert [part for part in circles if len(part) > 1] == []
    assert list(nx.selfloop_edges(files)) == []


def test_no_room_has_more_files_than_one_can_look_over():
    counts = Counter(
        path.parent for path in (ROOT / "dpcheck").rglob("*.py") if path.name != "__init__.py"
    )
    assert {str(room): n for room, n in counts.items() if n > 16} == {}


def bare_constants(body):
    """Yield the numeric constants of a module without a sentence below them or a comment beside."""
    for node, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign):
            place = node.targets[0]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            place = node.target
        else:
            continue
        if not isinstance(place, ast.Name) or not place.id.isupper():
            continue
        if any(not isinstance(part, NUMERIC) for part in ast.walk(node.value)):
            continue
        said = below.value if isinstance(below, ast.Expr) else None
        if not (isinstance(said, ast.Constant) and isinstance(said.value, str)):
            yield node


NUMERIC = ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop


def test_every_numeric_constant_says_what_it_bounds_or_what_was_measured():
    bare = []
    for path in SOURCES:
        lines = path.read_text("utf-8").splitlines()
        for node in bare_constants(ast.parse("\n".join(lines)).body):
            values = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
            is_number = all(type(value) in (int, float) for value in values)
            if is_number and "#" not in lines[node.lineno - 1]:
                bare.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert bare == [], "a sentence below it says what it bounds, or what was measured on what"
