"""A kept outcome stands for a test only while every input is what it was, and only where the test passed."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import kept, opened, surroundings

TESTS = """
    from pathlib import Path

    import pytest

    from layers import VALUE

    def ran():
        with open(Path(__file__).parent.parent / "ran", "a") as file:  # beside the project
            file.write("x")

    @pytest.fixture
    def prepared():
        ran()

    @pytest.mark.kept("docs")
    def test_layer(prepared):
        ran()
        assert VALUE
"""


@pytest.fixture
def tree(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with one kept test, of each kind of file that counts, and of some that do not."""
    for name in (
        "verify/gate/measure.py", "verify/site/pages.py", "theorems/paper/certificates.jsonl", "docs/table.md", "notes/other.md",
    ):  # fmt: skip
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    pytester.makepyfile(layers="VALUE = 1\n", test_other="def test_other():\n    pass\n", test_layers=TESTS)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv(
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1"
    )  # to look through all libraries for plugins takes half of a run
    monkeypatch.setenv("PYTEST_PLUGINS", "_hypothesis_pytestplugin,verify.plugin,xdist.plugin")
    monkeypatch.setenv("COLUMNS", "80")  # which readline, loaded by pytest, sets for processes alone
    return pytester


def times(tree: pytest.Pytester, *options: str, **outcomes: int) -> int:
    """How often the test or its fixture ran in one more run of the project, which has these outcomes."""
    count = tree.path.parent / "ran"
    count.write_text("")
    result = tree.runpytest_inprocess("-p", "tests.kept", "test_layers.py", *options)
    result.assert_outcomes(**(outcomes or {"passed": 1}))
    said = any("1 of 1 tests whose inputs are known from evidence" in line for line in result.outlines)
    assert said == (not count.read_text())
    return len(count.read_text())


