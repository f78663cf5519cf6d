"""The gate in pytest: implementations named on the command line or in pyproject.toml, as items of the run.

    pytest --subject hessian.attention=mylib.layers:attention
    pytest --subjects                 those of [tool.verify.subjects] in pyproject.toml

Without either option the plugin collects nothing and prints nothing.  A run in which every check of an implementation was
skipped fails: nothing was decided about it.  So does one that names implementations in its command and selects none of the
checks of one of them; where the options come from a configuration file, that is said and does not fail.
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
        config.pluginmanager.register(_Decided(config), "theorem-subjects")


def _entries(config: pytest.Config) -> list[tuple[str, str, dict[str, Any]]]:
    """The implementations that are to be checked: the name of each among the items, its subject and its options."""
    from verify.gate.table import entries_of, entry_of_text

    entries = entries_of(config.rootpath) if config.option.subjects else []
    if config.option.subjects and not entries:
        path = config.rootpath / "pyproject.toml"
        raise InputError("--subjects", "a table [tool.verify.subjects]", f"none in {str(path)!r}")
    entries += [entry_of_text(text) for text in config.option.subject]
    several = Counter(subject for subject, _ in entries)
    return [
        (f"{subject}[{entry['implementation']}]" if several[subject] > 1 else subject, subject, entry)
        for subject, entry in entries
    ]


class _Decided:
    """Reads in the reports of all workers whether anything was decided about each implementation."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.by_name: dict[str, bool] = {}

    @property
    def open(self) -> list[str]:
        return [name for name, is_decided in self.by_name.items() if not is_decided]

    @property
    def unselected(self) -> list[str]:
        """Implementations of which no check was run, with -k or -m for example, in a run that ended well."""
        try:
            return [name for name, _, _ in _entries(self.config) if name not in self.by_name]
        except InputError:  # the run has said so
            return []

    @property
    def is_named(self) -> bool:
        """Whether the command itself names implementations, and not a configuration file alone."""
        return any(str(word).startswith("--subject") for word in self.config.invocation_params.args)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid.startswith(NODES) and (report.when == "call" or report.outcome != "passed"):
            name = report.nodeid.removeprefix(NODES).partition("::")[0]
            is_decided = report.outcome != "skipped" or hasattr(report, "wasxfail")
            self.by_name[name] = is_decided or self.by_name.get(name, False)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        config = session.config
        if exitstatus != pytest.ExitCode.OK or hasattr(config, "workerinput") or config.option.collectonly:
            return
        if self.open or (self.is_named and self.unselected):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> None:
        decided = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if exitstatus in decided and not self.config.option.collectonly:
            for name in self.unselected:
                terminalreporter.line(
                    f"subjects: nothing was decided about {name}; none of its checks was run", red=True
                )
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
        assert self.parent is not None  # the node of its implementation
        return self.config.rootpath, None, f"{self.parent.name} {self.name}"


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
    from verify.gate.table import importable

    try:
        for name, subject, entry in _entries(config):
            node: SubjectNode = SubjectNode.from_parent(session, name=name, nodeid=f"{NODES}{name}")
            with importable(config.rootpath):
                node.made = gate(subject, **entry)
            items.extend(node.collect())
    except (InputError, RegistryError) as problem:
        if not hasattr(config, "workerinput"):
            raise pytest.UsageError(str(problem)) from None
        items[:] = [WrongUsage.from_parent(session, name="usage", nodeid=f"{NODES}usage", why=str(problem))]
