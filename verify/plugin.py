"""The pytest plugin: claims as native test items.

    pytest -m theorem                     every check of every claim
    pytest -m theorem --claims 'osa.*'    one paper
    pytest -m theorem --effort deep --device cuda --dtype float64

Each check of each claim is a `pytest.Function` below a node for its claim, so -k, -x, -n, node ids, --hypothesis-seed
and JUnit XML work as for any test.  Evidence goes to the folder of --evidence.  A check that has evidence there about the
present code passes without being run, unless --again is given.  After the run, verdicts are computed from the evidence of
its checks; one that disagrees with its source fails the run.
"""

from __future__ import annotations

import fnmatch
import gc
import importlib
import importlib.metadata
import importlib.util
import platform
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from verify.checks import Check, checks_of
from verify.checks.record import Record
from verify.checks.settings import EFFORTS, Settings, settings_for
from verify.evidence.cluster import BETWEEN_LOOKS, Task
from verify.evidence.failure import describe_failure
from verify.evidence.parallel import kept_evidence
from verify.evidence.runner import judge, run_check
from verify.evidence.store import EvidenceWriter, in_force, read
from verify.evidence.verdicts import disagreements, judge_all
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError, RegistryError
from verify.vocabulary.registry import Registry, claims_in, load

_SETTINGS = pytest.StashKey[Settings]()
_RECORDER = pytest.StashKey[EvidenceWriter]()
_PLANNED = pytest.StashKey[set[Task]]()
_KEPT = pytest.StashKey[dict[Task, Record]]()
#: Checks that passed by the evidence that was kept of them, where reports come together.
_REUSED = pytest.StashKey[set[Task]]()
#: What a report of such a check says, and the names of its claim and itself.
FROM_EVIDENCE = "from evidence"

#: The gate for other people's implementations, silent until --subject or --subjects asks for it.
pytest_plugins = ["verify.gate.items"]

#: Where evidence is kept, relative to the root of the project under test.
EVIDENCE = ".verify/evidence"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("theorems")
    group.addoption(
        "--effort", default="ci", choices=sorted(EFFORTS), help="how hard claims are attacked (default: ci)"
    )
    group.addoption("--device", default="cpu", help="torch device of the float checks (default: cpu)")
    group.addoption(
        "--dtype", action="append", choices=["float64", "float32"], help="dtype of the float checks (default: both)"
    )
    group.addoption("--claims", default="*", metavar="GLOB", help="only claims whose id matches (default: all)")
    group.addoption(
        "--evidence", default=EVIDENCE, metavar="DIR", help=f"folder of evidence files (default: {EVIDENCE})"
    )
    group.addoption("--again", action="store_true", help="run checks too that have evidence about this code")
    parser.addini(
        "verify_packages", "packages whose modules declare claims (default: theorems)", type="args", default=[]
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "theorem: a check of a claim")
    seed = getattr(config.option, "hypothesis_seed", None)
    try:
        settings = settings_for(
            config.option.effort,
            _integer(seed) if _is_asked(config) else None,
            config.option.device,
            tuple(config.option.dtype) if config.option.dtype else None,
        )
    except InputError as problem:
        raise pytest.UsageError(str(problem)) from None
    for package in config.getini("verify_packages"):
        if _spec_of(package) is None:
            expected = "packages that can be imported (is their folder on pythonpath?)"
            raise pytest.UsageError(f"verify_packages: expected {expected}; got {package!r}")
    worker = getattr(config, "workerinput", {})
    config.stash[_SETTINGS] = settings
    config.stash[_RECORDER] = EvidenceWriter(config.rootpath / config.option.evidence, worker.get("verify_run"))
    config.stash[_PLANNED] = set()
    config.stash[_KEPT] = {}
    config.stash[_REUSED] = set()
    config.pluginmanager.register(_Reports(config.stash[_REUSED]), "theorem-reports")


class _Reports:
    """Reads in the reports of all workers which checks were not run."""

    def __init__(self, reused: set[Task]) -> None:
        self.reused = reused

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = dict(report.user_properties)
        if report.when == "call" and FROM_EVIDENCE in said:
            self.reused.add((str(said["claim"]), str(said[FROM_EVIDENCE])))


def _spec_of(package: str) -> ModuleSpec | None:
    """Where a package is; None where it cannot be imported."""
    try:
        return importlib.util.find_spec(package)
    except (ImportError, ValueError):  # of a package above it
        return None


