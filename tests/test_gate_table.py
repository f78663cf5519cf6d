"""The table of implementations and the option `--subject`: what is read, what is refused, and what pytest makes of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from verify.gate import checking, items, parametrize, table
from verify.gate.findings import BROKEN, LEFT_OUT, SATISFIED, UNCHECKABLE, UNREACHED, Finding
from verify.gate.parametrize import SubjectCheck, parametrize_with_theorems
from verify.gate.subject_errors import SubjectFailure
from verify.vocabulary import InputError
from verify.vocabulary.errors import RegistryError

pytestmark = pytest.mark.kept


def read(tmp_path: Path, text: str) -> list[tuple[str, dict[str, Any]]]:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    return table.entries_of(tmp_path)


def said(work: Callable[[], Any]) -> str:
    """What is said of a wrong entry."""
    with pytest.raises(InputError) as raised:
        work()
    return str(raised.value)


# -- the table ---------------------------------------------------------------------------------------------------------


def test_entries_are_read_in_their_order_with_all_that_they_may_say(tmp_path: Path) -> None:
    for empty in ("", "[tool]\n", "[tool.verify]\n", "[tool.verify.subjects]\n", "[other]\na = 1\n"):
        assert read(tmp_path, empty) == []
    full = {
        "implementation": "m:f", "adapter": "a:b", "claims": ["x", "y"], "effort": "ci", "dtypes": ["float64"],
        "device": "cpu", "require": ["derivatives"], "sizes": {"d": 3, "e": [1, 2]}, "where": "w:w", "accept": ["z"],
    }  # fmt: skip
    entry = """
        {implementation = "m:f", adapter = "a:b", claims = ["x", "y"], effort = "ci", dtypes = ["float64"],
         device = "cpu", require = ["derivatives"], sizes = {d = 3, e = [1, 2]}, where = "w:w", accept = ["z"]}
    """.replace("\n", " ")
    text = f'[tool.verify.subjects]\n"b.b" = ["m:g", {{implementation = "m:ü"}}]\n"a.a" = {entry}\n'
    assert read(tmp_path, text) == [
        ("b.b", {"implementation": "m:g"}),
        ("b.b", {"implementation": "m:ü"}),
        ("a.a", full),
    ]
    for one in ('claims = "x"', 'require = "x"', 'accept = "x"', 'adapter = {call = "a:b", heads = 2}'):
        ((_, found),) = read(tmp_path, f'[tool.verify.subjects]\na = {{implementation = "m:f", {one}}}\n')
        assert len(found) == 2


@pytest.mark.parametrize(("text", "what"), [
    ("tool = 1", "tool: expected a table; got 1"),
    ("[tool]\nverify = 'x'", "tool.verify: expected a table; got 'x'"),
    ("[tool.verify]\nsubjects = [1]", "tool.verify.subjects: expected a table; got [1]"),
    ("[tool.verify.subjects]\na = []", "tool.verify.subjects.a: expected at least one implementation; got none"),
])  # fmt: skip
def test_what_is_no_table_is_named_by_its_place(tmp_path: Path, text: str, what: str) -> None:
    assert said(lambda: read(tmp_path, text)) == what


@pytest.mark.parametrize(("entry", "what"), [
    ("1", ": expected 'package.module:function', or a table with implementation; got 1"),
    ("{effort = 'ci'}", ": expected 'package.module:function', or a table with implementation; got {'effort': 'ci'}"),
    ("{implementation = 1}",
     ": expected 'package.module:function', or a table with implementation; got {'implementation': 1}"),
    ("{implementation = 'm:f', z = 1, speed = 2}",
     f": expected implementation and any of {list(table.OPTIONS)}; got also ['speed', 'z']"),
    ("{implementation = 'm:f', dtypes = 'float64'}", ".dtypes: expected a list of precisions by name; got 'float64'"),
    ("{implementation = 'm:f', dtypes = []}", ".dtypes: expected a list of precisions by name; got []"),
    ("{implementation = 'm:f', dtypes = ['float64', 1]}",
     ".dtypes: expected a list of precisions by name; got ['float64', 1]"),
    ("{implementation = 'm:f', effort = 1}", ".effort: expected text; got 1"),
    ("{implementation = 'm:f', claims = ['x'], sizes = {n = 1}, effort = 1}", ".effort: expected text; got 1"),
    ("{implementation = 'm:f', effort = ['ci']}", ".effort: expected text; got ['ci']"),
    ("{implementation = 'm:f', device = {a = 1}}", ".device: expected text; got {'a': 1}"),
    ("{implementation = 'm:f', where = 1}", ".where: expected text; got 1"),
    ("{implementation = 'm:f', claims = 1}", ".claims: expected text; got 1"),
    ("{implementation = 'm:f', require = 1}", ".require: expected text; got 1"),
    ("{implementation = 'm:f', accept = 1}", ".accept: expected text; got 1"),
    ("{implementation = 'm:f', adapter = ['a']}",
     ".adapter: expected text, or a table with call and options; got ['a']"),
])  # fmt: skip
def test_a_wrong_entry_is_named_with_what_it_may_say(tmp_path: Path, entry: str, what: str) -> None:
    expected = f"tool.verify.subjects.a{what}"
    assert said(lambda: read(tmp_path, f"[tool.verify.subjects]\na = {entry}\n")) == expected


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = repr(str(tmp_path / "pyproject.toml"))
    assert said(lambda: read(tmp_path, "a = ")).startswith(f"pyproject.toml: expected a file of TOML; got {where} (")
    (tmp_path / "pyproject.toml").write_bytes(b'a = "\xff"')
    assert said(lambda: table.entries_of(tmp_path)).startswith(
        f"pyproject.toml: expected a file of TOML; got {where} ('utf-8' codec"
    )

    def refused(*given: Any, **how: Any) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refused)
    what = said(lambda: table.entries_of(tmp_path))
    assert what == f"pyproject.toml: expected a file that can be read; got {where} (Permission denied)"


@pytest.mark.parametrize(("version", "name"), [((3, 10, 9), "tomli"), ((3, 11), "tomllib"), ((3, 12, 0), "tomllib")])
def test_a_table_is_read_as_utf_8_by_the_reader_that_python_or_pytest_brings(
    version: tuple[int, ...], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").touch()

    def import_module(asked: str) -> Any:
        assert asked == name
        return SimpleNamespace(loads=lambda text: {"tool": {"verify": {"subjects": {text: "m:f"}}}})

    monkeypatch.setattr(table, "sys", SimpleNamespace(version_info=version))
    monkeypatch.setattr(table, "importlib", SimpleNamespace(import_module=import_module))
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: encoding.lower())
    assert table.entries_of(tmp_path) == [("utf-8", {"implementation": "m:f"})]


def test_the_option_of_the_command_line_is_read() -> None:
    assert table.entry_of_text("a.b=m.n:f=g") == ("a.b", {"implementation": "m.n:f=g"})
    for wrong in ("a.b", "a.b=m", "a:b"):
        assert said(lambda text=wrong: table.entry_of_text(text)) == (  # type: ignore[misc]
            f"--subject: expected SUBJECT=package.module:function; got {wrong!r}"
        )


def test_modules_of_a_folder_can_be_imported_inside_a_block_alone(tmp_path: Path) -> None:
    before = list(sys.path)
    with table.importable(tmp_path):
        assert sys.path == [str(tmp_path), *before]
    assert sys.path == before
    with table.importable(tmp_path):
        sys.path.remove(str(tmp_path))  # as a module may do that is imported
    assert sys.path == before


# -- items of a run ----------------------------------------------------------------------------------------------------


def config(*subject: str, subjects: bool = False, folder: Path | None = None, **given: Any) -> Any:
    options = {"subject": list(subject), "subjects": subjects, "collectonly": False} | given.pop("option", {})
    arguments = given.pop("arguments", ())
    return SimpleNamespace(
        option=SimpleNamespace(**options), rootpath=folder or Path(), invocation_params=SimpleNamespace(args=arguments),
        **given,
    )  # fmt: skip


def test_the_options_and_what_they_are_for() -> None:
    parser = pytest.Parser(_ispytest=True)
    items.pytest_addoption(parser)
    given = parser.parse_known_args(["--subject", "a=m:f", "--subject", "b=m:g"])
    assert (given.subject, given.subjects) == (["a=m:f", "b=m:g"], False)
    given = parser.parse_known_args(["--subjects"])
    assert (given.subject, given.subjects) == ([], True)
    one, table_of = (option.attrs() for option in parser.getgroup("theorems").options)
    assert one["metavar"] == "SUBJECT=MODULE:FUNCTION"
    assert one["help"] == "check an implementation of a subject against the theorems about it"
    assert table_of["help"] == "check the implementations in [tool.verify.subjects] of pyproject.toml"


def test_the_plugin_is_registered_where_implementations_are_named() -> None:
    for of, expected in (
        (config(), []),
        (config("a=m:f"), ["theorem-subjects"]),
        (config(subjects=True), ["theorem-subjects"]),
    ):
        registered: list[tuple[Any, str]] = []
        of.pluginmanager = SimpleNamespace(register=lambda *given, kept=registered: kept.append(given))
        items.pytest_configure(of)
        assert [name for _, name in registered] == expected
        assert all(plugin.config is of and plugin.by_name == {} for plugin, _ in registered)


def test_implementations_of_one_subject_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.verify.subjects]\na = 'm:f'\nb = {implementation = 'm:g', effort = 'ci'}\n"
    )
    assert items._entries(config("a=m:h", folder=tmp_path, subjects=True)) == [
        ("a[m:f]", "a", {"implementation": "m:f"}), ("b", "b", {"implementation": "m:g", "effort": "ci"}),
        ("a[m:h]", "a", {"implementation": "m:h"}),
    ]  # fmt: skip
    assert items._entries(config("a=m:h", folder=tmp_path)) == [("a", "a", {"implementation": "m:h"})]
    (tmp_path / "pyproject.toml").write_text("")
    assert said(lambda: items._entries(config(folder=tmp_path, subjects=True))) == (
        f"--subjects: expected a table [tool.verify.subjects]; got none in {str(tmp_path / 'pyproject.toml')!r}"
    )


def report(name: str, outcome: str, when: str = "call", **given: Any) -> Any:
    return SimpleNamespace(nodeid=f"{items.NODES}{name}::definition-float64", outcome=outcome, when=when, **given)


def decided(of: Any, *reports: Any) -> Any:
    plugin = items._Decided(of)
    for each in reports:
        plugin.pytest_runtest_logreport(each)
    return plugin


def test_an_implementation_is_decided_where_one_of_its_checks_was_not_skipped() -> None:
    skipped, passed = report("a", "skipped"), report("a", "passed")
    for reports, by_name in (
        ([], {}), ([skipped], {"a": False}), ([skipped, passed], {"a": True}), ([passed, skipped], {"a": True}),
        ([report("a", "failed")], {"a": True}), ([report("a", "skipped", wasxfail="")], {"a": True}),
        ([report("a", "passed", "setup"), report("a", "passed", "teardown")], {}),
        ([report("a", "skipped", "setup")], {"a": False}), ([report("a", "failed", "setup")], {"a": True}),
        ([SimpleNamespace(nodeid="tests/test_a.py::test_a", outcome="passed", when="call")], {}),
        ([skipped, report("b[m:f]", "passed")], {"a": False, "b[m:f]": True}),
    ):  # fmt: skip
        plugin = decided(config(), *reports)
        assert plugin.by_name == by_name and plugin.open == [name for name, known in by_name.items() if not known]


OK, FAILED = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(("arguments", "reports", "given", "status", "ended"), [
    (["--subject", "a=m:f"], [report("a", "passed")], {}, OK, OK),
    (["--subject", "a=m:f"], [report("a", "skipped")], {}, OK, FAILED),
    ([], [report("a", "skipped")], {}, OK, FAILED),
    (["--subject", "a=m:f"], [], {}, OK, FAILED),
    (["--subject=a=m:f"], [], {}, OK, FAILED),
    ([Path("tests"), "-k", "x"], [], {}, OK, OK),
    (["--subject", "a=m:f"], [], {"workerinput": {}}, OK, OK),
    (["--subject", "a=m:f"], [], {"option": {"collectonly": True}}, OK, OK),
    (["--subject", "a=m:f"], [], {}, pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.NO_TESTS_COLLECTED),
    (["--subject", "a=m:f"], [report("a", "skipped")], {}, pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERRUPTED),
])  # fmt: skip
def test_a_run_that_ends_well_and_decides_nothing_of_an_implementation_fails(
    arguments: list[Any], reports: list[Any], given: dict[str, Any], status: Any, ended: Any
) -> None:
    of = config("a=m:f", arguments=arguments, **given)
    session: Any = SimpleNamespace(exitstatus=status, config=of)
    decided(of, *reports).pytest_sessionfinish(session, status)
    assert session.exitstatus == ended


SKIPPED = "subjects: nothing was decided about a; all of its checks were skipped"
NONE = "subjects: nothing was decided about {}; none of its checks was run"


@pytest.mark.parametrize(("reports", "status", "collectonly", "lines"), [
    ([report("a", "passed"), report("b", "passed")], OK, False, []),
    ([report("a", "skipped"), report("b", "passed")], FAILED, False, [SKIPPED]),
    ([report("a", "skipped")], OK, False, [NONE.format("b"), SKIPPED]),
    ([report("a", "skipped")], FAILED, False, [NONE.format("b"), SKIPPED]),
    ([], OK, True, []),
    ([], pytest.ExitCode.USAGE_ERROR, False, []),
    ([report("a", "skipped")], pytest.ExitCode.INTERRUPTED, False, [SKIPPED]),
])  # fmt: skip
def test_what_was_not_decided_is_said_at_the_end(
    reports: list[Any], status: Any, collectonly: bool, lines: list[str]
) -> None:
    told: list[str] = []

    def line(text: str, red: bool) -> None:
        assert red is True
        told.append(text)

    of = config("a=m:f", "b=m:g", option={"collectonly": collectonly})
    decided(of, *reports).pytest_terminal_summary(SimpleNamespace(line=line), status)
    assert told == lines


def test_a_wrong_option_is_said_once_and_not_again_at_the_end() -> None:
    assert decided(config("a")).unselected == []


@pytest.fixture
def session(request: pytest.FixtureRequest) -> pytest.Session:
    return request.session


def collected(session: pytest.Session, of: Any, made: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(checking, "gate", made)
    found: list[Any] = ["first"]
    items.pytest_collection_modifyitems(session, of, found)
    return found


def test_the_checks_of_each_implementation_are_items_behind_the_tests(
    session: pytest.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def made(subject: str, **entry: Any) -> Any:
        asked.append((subject, entry, sys.path[0]))
        return SimpleNamespace(checks=[("definition", "float64"), ("a.claim", "float32")], subject=subject)

    assert collected(session, config(folder=tmp_path), made, monkeypatch) == ["first"] and asked == []
    first, one, other, *rest = collected(session, config("a=m:f", "b=m:g", folder=tmp_path), made, monkeypatch)
    assert first == "first" and len(rest) == 2
    assert asked == [("a", {"implementation": "m:f"}, str(tmp_path)), ("b", {"implementation": "m:g"}, str(tmp_path))]
    assert (one.nodeid, other.nodeid) == ("subjects::a::definition-float64", "subjects::a::a.claim-float32")
    assert rest[0].nodeid == "subjects::b::definition-float64"
    assert one.get_closest_marker("theorem") is not None
    assert (one.obj.made.subject, one.obj.check, one.obj.dtype) == ("a", "definition", "float64")
    assert one.reportinfo() == (one.config.rootpath, None, "a definition-float64")


def test_an_item_makes_its_check_and_a_failure_is_the_report_alone(
    session: pytest.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = SimpleNamespace(checks=[("definition", "float64")])
    _, item = collected(session, config("a=m:f", folder=tmp_path), lambda *_, **__: made, monkeypatch)
    calls: list[int] = []
    item.obj = lambda: calls.append(1)
    item.runtest()
    assert calls == [1]

    def told(problem: Exception) -> str:
        with pytest.raises(type(problem)) as raised:
            raise problem
        return str(item.repr_failure(raised))

    assert told(SubjectFailure("broken: it is")) == "broken: it is"
    assert "ValueError: no" in told(ValueError("no"))


@pytest.mark.parametrize("problem", [InputError("a", "b", "c"), RegistryError("no")])
def test_wrong_use_ends_a_run_and_is_an_item_of_a_worker(
    problem: Exception, session: pytest.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*given: Any, **entry: Any) -> Any:
        raise problem

    with pytest.raises(pytest.UsageError) as raised:
        collected(session, config("a=m:f", folder=tmp_path), refused, monkeypatch)
    assert str(raised.value) == str(problem)
    (item,) = collected(session, config("a=m:f", folder=tmp_path, workerinput={}), refused, monkeypatch)
    assert item.nodeid == "subjects::usage" and item.name == "usage"
    with pytest.raises(pytest.UsageError) as raised:
        item.runtest()
    assert str(raised.value) == str(problem) == item.repr_failure(raised)


# -- parameters of a test ----------------------------------------------------------------------------------------------


def checked(status: str, required: tuple[str, ...] = (), why: str = "no", causes: tuple[str, ...] = ()) -> Finding:
    """What a check of a test makes of a finding."""
    found = Finding("a.claim", "Claim 1", "float64", status, why)

    def run(check: str, dtype: str) -> Finding:
        assert (check, dtype) == ("a.claim", "float64")
        return found

    def causes_of(finding: Finding) -> list[str]:
        assert finding is found
        return list(causes)

    made = SimpleNamespace(subject="a", title="m.f", required=required, run=run, causes_of=causes_of)
    check = SubjectCheck(made, "a.claim", "float64")  # type: ignore[arg-type]
    assert str(check) == "a-a.claim-float64"
    kept = check()
    assert kept is found
    return kept


def test_a_check_passes_where_it_is_satisfied_fails_where_it_is_broken_and_is_skipped_otherwise() -> None:
    with pytest.raises(SubjectFailure) as broken:
        checked(BROKEN, causes=("one", "other"))
    assert broken.traceback[-1].ishidden(broken), "the message says what is wrong"
    text = "a implemented by m.f\nbroken: a.claim in float64 (Claim 1): no"
    assert str(broken.value) == f"{text}\nlikely cause: one\nlikely cause: other"
    for status in (UNCHECKABLE, UNREACHED, LEFT_OUT):
        with pytest.raises(pytest.skip.Exception) as skipped:
            checked(status, ("b.*",))
        assert str(skipped.value) == f"a.claim: {status}: no"
        with pytest.raises(SubjectFailure) as missing:
            checked(status, ("a.*",))
        assert str(missing.value) == f"a implemented by m.f\n{status}: a.claim in float64 (Claim 1): no"
    for required in ((), ("a.*",)):
        try:
            checked(SATISFIED, required)
        except pytest.skip.Exception:
            pytest.fail("a check that is satisfied is skipped")


def test_a_test_has_every_check_of_every_pair_as_a_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def made(subject: str, implementation: Any, **options: Any) -> Any:
        asked.append((subject, implementation, options))
        return SimpleNamespace(subject=subject, checks=[("definition", "float64"), ("a.claim", "float32")])

    monkeypatch.setattr(parametrize, "gate", made)
    mark = parametrize_with_theorems([("a", print), ["b", len, "m:adapter"]], effort="ci").mark
    assert asked == [
        ("a", print, {"adapter": None, "effort": "ci"}), ("b", len, {"adapter": "m:adapter", "effort": "ci"})
    ]  # fmt: skip
    assert mark.name == "parametrize" and mark.args[0] == "check"
    ids = ["a-definition-float64", "a-a.claim-float32", "b-definition-float64", "b-a.claim-float32"]
    assert (
        [parameter.id for parameter in mark.args[1]] == [str(parameter.values[0]) for parameter in mark.args[1]] == ids
    )
    assert parametrize_with_theorems([("a", print)], "one").mark.args[0] == "one"


def test_what_is_no_list_of_pairs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parametrize, "gate", lambda *_, **__: SimpleNamespace(subject="a", checks=[]))
    expected = "pairs (subject, implementation) or triples (subject, implementation, adapter), at least one"
    for pairs, got in (
        ("ab", "'ab'"), (1, "1"), ([("a",)], "('a',)"), (["ab"], "'ab'"), ([(1, 2, 3, 4)], "(1, 2, 3, 4)"), ([], "none"),
        ([("a", print)], "none"),
    ):  # fmt: skip
        assert said(lambda of=pairs: parametrize_with_theorems(of)) == f"pairs: expected {expected}; got {got}"  # type: ignore
    for argument in (1, "a b", ""):
        assert said(lambda of=argument: parametrize_with_theorems([("a", print)], of)) == (  # type: ignore
            f"argument: expected the name of an argument of the test; got {argument!r}"
        )
