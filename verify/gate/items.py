"""The gate in pytest: implementations named on the command line or in pyproject.toml, as items of the run.

    pytest --subject hessian.attention=mylib.layers:attention
    pytest --subjects                 those of [tool.verify.subjects] in pyproject.toml

Without either option the plugin collects nothing and prints nothing.  A run in which every check of an implementation was
skipped fails: nothing was decided about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from verify.vocabulary.errors import InputError, RegistryError


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("theorems")
    group.addoption(
        "--subject",
        action="append",
        default=[],
        metavar="SUBJECT=MODULE:FUNCTION",
        help="check an implementation of a subject against the theorems about it",
    )
    group.addoption(
        "--subjects", action="store_true", help="check the implementations in [tool.verify.subjects] of pyproject.toml"
    )


#: How the names of these items begin.
NODES = "subjects::"


def pytest_configure(config: pytest.Config) -> None:
    if config.option.subject or config.option.subjects:
        config.pluginmanager.register(_Decided(), "theorem-subjects")


class _Decided:
    """Reads in the reports of all workers whether anything was decided about each implementation."""

    def __init__(self) -> None:
        self.by_name: dict[str, bool] = {}

    @property
    def open(self) -> list[str]:
        return [name for name, is_decided in self.by_name.items() if not is_decided]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid.startswith(NODES) and (report.when == "call" or report.outcome != "passed"):
            name = report.nodeid.removeprefix(NODES).partition("::")[0]
            is_decided = report.outcome != "skipped" or hasattr(report, "wasxfail")
            self.by_name[name] = self.by_name.get(name, False) or is_decided

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.open and exitstatus == pytest.ExitCode.OK and not hasattr(session.config, "workerinput"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for name in self.open:
            terminalreporter.line(
                f"subjects: nothing was decided about {name}; all of its checks were skipped", red=True
            )


class SubjectNode(pytest.Collector):
    """One implementation; its items are its checks."""

    made: Any

    def collect(self) -> Iterator[pytest.Item]:
        from verify.gate.parametrize import SubjectCheck

        for name, dtype in self.made.checks:
            item: SubjectItem = SubjectItem.from_parent(
                self, name=f"{name}-{dtype}", callobj=SubjectCheck(self.made, name, dtype)
            )
            item.add_marker("theorem")
            yield item


class SubjectItem(pytest.Function):
    """One check of one implementation."""

    def runtest(self) -> None:
        self.obj()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from verify.gate.subject_errors import SubjectFailure

        return str(excinfo.value) if isinstance(excinfo.value, SubjectFailure) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.config.rootpath, None, f"{self.parent.name if self.parent else ''} {self.name}"


class WrongUsage(pytest.Item):
    """Stands for all items in a worker of pytest-xdist, which has no other way to say what is wrong."""

    def __init__(self, why: str, **given: Any) -> None:
        super().__init__(**given)
        self.why = why

    def runtest(self) -> None:
        raise pytest.UsageError(self.why)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value)


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose among the items
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    if not (config.option.subject or config.option.subjects):
        return
    from verify.gate.checking import gate
    from verify.gate.table import entries_of, entry_of_text, importable

    try:
        entries = entries_of(config.rootpath) if config.option.subjects else []
        if config.option.subjects and not entries:
            path = config.rootpath / "pyproject.toml"
            raise InputError("--subjects", "a table [tool.verify.subjects]", f"none in {str(path)!r}")
        entries += [entry_of_text(text) for text in config.option.subject]
        several = Counter(subject for subject, _ in entries)
        for subject, entry in entries:
            name = f"{subject}[{entry['implementation']}]" if several[subject] > 1 else subject
            node: SubjectNode = SubjectNode.from_parent(session, name=name, nodeid=f"{NODES}{name}")
            with importable(config.rootpath):
                node.made = gate(subject, **entry)
            items.extend(node.collect())
    except (InputError, RegistryError) as problem:
        if not hasattr(config, "workerinput"):
            raise pytest.UsageError(str(problem)) from None
        items[:] = [WrongUsage.from_parent(session, name="usage", nodeid=f"{NODES}usage", why=str(problem))]