def write(name: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    def change(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (root / name).write_text((root / name).read_text() + "# another text\n")

    return change


def another_library(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root.parent / "libraries"
    (folder / "torch-99.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])


def another_processor(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "_processor", lambda: "one more")


def other_kernels(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "other")


def planted_defect(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUTANT_UNDER_TEST", "verify.gate.measure.x_allowed__mutmut_1")


def new_module(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "theorems/paper/claim.py").write_text("")


def new_settings(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / ".pytest.ini").write_text("[pytest]\nxfail_strict = true\n")


def narrow_terminal(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")


def without_assertions(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "_flags", lambda: "-O 1")


@pytest.mark.parametrize(
    "change",
    [
        *map(write, ("layers.py", "test_layers.py", "verify/gate/measure.py", "theorems/paper/certificates.jsonl")),
        write("docs/table.md"),
        new_module, new_settings, another_library, another_processor, other_kernels, planted_defect,
        without_assertions, narrow_terminal,
    ],
)  # fmt: skip
def test_a_change_of_any_input_runs_the_test_again(
    tree: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path, pytest.MonkeyPatch], None]
) -> None:
    assert [times(tree), times(tree)] == [2, 0]
    change(tree.path, monkeypatch)
    assert [times(tree), times(tree)] == [2, 0]


def test_options_of_the_run_are_inputs(tree: pytest.Pytester) -> None:
    assert times(tree) == 2
    for option in ("--effort=deep", "--dtype=float32", "--hypothesis-seed=3", "-Werror", "-oxfail_strict=true"):
        assert times(tree, option) == 2
    assert times(tree) == 0


def test_what_is_beside_the_project_counts_where_it_is_named(tree: pytest.Pytester) -> None:
    module = tree.path / "test_layers.py"
    module.write_text(module.read_text().replace('kept("docs")', 'kept("docs", "../beside")'))
    assert [times(tree), times(tree)] == [2, 0]
    folder = tree.path.parent / "beside"
    folder.mkdir()
    for text in ("one", "another"):
        (folder / "claims.yaml").write_text(text)
        assert [times(tree), times(tree)] == [2, 0]


def test_files_of_a_pattern_count_those_too_that_are_new(tree: pytest.Pytester) -> None:
    module = tree.path / "test_layers.py"
    module.write_text(
        module.read_text()
        .replace('kept("docs")', 'kept("notes/*.py")')
        .replace("    assert VALUE", "    [path.read_text() for path in Path('notes').glob('*.py')]\n    assert VALUE")
    )
    for name in ("one.py", "another.py"):
        (tree.path / "notes" / name).touch()
        assert [times(tree), times(tree)] == [2, 0]
        write(f"notes/{name}")(tree.path, None)  # type: ignore[arg-type]
        assert [times(tree), times(tree)] == [2, 0]
    write("notes/other.md")(tree.path, None)  # type: ignore[arg-type]
    assert times(tree) == 0


def name_every_file(tree: pytest.Pytester, more: str = "", line: str = "pass") -> None:
    """Let the test of the project name all of it, and do one thing more."""
    module = tree.path / "test_layers.py"
    text = (
        module.read_text()
        .replace('kept("docs")', f'kept("."{more})')
        .replace("import pytest", "import os, subprocess, sys, pytest")
    )
    module.write_text(text.replace("    assert VALUE", f"    {line}\n    assert VALUE"))


def test_every_file_of_the_project_counts_where_all_are_named(tree: pytest.Pytester) -> None:
    name_every_file(tree)
    for name in (".ci/run", "report/index.html", ".verify/evidence/one.jsonl", ".cache/one", "rocq/theory.vo"):
        (tree.path / name).parent.mkdir(parents=True, exist_ok=True)
        (tree.path / name).write_text("")
    assert [times(tree), times(tree)] == [2, 0]
    for name in ("test_other.py", "verify/site/pages.py", "notes/other.md", "notes/new.md", ".ci/run"):
        (tree.path / name).touch()
        write(name)(tree.path, None)  # type: ignore[arg-type]
        assert [times(tree), times(tree)] == [2, 0], name
    for name in ("report/index.html", ".verify/evidence/one.jsonl", ".cache/one", "rocq/theory.vo"):
        write(name)(tree.path, None)  # type: ignore[arg-type]
        assert times(tree) == 0, name


PROCESS = "subprocess.run([sys.executable, '-c', ''], check=True)"


def test_nothing_is_kept_of_a_test_that_starts_a_process_unless_it_names_every_file(tree: pytest.Pytester) -> None:
    module = tree.path / "test_layers.py"
    before = module.read_text()
    name_every_file(tree, line=PROCESS)
    assert [times(tree), times(tree)] == [2, 0]
    module.write_text(module.read_text().replace('kept(".")', 'kept("docs", "notes")'))
    assert [times(tree), times(tree)] == [2, 2]
    result = tree.runpytest_inprocess("-p", "tests.kept", "test_layers.py")
    result.stdout.fnmatch_lines(
        ["NOT KEPT  test_layers.py::test_layer: test_layers.py starts *python*, which its marker*"]
    )
    module.write_text(before)
    assert [times(tree), times(tree)] == [2, 0]


def test_a_process_that_a_fixture_starts_once_counts_for_every_test_that_it_serves(tree: pytest.Pytester) -> None:
    module = tree.path / "test_layers.py"
    text = (
        module.read_text()
        .replace("import pytest", "import subprocess, sys, pytest")
        .replace("fixture", "fixture(scope='module')")
    )
    module.write_text(text.replace("def prepared():", f"def prepared():\n    {PROCESS}"))
    assert [times(tree), times(tree)] == [2, 2]


def test_programs_count_with_what_is_installed_and_with_the_variables_that_they_read(
    tree: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, packages = tree.path.parent / "programs", tree.path.parent / "status"
    folder.mkdir()
    program = folder / "drawing"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    packages.write_text("drawing 1")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(surroundings, "PACKAGES", (str(packages),))
    monkeypatch.setattr(tempfile, "tempdir", str(tree.path / "notes"))  # what tests make themselves
    name_every_file(tree, ", programs=['drawing']", "subprocess.run(['drawing'], check=True)")
    assert [times(tree), times(tree)] == [2, 2], "what no distribution has installed loads what nobody lists"
    monkeypatch.setattr(surroundings, "PLACES", (str(folder),))
    assert [times(tree), times(tree)] == [2, 0]
    program.write_text("#!/bin/sh\n# another\n")
    assert [times(tree), times(tree)] == [2, 0]
    packages.write_text("drawing 2")
    assert [times(tree), times(tree)] == [2, 0]
    monkeypatch.setenv("DASK_LOGGING", "other")
    assert [times(tree), times(tree)] == [2, 0]
    module = tree.path / "test_layers.py"
    module.write_text(module.read_text().replace("drawing'])", "writing'])"))
    assert [times(tree), times(tree)] == [2, 2]
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    assert [times(tree), times(tree)] == [2, 0], "what a test makes follows from its inputs"


def test_nothing_is_kept_of_a_test_that_reads_evidence(tree: pytest.Pytester) -> None:
    path = tree.path / ".verify/evidence/one.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    name_every_file(tree, line=f"open({str(path)!r}).close()")
    assert [times(tree), times(tree)] == [2, 2]


def test_draws_of_hypothesis_do_not_depend_on_what_else_is_loaded() -> None:
    """Here a test would draw numbers that stand in any module that another test has imported."""
    providers = pytest.importorskip("hypothesis.internal.conjecture.providers")
    assert len(providers._get_local_constants()) == 0


def test_what_the_test_does_not_reach_is_none(tree: pytest.Pytester) -> None:
    assert times(tree) == 2
    for name in ("test_other.py", "verify/site/pages.py", "notes/other.md"):
        write(name)(tree.path, None)  # type: ignore[arg-type]
    assert times(tree) == 0


@pytest.mark.parametrize("reaching", ["import verify.site.pages", "import subprocess", "NAME = 'verify.site.pages'"])
def test_what_shows_evidence_counts_for_tests_that_reach_it(tree: pytest.Pytester, reaching: str) -> None:
    root = tree.path
    (root / "layers.py").write_text(f"def show():\n    {reaching}\n")
    module = root / "test_layers.py"
    kept.forget()
    if "NAME" in reaching:  # names in texts count in the tests' own modules alone
        module.write_text(f"{module.read_text()}\n{reaching}\n")
    assert root / "verify/site/pages.py" in kept.files_of(root, module)


def test_what_a_fixture_reaches_counts_for_the_tests_that_use_it(tree: pytest.Pytester) -> None:
    fixture = "import pytest\n\n@pytest.fixture{}\ndef site():\n    import verify.site.pages\n"
    for number, used in enumerate(("", "(autouse=True)")):
        tree.makeconftest(fixture.format(used))
        assert times(tree) == 2
        write("verify/site/pages.py")(tree.path, None)  # type: ignore[arg-type]
        assert times(tree) == (2 if number else 0)


def test_again_runs_all_and_names_what_differs(tree: pytest.Pytester) -> None:
    assert times(tree) == 2
    assert times(tree, "--again") == 2 and times(tree) == 0
    outside = tree.path.parent / "state"  # an input that nobody knows of
    (tree.path / "layers.py").write_text(f"import os\nVALUE = not os.path.exists({str(outside)!r})\n")
    assert times(tree) == 2
    outside.touch()
    assert times(tree) == 0
    result = tree.runpytest_inprocess("-p", "tests.kept", "--again", "test_layers.py")
    result.stdout.fnmatch_lines(["DIFFERS  test_layers.py::test_layer passed before, with the same inputs"])
    outside.unlink()
    assert [times(tree), times(tree)] == [2, 2], "what failed once with these inputs is never taken from evidence"


@pytest.mark.parametrize(
    ("value", "outcomes"), [("0", {"failed": 1}), ("pytest.skip(allow_module_level=False)", {"skipped": 1})]
)
def test_only_a_pass_is_reused(tree: pytest.Pytester, value: str, outcomes: dict[str, int]) -> None:
    module = tree.path / "test_layers.py"
    module.write_text(module.read_text().replace("assert VALUE", f"assert {value}"))
    assert [times(tree, **outcomes), times(tree, **outcomes)] == [2, 2]


def test_an_error_after_the_test_is_no_pass(tree: pytest.Pytester) -> None:
    module = tree.path / "test_layers.py"
    module.write_text(
        module.read_text().replace("def prepared():\n    ran()", "def prepared():\n    yield ran()\n    raise OSError")
    )
    assert [times(tree, passed=1, errors=1), times(tree, passed=1, errors=1)] == [2, 2]


@pytest.mark.parametrize(
    ("name", "where", "b"),
    [
        ("test_layers.py", "    ", ""),
        ("test_layers.py", "    ", "b"),
        ("test_layers.py", "", ""),
        ("layers.py", "", ""),
        ("below.py", "", ""),
    ],
)
def test_nothing_is_kept_of_a_test_that_opens_what_its_marker_does_not_name(
    tree: pytest.Pytester, name: str, where: str, b: str
) -> None:
    """Whether the test opens it, by text or bytes, its module does, or a module that others have imported before."""
    tree.makepyfile(below="", test_above="import below\n")
    (tree.path / "layers.py").write_text("import below\nVALUE = True\n")
    module = tree.path / name
    module.write_text(f"{module.read_text()}\n{where}open({b}'notes/other.md').close()\n")
    result = tree.runpytest_inprocess("-p", "tests.kept", "test_above.py", "test_layers.py")
    result.stdout.fnmatch_lines(["NOT KEPT  test_layers.py::test_layer: *reads notes/other.md, which its marker*"])
    assert times(tree) == 2
    module.write_text(module.read_text().replace("notes/other.md", "docs/table.md"))
    before = dict(opened.IMPORTED)
    opened.IMPORTED.clear()  # as in a new process
    assert [times(tree), times(tree)] == [2, 0]
    opened.IMPORTED.update(before)


def test_what_a_module_opens_counts_for_the_tests_after_the_one_that_imports_it(tree: pytest.Pytester) -> None:
    (tree.path / "layers.py").write_text("open('notes/other.md').close()\n")
    importing = "\n    import layers\n"
    tests = [f"@pytest.mark.kept\ndef test_{name}():{importing}" for name in ("importing", "after")]
    (tree.path / "test_layers.py").write_text(
        "\n".join(["import pytest\n", "@pytest.mark.kept\ndef test_before():\n    pass\n", *tests])
    )
    for _ in range(2):
        result = tree.runpytest_inprocess("-p", "tests.kept", "test_layers.py")
        result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["1 of 1 tests whose inputs are known from evidence*"])


def test_what_a_fixture_opens_once_is_opened_for_every_test_that_it_serves(tree: pytest.Pytester) -> None:
    module = tree.path / "test_layers.py"
    module.write_text(f"""{module.read_text()}
@pytest.fixture(scope="module")
def page():
    return Path('notes/other.md').read_text()

@pytest.fixture(scope="module")
def words(page):
    return page.split()

@pytest.mark.kept
def test_first(page):
    pass

@pytest.mark.kept
def test_second(words):
    pass
""")
    for _ in range(2):
        result = tree.runpytest_inprocess("-p", "tests.kept", "test_layers.py")
        result.assert_outcomes(passed=3)
        assert sum("NOT KEPT" in line for line in result.outlines) == 1
    result.stdout.fnmatch_lines(["1 of 1 tests whose inputs are known from evidence*"])


def test_nothing_is_kept_of_code_that_was_written_during_the_run(tree: pytest.Pytester) -> None:
    (tree.path / "layers.py").write_text(
        "import os\nVALUE = 1\nos.utime(os.path.join(os.path.dirname(__file__), 'verify/gate/measure.py'), (0, 0))\n"
    )
    assert [times(tree), times(tree), times(tree)] == [2, 2, 0]


def test_workers_keep_and_reuse(tree: pytest.Pytester) -> None:
    assert times(tree) == 2
    for options in (("-n", "1"), ("-n", "1", "--again"), ()):
        assert times(tree, *options) == (2 if "--again" in options else 0)