def _integer(seed: Any) -> int | None:
    if seed is not None and not (str(seed).isascii() and str(seed).isdecimal()):
        raise InputError("--hypothesis-seed", "an integer >= 0 where claims are checked", repr(seed))
    return None if seed is None else int(seed)


def _is_asked(config: pytest.Config) -> bool:
    """Whether this project checks claims, or only has this package installed."""
    return "theorem" in config.option.markexpr or bool(config.getini("verify_packages"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let all xdist workers file their evidence under one run."""
    node.workerinput["verify_run"] = node.config.stash[_RECORDER].run


def pytest_report_header(config: pytest.Config) -> list[str]:
    if not _is_asked(config):
        return []
    settings = config.stash[_SETTINGS]
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}"
        for name in ("torch", "python-flint", "sympy", "mpmath", "hypothesis")
    )
    seed = settings.seed if settings.seeded else "fixed"
    return [
        f"theorems: {versions}, python {platform.python_version()}",
        f"theorems: device {settings.device}, dtypes {' '.join(settings.dtypes)}, effort {settings.effort.name}, seed {seed}",
    ]


def _packages(config: pytest.Config) -> list[str]:
    return config.getini("verify_packages") or ["theorems"]


# -- collection --------------------------------------------------------------------------------------------------------


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix != ".py":
        return None
    module = _module_name(file_path, _packages(parent.config))
    if module is None:
        return None
    node: ClaimFile = ClaimFile.from_parent(parent, path=file_path)
    node.module_name = module
    return node


def _module_name(path: Path, packages: Iterable[str]) -> str | None:
    for package in packages:
        for folder in getattr(_spec_of(package), "submodule_search_locations", None) or ():
            root = Path(folder).resolve()
            if path.resolve().is_relative_to(root):
                parts = path.resolve().relative_to(root).with_suffix("").parts
                return ".".join([package, *(part for part in parts if part != "__init__")])
    return None


class ClaimFile(pytest.File):
    """A module that declares claims."""

    module_name: str

    def collect(self) -> Iterator[pytest.Collector]:
        pattern = self.config.option.claims
        for claim in claims_in(importlib.import_module(self.module_name)):
            if fnmatch.fnmatchcase(claim.id, pattern):
                node: ClaimNode = ClaimNode.from_parent(self, name=claim.id)
                node.claim = claim
                node.add_marker("theorem")
                yield node


class ClaimNode(pytest.Collector):
    """One claim; its items are its checks."""

    claim: Claim

    def collect(self) -> Iterator[pytest.Item]:
        settings = self.config.stash[_SETTINGS]
        for check in checks_of(self.claim, settings):
            yield _item(self, check, settings)


def _item(node: ClaimNode, check: Check, settings: Settings) -> pytest.Item:
    claim = node.claim

    def attempt() -> None:
        kept = node.config.stash[_KEPT].get((claim.id, check.name))
        record = kept or run_check(claim, check, settings)
        if kept is None:
            node.config.stash[_RECORDER].append(record)
        else:
            item.user_properties.append((FROM_EVIDENCE, check.name))
        for name in ("outcome", "satisfied", "worst_residual", "separation", "tightest_ratio"):
            item.user_properties.append((name, str(getattr(record, name))))
        judgement = judge(claim, record)
        if not judgement.ok:
            raise TheoremFailure(describe_failure(claim, record, judgement.why), judgement.why)

    item: CheckItem = CheckItem.from_parent(node, name=check.name.replace(" ", "-"), callobj=attempt)
    item.user_properties += [("claim", claim.id), ("label", claim.label)]
    item.check_name = check.name
    item.claim = claim
    return item


class TheoremFailure(AssertionError):
    """A check that did not find what the source expects: everything about it, and in a few words."""

    def __str__(self) -> str:
        return str(self.args[0])


class CheckItem(pytest.Function):
    """One check of one claim."""

    claim: Claim
    check_name: str

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, TheoremFailure):
            shown: Any = excinfo.getrepr(style="value")
            if shown.reprcrash is not None:  # pytest's last lines give it whole where the variable CI is set
                shown.reprcrash.message = f"{self.claim.label}: {excinfo.value.args[1]}"
            return shown
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        line = self.claim.the_formula.__code__.co_firstlineno - 1
        return self.path, line, f"{self.claim.id} ({self.claim.label}) {self.check_name}"


def pytest_collection_finish(session: pytest.Session) -> None:
    planned = session.config.stash[_PLANNED]
    planned.update((item.claim.id, item.check_name) for item in session.items if isinstance(item, CheckItem))
    if planned and not (session.config.option.again or session.config.option.collectonly):
        claims = {item.claim.id: item.claim for item in session.items if isinstance(item, CheckItem)}
        records = read(session.config.stash[_RECORDER].folder)[0]
        session.config.stash[_KEPT] = kept_evidence(claims.values(), records, session.config.stash[_SETTINGS])
    if planned:  # what is collected lasts, and is not looked through for cycles
        gc.collect()
        gc.freeze()
        gc.set_threshold(BETWEEN_LOOKS)


# -- verdicts ----------------------------------------------------------------------------------------------------------


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    config = session.config
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    outcome = _verdicts_of_run(config)
    config.stash[_OUTCOME] = outcome
    if exitstatus == pytest.ExitCode.OK and (outcome.wrong or (_names_claims(config) and not outcome.checks)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _names_claims(config: pytest.Config) -> bool:
    """Whether the command itself, and not a configuration file alone, has the option --claims."""
    return any(str(word).split("=")[0] == "--claims" for word in config.invocation_params.args)


class _Outcome:
    """Verdicts that this run's evidence decides."""

    def __init__(self, counts: dict[str, int], wrong: list[str], partial: int, checks: int) -> None:
        self.counts, self.wrong, self.partial, self.checks = counts, wrong, partial, checks


_OUTCOME = pytest.StashKey[_Outcome]()


def _verdicts_of_run(config: pytest.Config) -> _Outcome:
    recorder = config.stash[_RECORDER]
    written, reused = read(recorder.folder)[0], config.stash[_REUSED]
    records = [record for record in written if record.run == recorder.run]
    if not (records or reused):
        return _Outcome({}, [], 0, 0)
    registry = Registry(claim for package in _packages(config) for claim in load(package).values())
    settings = config.stash[_SETTINGS]
    earlier = [record for record in written if record.run != recorder.run and (record.claim, record.check) in reused]
    records = [*kept_evidence(registry.values(), earlier, settings).values(), *records]
    found = {(record.claim, record.check) for record in records}
    complete = {
        claim_id
        for claim_id, claim in registry.items()
        if all((claim_id, check.name) in found for check in checks_of(claim, settings))
    }
    verdicts = judge_all(registry, in_force(records))
    judged = {
        claim_id: verdict
        for claim_id, verdict in verdicts.items()
        if claim_id in complete
        and all(other in complete for other in (*registry[claim_id].presumes, *registry[claim_id].proof))
    }
    counts: dict[str, int] = {}
    for verdict in judged.values():
        counts[verdict.status] = counts.get(verdict.status, 0) + 1
    seen = {claim_id for claim_id, _ in found}
    wrong = disagreements({claim_id: registry[claim_id] for claim_id in judged}, judged)
    return _Outcome(counts, wrong, len(seen - set(judged)), len(found))


def _why_empty(config: pytest.Config) -> str:
    """Why a run that asked for theorems has collected none."""
    packages = _packages(config)
    where = ", ".join(packages)
    try:
        registry = load(",".join(packages))
    except (InputError, RegistryError) as problem:
        return str(problem)
    if not fnmatch.filter(registry, config.option.claims):
        return f"--claims {config.option.claims!r} matches none of the {len(registry)} claims in {where}"
    searched = ", ".join(config.args)
    return f"{searched} holds no module of {where} that this run selects; `pytest -m theorem --pyargs {packages[0]}` works anywhere"


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and "theorem" in config.option.markexpr:
        terminalreporter.line(f"theorems: {_why_empty(config)}", yellow=True)
    outcome = config.stash.get(_OUTCOME, None)
    ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    if outcome is not None and not outcome.checks and ended and _names_claims(config):
        terminalreporter.line(f"theorems: nothing was decided; {_why_empty(config)}", red=True)
    if outcome is None or not (outcome.counts or outcome.wrong or outcome.partial):
        return
    terminalreporter.section("verdicts")
    terminalreporter.line(", ".join(f"{count} {status}" for status, count in sorted(outcome.counts.items())) or "none")
    if outcome.partial:
        terminalreporter.line(f"{outcome.partial} claims were checked in part and not judged")
    for line in outcome.wrong:
        terminalreporter.line(f"DISAGREES  {line}", red=True)
    if reused := config.stash[_REUSED]:
        said = f"{len(reused):,} of {outcome.checks:,} checks from evidence about this code, --again repeats them"
        terminalreporter.line(said)
    terminalreporter.line(f"evidence: {config.stash[_RECORDER].folder}")
