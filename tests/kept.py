"""Tests whose outcome follows from known inputs pass by the outcome that was kept of them, as checks of claims do.

    @pytest.mark.kept                           code alone decides
    @pytest.mark.kept("docs/wrong-layers.md")   and a file, or the files of a folder, that the test reads
    @pytest.mark.kept("rocq/*.py")              the files of a pattern, whichever there are
    @pytest.mark.kept("../shared/claims")       outside the project nobody watches what is opened: it has to be named
    @pytest.mark.kept(".")                      every file of the project, for a test that starts processes
    @pytest.mark.kept(".", programs=["git"])    and programs that it or its processes start, besides Python

Its inputs are all claims and the engine, the module of the test and what that imports or names, the files of the marker,
the installed libraries, Python, the processor, and the options of the run.  If one of them is another, the test runs.  If a
test opens another file of the project, nothing is kept of it, and the summary names the file.  What a process opens that is
no fork of the loaded one nobody sees: so the test has to name every file of the project, or nothing is kept of it.

Only a test that passed is not run again.  One that failed is kept as failed, and runs until an input is another.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import time
from collections.abc import Collection, Generator, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.opened import IMPORTED, STARTED, listen, watching
from tests.surroundings import around_processes, is_covered, surroundings
from verify.checks.record import UPHELD, VIOLATED, Record
from verify.evidence.sources import digest_of, source_of
from verify.evidence.store import EvidenceWriter, current, in_force, read

#: Folders of which every file counts, whatever a test imports: claims are found by their names, certificates by their claims.
WHOLE = ("theorems", "verify")
#: Folders of these that count for tests that reach them, or that start processes: commands, and what is shown of evidence.
PARTS = ("verify/cli", "verify/report", "verify/site")
#: What every test is run by; pytest reads settings of its own before those of the project, where there are any.
SETTINGS = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml")
RUNNERS = (*SETTINGS, "tests/durations.py", "tests/kept.py", "tests/opened.py", "tests/surroundings.py")
#: What a marker says that names every file of the project.
EVERY = "."
#: What commands write into the project's folder, which is no input, and what is hidden there and is one.
WRITTEN = ("build", "dist", "mutants", "report", "rocq/claims")
COMPILED = (".vo", ".vos", ".vok", ".glob")
NOT_HIDDEN = (".ci", ".gitignore", ".verify")
#: In the text of a test: names of modules of the project, and what starts other processes or other runs of pytest.
_NAMED = re.compile(r"\b(?:tests|theorems|verify)(?:\.[A-Za-z_]\w*)+")
_STARTS = re.compile(r"\b(?:subprocess|multiprocessing|pytester|runpy|fork)\b")
CHECK = "test"  #: of the records of tests
AS = "kept as"  #: the fingerprint, where reports of workers come together
NOT_KEPT = "not kept"  #: why
WRITTEN_TO = "written to"  #: tests whose inputs were written to, of those that ended since it was last asked
FROM_EVIDENCE = "kept outcome"
#: How many seconds pass before it is asked again: there are a thousand inputs, most tests take milliseconds, and what was found
#: is then forced to disk.
SECONDS = 5.0


# -- inputs ------------------------------------------------------------------------------------------------------------


@functools.cache
def _module_file(root: Path, name: str) -> Path | None:
    path = root.joinpath(*name.split("."))
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            return file
    return None


@functools.cache
def _mentioned_by(root: Path, file: Path) -> frozenset[str]:
    """Names of modules of the project that a file imports; for one of the tests also those that its text has."""
    package = ".".join(file.parent.relative_to(root).parts)
    imports = (item for several in source_of(file, package).imports.values() for item in several)
    found = {origin if name is None else f"{origin}.{name}" for origin, name in imports}
    return frozenset(
        found | set(_NAMED.findall(file.read_text(encoding="utf-8"))) if _is_of_tests(root, file) else found
    )


def _is_of_tests(root: Path, file: Path) -> bool:
    return file not in _whole(root)


def _is_own(root: Path, path: Path) -> bool:
    """Whether it is a file of the project; what an installation wrote about it follows from others that are inputs."""
    parts = path.relative_to(root).parts if path.is_relative_to(root) else ()
    hidden = any(part.startswith(".") and part not in NOT_HIDDEN for part in parts)
    return bool(parts) and not hidden and not any(part.endswith(".egg-info") for part in parts)


@functools.cache
def _leads_to(root: Path, file: Path) -> frozenset[Path]:
    """Modules of the project that a file names, and the packages that they are in."""
    names = {
        ".".join(parts[:number])
        for parts in (name.split(".") for name in _mentioned_by(root, file))
        for number in range(1, len(parts) + 1)
    }
    return frozenset(path for name in names if (path := _module_file(root, name)) is not None)


@functools.cache
def _reached_from(root: Path, file: Path) -> frozenset[Path]:
    """Modules of the project that a file comes to, itself among them."""
    found: set[Path] = set()
    left = {file}
    while left:
        found |= left
        left = set().union(*(_leads_to(root, each) for each in left)) - found
    return frozenset(found)


@functools.cache
def _starts(file: Path) -> bool:
    """Whether the text of a module speaks of other processes or other runs of pytest."""
    return bool(_STARTS.search(file.read_text(encoding="utf-8")))


def _below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


@functools.cache
def _whole(root: Path) -> frozenset[Path]:
    return frozenset(path for folder in WHOLE for path in _below(root / folder))


@functools.cache
def _shown(root: Path) -> tuple[frozenset[Path], ...]:
    """The files of each of the parts."""
    return tuple(frozenset(path for path in _whole(root) if path.is_relative_to(root / part)) for part in PARTS)


@functools.cache
def _every(root: Path) -> frozenset[Path]:
    """All files of the project but for what commands write there."""
    found = set()
    for place, folders, names in os.walk(root):
        inside = [(folder, os.path.relpath(os.path.join(place, folder), root)) for folder in folders]
        folders[:] = [
            folder for folder, path in inside
            if path not in WRITTEN and folder not in ("__pycache__", ".verify") and _is_own(root, root / path)
        ]  # fmt: skip
        found.update(Path(place, name) for name in names if not name.endswith(COMPILED))
    return frozenset(path for path in found if _is_own(root, path) and path.is_file())


@functools.cache
def files_of(
    root: Path, module: Path, named: tuple[str, ...] = (), fixtures: frozenset[Path] = frozenset()
) -> frozenset[Path]:
    """The files that decide the outcome of tests of a module that name some of them and use the fixtures of others."""
    above = [folder / "conftest.py" for folder in module.parents if folder.is_relative_to(root)]
    runners = [path for path in (*above, *(root / name for name in RUNNERS)) if path.is_file()]
    of_runners = (_reached_from(root, path) for path in runners if path.suffix == ".py")
    reached = _reached_from(root, module).union(*of_runners)
    own = _reached_from(root, module).union(*(_reached_from(root, path) for path in fixtures))
    starts = any(map(_starts, own - _whole(root)))
    left_out = [part for part in _shown(root) if not (starts or part & own)]
    engine = _whole(root).difference(*left_out)
    named_files = {path for name in named if name != EVERY for path in _named(root, name)}
    known = {path for path in named_files if path.is_file()}  # what is beside a checkout may be missing
    every = _every(root) if EVERY in named else ()
    return engine.union(reached - _whole(root), runners, known, every)


def _named(root: Path, name: str) -> Iterable[Path]:
    if "*" in name:
        return root.glob(name)
    return _below(root / name) if (root / name).is_dir() else [root / name]


@functools.cache
def _named_digest(root: Path, file: Path) -> str:
    """The name of a file in the project, or beside it, and a hash of what it says."""
    return f"{os.path.relpath(file, root)} {sha256(file.read_bytes()).hexdigest()}"


def fingerprint(root: Path, files: Collection[Path], about: Iterable[str]) -> str:
    """A hash of the files, under their names, and of whatever else decides."""
    return digest_of([*about, *sorted(_named_digest(root, path) for path in files)])[:16]


def forget() -> None:
    """Look for all inputs again, after files have changed."""
    for cached in (
        _module_file, _mentioned_by, _leads_to, _reached_from, _starts, _whole, _shown, _every, files_of, _named_digest,
        _names, _own,
    ):  # fmt: skip
        cached.cache_clear()


# -- what a test opens -------------------------------------------------------------------------------------------------


def _not_among(root: Path, opened: Iterable[str], files: frozenset[Path]) -> list[str]:
    """Files of the project that were opened and are not among the inputs; compiled ones stand for their sources."""
    found = {_own(str(root), name) for name in opened} - _names(files) - {""}
    return sorted(os.path.relpath(name, root) for name in found if os.path.isfile(name))


@functools.cache  # the same few hundred names come with every test
def _own(root: str, name: str) -> str:
    """The file of the project that was opened under a name, or nothing."""
    path = Path("" if name.startswith(STARTED) else name)
    if path.parent.name == "__pycache__":
        path = path.parent.parent / f"{path.name.partition('.')[0]}.py"
    return str(path) if _is_own(Path(root), path) else ""


def _programs(marker: pytest.Mark) -> tuple[str, ...]:
    return tuple(marker.kwargs.get("programs", ()))


def _not_named(opened: Iterable[str], marker: pytest.Mark | None) -> list[str]:
    """Programs that were started, of which nobody sees what they read: all, unless every file of the project is named."""
    started = {name.removeprefix(STARTED) for name in opened if name.startswith(STARTED)}
    if marker is None or EVERY not in marker.args:
        return sorted(started)
    return sorted(each for each in started if not is_covered(each, _programs(marker)))


# -- in pytest ---------------------------------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "kept(*files, programs): passes by its kept outcome if no input is another; it reads files"
    )
    if not config.option.collectonly:
        config.pluginmanager.register(Kept(config), "kept-outcomes")


class Kept:
    """Which tests need not run, and what was found of those that did."""

    def __init__(self, config: pytest.Config) -> None:
        self.root, self.again = config.rootpath, config.option.again
        worker = getattr(config, "workerinput", {})
        self.writer = None if worker else EvidenceWriter(config.rootpath / config.option.evidence / "tests")
        self.folder = config.rootpath / config.option.evidence / "tests"
        options = ("effort", "device", "dtype", "hypothesis_seed", "pythonwarnings", "override_ini")
        self.about = [*surroundings(), *(f"{name}={getattr(config.option, name, None)}" for name in options)]
        self.effort = config.option.effort
        forget()
        folders = (*WHOLE, "tests", "docs")
        self.state = {path: _state(path) for folder in folders for path in _below(self.root / folder)}
        listen()
        self.files: dict[str, frozenset[Path]] = {}
        self.opened_by: dict[
            pytest.FixtureDef[Any], set[str]
        ] = {}  #: what fixtures opened, for whoever is given their values
        self.fingerprints: dict[str, str] = {}
        #: By files and what a marker allows for: how much had been imported, and what of it no test may open.
        self.imports: dict[tuple[frozenset[Path], bool, tuple[str, ...]], tuple[int, tuple[list[str], list[str]]]] = {}
        self.passed: set[str] = set()  #: before, with the present inputs
        self.reports: dict[str, list[pytest.TestReport]] = {}
        self.waiting: dict[str, list[Record]] = {}  #: by worker, until it is known that no input was written meanwhile
        self.unasked: list[str] = []  #: tests that ended since inputs were last looked at
        self.asked = time.monotonic()
        self.reused = self.ran = 0
        self.not_kept: dict[str, str] = {}  #: why, and the first test
        self.other: list[str] = []  #: that passed before and do not now

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        marked = [(item, marker) for item in session.items if (marker := item.get_closest_marker("kept"))]
        found: dict[
            tuple[Any, ...], tuple[frozenset[Path], str]
        ] = {}  # cases of a test have one object for its fixtures
        prints: dict[tuple[frozenset[Path], tuple[str, ...]], str] = {}
        beside_of = functools.cache(lambda programs: tuple(around_processes(programs)))
        for item, marker in marked:
            given = (item._fixtureinfo, item.path, marker.args, _programs(marker))  # type: ignore[attr-defined]
            alike = (id(given[0]), *given[1:])
            if alike not in found:
                files = files_of(self.root, item.path, marker.args, _fixtures_of(item, self.root))
                beside = beside_of(_programs(marker)) if EVERY in marker.args else ()
                if (files, beside) not in prints:
                    self.state.update({path: _state(path) for path in files if path not in self.state})
                    prints[files, beside] = fingerprint(self.root, files, [*self.about, *beside])
                found[alike] = files, prints[files, beside]
            self.files[item.nodeid], self.fingerprints[item.nodeid] = found[alike]
        if not marked:
            return
        records = in_force(current(read(self.folder)[0], self.fingerprints))
        self.passed = {record.claim for record in records if record.outcome == UPHELD}
        for item, _ in marked:
            if self._stands(item):
                item.fixturenames = []  # type: ignore[attr-defined]  # nothing is set up for it

    def _stands(self, item: pytest.Item) -> bool:
        return not self.again and item.nodeid in self.passed

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        if not self._stands(pyfuncitem):
            return None
        pyfuncitem.user_properties.append((FROM_EVIDENCE, UPHELD))
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        if item.nodeid not in self.files or self._stands(item):
            return (yield)
        opened = item.stash[_OPENED] = set[str]()
        with watching(opened):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        with watching(self.opened_by.setdefault(fixturedef, set())):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        try:
            return (yield)
        finally:
            if _OPENED in item.stash:
                item.user_properties.append(self._found_of(item))
                if time.monotonic() - self.asked >= SECONDS:
                    item.user_properties.append((WRITTEN_TO, self._written_to()))

    def _found_of(self, item: pytest.Item) -> tuple[str, str]:
        """What the report of a test says: the fingerprint that its outcome is kept under, or why it is not kept."""
        files = self.files[item.nodeid]
        marker = item.get_closest_marker("kept")
        prepared = (self.opened_by.get(each, ()) for each in _fixtures(item))
        opened = item.stash[_OPENED].union(*prepared)
        files_unknown, programs_unknown = self._of_imports(files, marker)
        if unknown := sorted({*files_unknown, *_not_among(self.root, opened, files)}):
            return NOT_KEPT, f"{item.path.name} reads {', '.join(unknown)}, which its marker `kept` does not name"
        if unknown := sorted({*programs_unknown, *_not_named(opened, marker)}):
            return NOT_KEPT, f"{item.path.name} starts {', '.join(unknown)}, which its marker `kept` does not allow for"
        self.unasked.append(item.nodeid)
        return AS, f"{self.fingerprints[item.nodeid]} {UPHELD if item.nodeid in self.passed else ''}"

    def _of_imports(self, files: frozenset[Path], marker: pytest.Mark | None) -> tuple[list[str], list[str]]:
        """What modules among the files opened and started when they were imported, and must not; asked again after others."""
        everything = EVERY in marker.args if marker else False
        asked = files, everything, _programs(marker) if marker else ()
        number = sum(map(len, IMPORTED.values()))
        if (known := self.imports.get(asked)) is None or known[0] != number:
            opened = set().union(*(IMPORTED[name] for name in IMPORTED.keys() & _names(files)))
            known = self.imports[asked] = number, (_not_among(self.root, opened, files), _not_named(opened, marker))
        return known[1]

    def _written_to(self) -> list[str]:
        """Tests that ended since this was last asked and had an input written since the run began, so perhaps read another text."""
        self.asked = time.monotonic()
        ended, self.unasked = self.unasked, []
        written = {path for path, before in self.state.items() if before != _state(path)} if ended else set()
        return [name for name in ended if not written.isdisjoint(self.files[name])] if written else []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        written_to = self._written_to()
        if self.writer is None:
            session.config.workeroutput[WRITTEN_TO] = written_to  # type: ignore[attr-defined]
        else:
            self._write("", written_to)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended; of one that crashed nothing is kept that it was not asked about."""
        if WRITTEN_TO in (output := getattr(node, "workeroutput", {})):
            self._write(node.gateway.id, output[WRITTEN_TO])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = dict(report.user_properties)
        if self.writer is None:
            return
        if report.when == "call" and FROM_EVIDENCE in said:
            self.reused += 1
        reports = self.reports.setdefault(report.nodeid, [])
        reports.append(report)
        if report.when != "teardown":
            return
        del self.reports[report.nodeid]
        if NOT_KEPT in said:
            self.not_kept.setdefault(str(said[NOT_KEPT]), report.nodeid)
        worker = getattr(report, "worker_id", "")
        if AS in said:
            kept_as, _, before = str(said[AS]).partition(" ")
            self._found(worker, report.nodeid, kept_as, before, reports)
        if WRITTEN_TO in said:
            self._write(worker, said[WRITTEN_TO])

    def _found(self, worker: str, name: str, kept_as: str, before: str, reports: list[pytest.TestReport]) -> None:
        outcomes = {report.outcome for report in reports}
        self.ran += 1
        if before and outcomes != {"passed"}:
            self.other.append(name)
        if "skipped" in outcomes or (outcomes == {"passed"} and len(reports) < 3):
            return
        outcome = UPHELD if outcomes == {"passed"} else VIOLATED
        record = Record(name, CHECK, "", outcome, kept_as, effort=self.effort)
        record.duration = sum(report.duration for report in reports)
        self.waiting.setdefault(worker, []).append(record)

    def _write(self, worker: str, written_to: Any) -> None:
        """Keep what a worker found, but nothing of tests whose inputs were written in the meantime."""
        for name in written_to:
            self.not_kept.setdefault("code was written during the run", name)
        assert self.writer is not None
        self.writer.append(*(each for each in self.waiting.pop(worker, ()) if each.claim not in {*written_to}))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for name in self.other:
            terminalreporter.line(f"DIFFERS  {name} passed before, with the same inputs", red=True)
        for why, name in self.not_kept.items():
            terminalreporter.line(f"NOT KEPT  {name}: {why}", yellow=True)
        if self.reused:
            both = self.reused + self.ran
            terminalreporter.line(
                f"{self.reused:,} of {both:,} tests whose inputs are known from evidence about this code, --again repeats them"
            )


def _fixtures_of(item: pytest.Item, root: Path) -> frozenset[Path]:
    """The files of the project that define the fixtures of a test."""
    files = (Path(inspect.getfile(inspect.unwrap(each.func))) for each in _fixtures(item))
    return frozenset(path for path in files if _is_own(root, path))


def _fixtures(item: pytest.Item) -> list[pytest.FixtureDef[Any]]:
    """The fixtures of a test, with those that they are made of."""
    return [each for several in item._fixtureinfo.name2fixturedefs.values() for each in several]  # type: ignore[attr-defined]


@functools.cache
def _names(files: frozenset[Path]) -> frozenset[str]:
    return frozenset(map(str, files))


_OPENED = pytest.StashKey[set[str]]()


def _state(path: Path) -> tuple[int, int] | None:
    """When a file was written, and how long it is; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
