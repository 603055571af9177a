"""Which files a call names, and how far their imports may lead."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from dpcheck.cli import run
from dpcheck.diagnostics.files import (
    CannotRead,
    EmptyFile,
    HoldsNul,
    LinkOutsideRoot,
    NoModels,
    NoSuchFile,
    NotUtf8,
)
from dpcheck.diagnostics.imports import ImportCycle, ImportNotFound, ImportOutsideRoot
from dpcheck.pipeline.sources.files import decoded, model_paths, read_source
from dpcheck.pipeline.sources.imports import Library


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("a/one.dpm", "a/two.dpm", "a/deep/three.dpm", "b/four.dpm", "a/.hid/x.dpm"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("const n = 1\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kinds(mistakes):
    return [type(mistake) for mistake in mistakes]


def closure_of(argument):
    (path,), mistakes = model_paths([argument])
    assert not mistakes
    return Library().closure(path)


def test_a_directory_stands_for_the_models_below_it_in_order(folder):
    paths, mistakes = model_paths(["a"])
    assert [path.shown for path in paths] == ["a/one.dpm", "a/two.dpm", "a/deep/three.dpm"]
    assert not mistakes


def test_every_file_counts_once(folder):
    paths, _ = model_paths(["a/one.dpm", "./a", str(folder / "a" / "one.dpm")])
    assert [path.shown for path in paths] == ["a/one.dpm", "a/two.dpm", "a/deep/three.dpm"]


def test_what_names_no_model_is_a_mistake_and_the_rest_goes_on(folder):
    (folder / "none").mkdir()
    paths, mistakes = model_paths(["none", "a/on.dpm", "b", "nul\0"])
    assert [path.shown for path in paths] == ["b/four.dpm"]
    assert kinds(mistakes)[:2] == [NoModels, NoSuchFile]
    assert len(mistakes) == 3
    assert mistakes[1].similar == "a/one.dpm"


def test_text_that_is_not_text_is_a_mistake_with_its_place():
    found = decoded("x", b"ab\ncaf\xe9")
    assert isinstance(found, NotUtf8)
    assert (found.span.line, found.span.column, found.offset) == (2, 4, 6)
    assert isinstance(decoded("x", b"a\0b"), HoldsNul)
    assert isinstance(decoded("x", b" \n\t"), EmptyFile)
    assert isinstance(decoded("x", "const n = 1".encode("utf-16")), NotUtf8 | HoldsNul)


def test_a_byte_order_mark_is_not_text():
    assert decoded("x", b"\xef\xbb\xbfconst n = 1").text == "const n = 1"
    assert decoded("x", b"\xef\xbb\xbf\xff").offset == 3


def test_a_file_given_itself_may_import_within_the_working_directory(folder):
    (folder / "a" / "uses.dpm").write_text('import "../b/four.dpm"\n', "utf-8")
    closure = closure_of("a/uses.dpm")
    assert closure.is_sound
    assert [model.source.name for model in closure.imported] == ["b/four.dpm"]


def test_a_directory_bounds_the_imports_of_its_files(folder):
    (folder / "a" / "uses.dpm").write_text('import "../b/four.dpm"\n', "utf-8")
    (path,) = [path for path in model_paths(["a"])[0] if path.shown == "a/uses.dpm"]
    assert kinds(Library().closure(path).mistakes) == [ImportOutsideRoot]


def test_a_file_outside_of_the_working_directory_is_bound_by_its_folder(folder, monkeypatch):
    (folder / "a" / "uses.dpm").write_text('import "../b/four.dpm"\n', "utf-8")
    (folder / "a" / "near.dpm").write_text('import "deep/three.dpm"\n', "utf-8")
    monkeypatch.chdir(folder / "b")
    mistakes = closure_of("../a/uses.dpm").mistakes
    assert kinds(mistakes) == [ImportOutsideRoot]
    assert "from the folder `..`" in mistakes[0].help
    assert closure_of("../a/near.dpm").is_sound
    monkeypatch.chdir("..")
    assert closure_of("a/uses.dpm").is_sound


@pytest.mark.skipif(os.name != "posix", reason="makes a link")
def test_a_link_does_not_lead_out_of_the_root(folder):
    (folder / "a" / "link.dpm").symlink_to(folder / "b" / "four.dpm")
    (folder / "a" / "uses.dpm").write_text('import "link.dpm"\n', "utf-8")
    (path,) = [path for path in model_paths(["a"])[0] if path.shown == "a/uses.dpm"]
    mistakes = Library().closure(path).mistakes
    assert kinds(mistakes) == [ImportOutsideRoot]
    assert mistakes[0].help is None


def test_an_absolute_import_inside_of_the_root_is_fine(folder):
    text = f'import "{(folder / "b" / "four.dpm").as_posix()}"\n'
    (folder / "a" / "uses.dpm").write_text(text, "utf-8")
    assert closure_of("a/uses.dpm").is_sound


def test_a_directory_cannot_be_imported(folder):
    (folder / "a" / "uses.dpm").write_text('import "deep"\n', "utf-8")
    assert kinds(closure_of("a/uses.dpm").mistakes) == [ImportNotFound]
    for path in ("deep", "", ".", "deep/"):
        (folder / "a" / "uses.dpm").write_text(f'import "{path}"\n', "utf-8")
        (mistake,) = closure_of("a/uses.dpm").mistakes
        assert (mistake.reason, mistake.similar) == ("it is a directory", None)


def test_a_file_that_imports_itself_is_a_circle(folder):
    (folder / "self.dpm").write_text('import "self.dpm"\n', "utf-8")
    closure = closure_of("self.dpm")
    assert kinds(closure.mistakes) == [ImportCycle]
    assert closure.mistakes[0].cycle == ("self.dpm", "self.dpm")


def test_no_file_is_said_to_mean_itself_by_an_import(tmp_path):
    (tmp_path / "d.dpm").write_text('import "nope.dpm"')
    (path,), _ = model_paths([str(tmp_path / "d.dpm")])
    (found,) = Library().closure(path).mistakes
    assert isinstance(found, ImportNotFound)
    assert found.similar is None
    (tmp_path / "nop.dpm").touch()
    (found,) = Library().closure(path).mistakes
    assert found.similar == "nop.dpm"


def test_two_ways_to_one_file_are_no_circle(folder):
    (folder / "base.dpm").write_text("const base = 1\n", "utf-8")
    (folder / "left.dpm").write_text('import "base.dpm"\n', "utf-8")
    (folder / "right.dpm").write_text('import "base.dpm"\n', "utf-8")
    (folder / "top.dpm").write_text('import "left.dpm"\nimport "right.dpm"\n', "utf-8")
    closure = closure_of("top.dpm")
    assert closure.is_sound
    names = [model.source.name for model in closure.imported]
    assert names == ["base.dpm", "left.dpm", "right.dpm"]


def test_imports_may_follow_each_other_through_more_files_than_python_calls_nest(folder):
    for i in range(1200):
        (folder / f"c{i}.dpm").write_text(f'import "c{i + 1}.dpm"\n', "utf-8")
    (folder / "c1200.dpm").write_text("const last = 1\n", "utf-8")
    closure = closure_of("c0.dpm")
    assert closure.is_sound
    names = [model.source.name for model in closure.imported]
    assert names == [f"c{i}.dpm" for i in range(1200, 0, -1)]
    (folder / "c1200.dpm").write_text('import "c0.dpm"\n', "utf-8")
    (cycle,) = [m for m in closure_of("c0.dpm").mistakes if isinstance(m, ImportCycle)]
    assert len(cycle.cycle) == 1202


def test_an_unreadable_file_is_a_mistake(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    (mistake,) = closure_of("a/one.dpm").mistakes
    assert isinstance(mistake, CannotRead)
    assert mistake.title == "cannot read `a/one.dpm`: permission denied"


def test_an_empty_name_is_not_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "a.dpm").write_text("chain c { state s init s }")
    monkeypatch.chdir(tmp_path)
    paths, mistakes = model_paths(["", "a.dpm"])
    assert [path.shown for path in paths] == ["a.dpm"]
    assert [mistake.code for mistake in mistakes] == ["DP014"]


def test_links_in_a_circle_cost_no_other_file_of_a_directory(tmp_path):
    (tmp_path / "a.dpm").write_text("chain c { state s init s }")
    (tmp_path / "loop.dpm").symlink_to("loop.dpm")
    (tmp_path / "lost.dpm").symlink_to("nothing.dpm")
    paths, mistakes = model_paths([str(tmp_path)])
    assert [path.real.name for path in paths] == ["a.dpm", "nothing.dpm"]
    assert [(m.code, m.file) for m in mistakes] == [("DP006", str(tmp_path / "loop.dpm"))]
    assert isinstance(read_source(paths[1].shown, paths[1].real), CannotRead)
    alone = [
        str(tmp_path / name) for name in ("loop.dpm", "lost.dpm")
    ]  # named, they are there, too
    paths_of_two, mistakes_of_two = model_paths(alone)
    assert ([path.real for path in paths_of_two], mistakes_of_two) == ([paths[1].real], mistakes)


def test_a_directory_of_nothing_but_circles_says_so(tmp_path):
    (tmp_path / "loop.dpm").symlink_to("loop.dpm")
    assert [mistake.code for mistake in model_paths([str(tmp_path)])[1]] == ["DP006"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "p.dpm")
    (path,), mistakes = model_paths([str(tmp_path)])
    assert not mistakes
    found = read_source(path.shown, path.real)
    assert isinstance(found, CannotRead)
    assert "pipe" in found.title


def test_a_directory_below_that_cannot_be_read_is_said(tmp_path, monkeypatch):
    (tmp_path / "a.dpm").write_text("chain c { state s init s }")
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def refusing(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    paths, mistakes = model_paths([str(tmp_path)])
    assert len(paths) == 1
    assert [m.title for m in mistakes] == [
        f"cannot read `{tmp_path / 'closed'}`: permission denied"
    ]


# --- a model file is untrusted: what must not be read is neither opened nor quoted ------------

SECRET = "token = hunter2\n" * 3

linking = pytest.mark.skipif(os.name != "posix", reason="makes links")


def shown_by(arguments, capsys):
    """Return everything that a check prints, as text and as JSON."""
    statuses = {run(["check", *arguments]), run(["check", *arguments, "--format", "json"])}
    assert statuses == {2}
    return "".join(capsys.readouterr())


@linking
@pytest.mark.parametrize("given", ["a", "a/link.dpm"])
@pytest.mark.parametrize("place", ["secret.dpm", "config", "a/.git/config", "a/.git/c.dpm"])
def test_a_link_to_what_is_no_model_below_the_root_is_not_opened(folder, capsys, place, given):
    if given != "a" and place == "secret.dpm":
        place = "../secret.dpm"  # the root of a file in the working directory is that directory
    secret = folder / place
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text(SECRET, "utf-8")
    (folder / "a" / "link.dpm").symlink_to(secret.resolve())
    assert LinkOutsideRoot in kinds(model_paths([given])[1])
    printed = shown_by([given], capsys)
    assert "DP018" in printed
    assert "hunter2" not in printed
    assert "token" not in printed


@linking
def test_a_link_to_a_model_below_the_root_is_that_model(folder):
    (folder / "a" / "link.dpm").symlink_to("deep/three.dpm")
    paths, mistakes = model_paths(["a"])
    assert not mistakes
    assert sorted(path.real.name for path in paths) == ["one.dpm", "three.dpm", "two.dpm"]


@linking
@pytest.mark.parametrize(
    "target", ["/proc/self/environ", "/dev/zero", "/dev/stdin", "/etc/passwd", "/nowhere"]
)
@pytest.mark.parametrize("suffix", [".dpm", ".csv", ".json"])
def test_links_out_of_the_root_are_neither_checked_nor_imported(folder, capsys, target, suffix):
    (folder / "a" / f"x{suffix}").symlink_to(target)
    (folder / "a" / "uses.dpm").write_text(f'import "x{suffix}"\n', "utf-8")
    printed = shown_by(["a"], capsys)
    assert "DP702" in printed
    assert ("DP018" in printed) == (suffix == ".dpm")
    assert "root:" not in printed
    assert "PATH=" not in printed


@pytest.mark.parametrize("path", [".env", ".git/config", ".git/c.dpm", "notes.txt", "Makefile"])
def test_an_import_names_a_model_or_a_table_that_is_not_hidden(folder, capsys, path):
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text(SECRET, "utf-8")
    (folder / "uses.dpm").write_text(f'import "{path}"\n', "utf-8")
    assert kinds(closure_of("uses.dpm").mistakes) == [ImportNotFound]
    assert "hunter2" not in shown_by(["uses.dpm"], capsys)


def test_a_model_in_a_hidden_folder_may_import_what_lies_beside_it(folder):
    (folder / "a" / ".hid" / "uses.dpm").write_text('import "x.dpm"\nimport "../one.dpm"', "utf-8")
    assert not [m for m in closure_of("a/.hid/uses.dpm").mistakes if m.code != "DP302"]


@pytest.mark.parametrize(("wrong", "is_sound"), [("check m dp", True), ("const n =", False)])
def test_what_is_wrong_in_claims_of_a_file_is_none_of_its_importers(folder, wrong, is_sound):
    sound = "mechanism m { input x in 0..1 adjacent all output x }"
    (folder / "broken.dpm").write_text(f"{sound}\n{wrong}\n", "utf-8")
    (folder / "uses.dpm").write_text('import "broken.dpm"\ncheck m: dp(0)\n', "utf-8")
    closure = closure_of("uses.dpm")
    assert closure.is_sound == is_sound
    assert bool(closure.mistakes) == (not is_sound)
    assert not closure_of("broken.dpm").is_sound


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_files_of_the_kernel_are_not_read():
    assert isinstance(read_source("environ", Path("/proc/self/environ").resolve()), CannotRead)


def test_a_socket_is_not_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s.dpm")
        assert isinstance(read_source("s.dpm", tmp_path / "s.dpm"), CannotRead)


def test_a_file_too_long_to_be_a_model_is_not_read(tmp_path):
    with (tmp_path / "long.dpm").open("wb") as file:
        file.truncate(2**40)
    found = read_source("long.dpm", tmp_path / "long.dpm")
    assert isinstance(found, CannotRead)
    assert "1,099,511,627,776 bytes" in found.title


@pytest.mark.parametrize(
    "given", [["a", "."], [".", "a"], ["a/uses.dpm", "a"], ["a", "a/uses.dpm"]]
)
def test_of_several_roots_that_lead_to_a_file_the_widest_counts(folder, given):
    (folder / "a" / "uses.dpm").write_text('import "../b/four.dpm"\n', "utf-8")
    (path,) = [path for path in model_paths(given)[0] if path.real.name == "uses.dpm"]
    assert Library().closure(path).is_sound
