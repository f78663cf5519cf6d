"""Planted defects, and whether the tests find them: a line of figures per module, and the defects that survive.

    python .ci/mutants.py verify/report/wording.py 'verify/gate/*.py'

mutmut writes a module in which each function chooses among itself and its defects.  A process loads that module in the place of
the original and collects the tests that `TESTS` names for it.  Everything else happens in forks of this process: each test runs
once by itself, which tells how long it takes and which functions it calls; then each defect meets the tests that call its
function until one fails, first those that are fast and have found defects of that function before.  Nothing is imported or
collected twice, so that a defect costs what its tests cost.

What became of a defect is written down at once, in `mutants/`: a run that was stopped goes on where it was.  What was found is
not tried again while the function stays the same; `--survivors` tries again what was not.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parents[1]
KEPT = "mutants"
JUDGED = ["tests/test_judging.py", "tests/test_judgements.py"]
#: The tests of the engine that are fast.
FAST = [
    f"tests/test_{name}.py"
    for name in (
        "arithmetic", "attacks", "bad_input", "bad_input_functions", "checked", "counterexamples",
        "degenerate_values", "derivatives", "engine_catches", "evidence", "expectations", "fingerprints",
        "fixed_sizes", "gate_units", "generators", "jets", "judgements", "judging", "matrix", "order", "proportions",
        "record_details", "registry", "settings", "shared_evaluations", "underflow", "variants", "warnings",
        "whole_records", "witnesses", "wording",
    )
]  # fmt: skip
#: Globs of modules, and the tests that are asked; the first that matches counts.  Slow tests of proofs look for defects in provers.
TESTS = {
    **{f"verify/report/{name}.py": ["tests/test_report_forms.py"] for name in ("baseline", "history", "junit")},
    **{
        f"verify/report/{name}.py": ["tests/test_report_parts.py"]
        for name in ("attempts", "citations", "contents", "coverage", "looseness", "provenance")
    },
    "verify/report/proof_texts.py": ["tests/test_proof_texts.py"],
    "verify/report/*.py": ["tests/test_wording.py"],
    "verify/evidence/verdicts.py": [*JUDGED, "tests/test_wording.py"],
    "verify/gate/rounding.py": ["tests/test_gate_rounding.py", "tests/test_gate_units.py"],
    "verify/gate/bias.py": ["tests/test_gate_comparison.py"],
    "verify/gate/comparison.py": ["tests/test_gate_comparison.py"],
    "verify/gate/measure.py": ["tests/test_gate_measure.py", "tests/test_gate_measured_sides.py"],
    "verify/gate/checking.py": ["tests/test_gate_checking.py"],
    "verify/gate/diagnosis.py": ["tests/test_gate_diagnosis.py"],
    **{
        f"verify/gate/{name}.py": ["tests/test_gate_autograd.py", "tests/test_gate_points.py"]
        for name in ("autograd", "known", "prepared")
    },
    **{f"verify/gate/{name}.py": ["tests/test_gate_table.py"] for name in ("items", "parametrize", "table")},
    **{f"verify/gate/{name}.py": ["tests/test_gate_units.py"] for name in ("findings", "standing")},
    "verify/gate/recognised.py": ["tests/test_gate_recognised.py"],
    "verify/gate/*.py": ["tests/test_gate_comparison.py", "tests/test_gate_units.py"],
    "verify/checks/counterexamples.py": ["tests/test_counterexamples.py"],
    "verify/checks/bound_proofs.py": [],
    "verify/checks/proofs.py": [],
    "verify/oracles/statistics.py": ["tests/test_proportions.py", "tests/test_degenerate_values.py"],
    "verify/checks/*.py": ["tests/test_attacks.py", "tests/test_degenerate_values.py", *JUDGED],
    "verify/inputs/*.py": FAST,
    **{f"verify/arithmetics/{name}.py": FAST for name in ("balls", "conversions", "jets", "kinds")},
    **{f"verify/evidence/{name}.py": FAST for name in ("fingerprints", "runner", "store")},
    **{f"verify/vocabulary/{name}.py": FAST for name in ("judgements", "relations")},
}
#: Under a defect, tests may take this many times the processor time that they are given, and a process this many bytes.
LIMIT, BYTES = 5, 16 << 30
#: What our tests import when they run, beside all claims: each fork would do it again.
LOADED = (
    "hypothesis",
    "sympy",
    "torch._decomp.decompositions_for_jvp",
    "torch._dynamo",
    "torch.func",
    "verify.gate",
    "verify.report",
)
BROKEN = 70  #: exit status of a fork in which this program fails, and not a test


class Calls:
    """Which defect calls go to, and which functions were called; the same for all modules of a process."""

    module, defect = "", ""
    reached: set[str] = set()  # noqa: RUF012


def chooses(defects: dict[str, Callable[..., Any]], is_classmethod: bool = False) -> Callable[..., Any]:
    """In the place of mutmut's trampoline: no environment to read, and what was called is noted."""

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        module = function.__module__

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            original = defects["_mutmut_orig"]
            Calls.reached.add(f"{module}.{original.__name__.removesuffix('__mutmut_orig')}")
            chosen = defects.get(Calls.defect, original) if module == Calls.module else original
            if is_classmethod:
                chosen, args = getattr(args[0], chosen.__name__), args[1:]
            return chosen(*args, **kwargs)

        return called

    return decorated


def function_of(defect: str) -> str:
    """As mutmut writes its name, and that of its class."""
    return defect.partition("__mutmut_")[0]


class Planted(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Loads one module with its defects; all others are loaded as ever."""

    def __init__(self, path: Path) -> None:
        from mutmut.mutation.file_mutation import mutate_file_contents  # of the extra `mutation`

        super().__init__(".".join(path.with_suffix("").parts).removesuffix(".__init__"), str(path.resolve()))
        self.file = mutate_file_contents(str(path), path.read_text(encoding="utf-8"))

    def code(self, defect: str) -> str:
        """A hash of the function in which a defect is planted."""
        return self.file.hash_by_function_name[function_of(defect)]

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Where Python asks for modules."""
        return (
            importlib.util.spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None
        )

    def get_code(self, fullname: str) -> Any:
        """Compiled anew: nothing of it is kept beside the original."""
        return compile(self.file.code, self.path, "exec", dont_inherit=True)

    def shown(self, defect: str) -> list[str]:
        """The lines that a defect changes."""
        lines = self.file.code.splitlines()
        both = []
        for name in (f"{function_of(defect)}__mutmut_orig", defect):
            span = self.file.line_span_by_function_name[name]
            both.append([line.replace(name, "") for line in lines[span.start - 1 : span.end]])
        before, after = ([line for line in one if line not in other] for one, other in (both, both[::-1]))
        return [f"-{line}" for line in before] + [f"+{line}" for line in after]


def forked(work: Callable[[], Any], seconds: float | None) -> tuple[int, Any]:
    """What `work` gives in a fork of this process, and the exit status of the fork: negative if a signal ended it.

    With a limit of seconds of processor time, it is ended too if it takes much memory or if it waits for long.
    """
    read, write = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = BROKEN
        try:
            if seconds is not None:
                resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
                signal.alarm(60 * int(seconds))
                resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
            os.write(write, json.dumps(work()).encode())
            status = 0
        except BaseException:
            os.write(write, json.dumps(traceback.format_exc()[-4000:]).encode())
        finally:
            sys.stdout.flush()
            os._exit(status)
    os.close(write)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.set_blocking(read, False)  # what the fork has started may hold the other end
    told = os.read(read, 1 << 16) if status in (0, BROKEN) else b"null"
    os.close(read)
    if status == BROKEN:
        raise RuntimeError(json.loads(told))
    return status, json.loads(told)


def failing(items: Sequence[pytest.Item]) -> str | None:
    """The first of the tests that fails."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return None


def called_by(item: pytest.Item) -> tuple[str | None, list[str], float]:
    """Whether a test fails, which functions it calls, and how many seconds of processor time it takes."""
    Calls.reached.clear()
    start = time.process_time()
    failed = failing([item])
    return failed, sorted(Calls.reached), time.process_time() - start


class Trial:
    """The plugin of pytest that tries the defects of some modules, instead of running each test once."""

    def __init__(self, planted: Sequence[Planted], folder: Path, asked: argparse.Namespace) -> None:
        self.planted, self.folder, self.asked = planted, folder, asked
        self.known: dict[str, dict[str, Any]] = {}
        self.finds: Counter[tuple[str, str | None]] = (
            Counter()
        )  #: defects of a function, by the test that has found them
        for module in planted:
            states = self.states(module)
            lines = states.read_text(encoding="utf-8").splitlines() if states.exists() else []
            codes = {defect: module.code(defect) for defect in module.file.mutant_names}
            told = [line for line in map(json.loads, lines) if line["code"] == codes.get(line["defect"])]
            self.known |= {f"{module.name}.{line['defect']}": line for line in told}

    def states(self, module: Planted) -> Path:
        """Where it is written down what became of the defects of a module."""
        return self.folder / f"{module.name}.jsonl"

    def wanted(self) -> list[tuple[Planted, str]]:
        """The defects that are to be tried."""
        again = {name for name, line in self.known.items() if self.asked.survivors and line["state"] == "survived"}
        return [
            (module, defect)
            for module in self.planted
            for defect in module.file.mutant_names
            if fnmatch.fnmatchcase(name := f"{module.name}.{defect}", self.asked.only)
            and (name not in self.known or name in again)
        ]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """All of it, once the tests are collected."""
        if self.planted[0].name.startswith("verify."):
            for name in LOADED:
                importlib.import_module(name)
            sys.modules["verify.vocabulary.registry"].load("theorems")
        if len(os.listdir("/proc/self/task")) > 1 or "jax" in sys.modules:
            raise RuntimeError("a process with threads cannot be forked safely: ask for other tests")
        gc.collect()
        gc.freeze()
        tests: dict[str, list[tuple[float, pytest.Item]]] = {}
        for item in session.items:
            status, told = forked(functools.partial(called_by, item), 600)
            if status or told[0]:
                print(f"  left out, it fails without any defect: {item.nodeid}", flush=True)
                continue
            for function in told[1]:
                tests.setdefault(function, []).append((told[2], item))
        for module, defect in self.wanted():
            function = f"{module.name}.{function_of(defect)}"
            calling = sorted(
                tests.get(function, ()),
                key=lambda test, of=function: test[0] / (1 + self.finds[of, test[1].nodeid]) ** 2,  # type: ignore[misc]
            )
            spent = itertools.accumulate(seconds for seconds, _ in calling)
            asked = [item for (_, item), sum_ in zip(calling, spent, strict=True) if sum_ < self.asked.seconds]
            self.try_out(module, defect, asked)
        return True

    def try_out(self, module: Planted, defect: str, items: list[pytest.Item]) -> None:
        """Try one defect and write down what became of it."""

        def work() -> str | None:
            Calls.module, Calls.defect = module.name, defect
            os.environ["MUTANT_UNDER_TEST"] = f"{module.name}.{defect}"  # tests know by it that nothing is to be kept
            return failing(items)

        status, by = forked(work, LIMIT * self.asked.seconds) if items else (0, None)
        found = "killed" if by else "survived"
        if status:
            found = "took too long" if status == -signal.SIGXCPU else "crashed"
        line = {"code": module.code(defect), "defect": defect, "state": found, "by": by, "tests": len(items)}
        self.known[f"{module.name}.{defect}"] = line
        self.finds[f"{module.name}.{function_of(defect)}", by] += 1
        with self.states(module).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def report(self) -> None:
        """A line of figures for each module, and the survivors."""
        for module in self.planted:
            names = {f"{module.name}.{defect}": defect for defect in module.file.mutant_names}
            left = [name for name in names if self.known.get(name, {}).get("state") == "survived"]
            untried = sum(name not in self.known for name in names)
            found = len(names) - untried - len(left)
            print(f"{module.name}: {len(names)} planted, {found} found, {untried} not tried", flush=True)
            for name in left:
                print(
                    f"  {names[name]}: survived {self.known[name]['tests']} tests",
                    *module.shown(names[name]),
                    sep="\n    ",
                )


def tests_of(module: str) -> list[str]:
    """The tests that look for defects in a module."""
    for glob, tests in TESTS.items():
        if fnmatch.fnmatchcase(module, glob):
            return tests
    raise SystemExit(f"{module}: .ci/mutants.py names no tests for it")


def tried(paths: Sequence[Path], tests: Sequence[str], asked: argparse.Namespace) -> None:
    """Try the defects of modules that have the same tests, and print what became of them."""
    from mutmut.mutation import trampoline  # of the extra `mutation`

    folder = Path(KEPT).resolve()
    folder.mkdir(exist_ok=True)
    trampoline.wrap_in_trampoline = chooses  # type: ignore[assignment]
    trial = Trial([Planted(path) for path in paths], folder, asked)
    if trial.wanted():
        sys.meta_path[:0] = trial.planted
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")  # what is kept of planted defects serves nothing else
        # asserts stay plain, as pytest would load plugins in its own way, and `verify` is one
        options = ["--assert=plain", "--timeout=0", "-p", "no:cacheprovider", "-p", "no:xdist", "-q"]
        options += ["--again"] if Path.cwd() == ROOT else []
        pytest.main([*options, f"--basetemp={folder / 'temporary'}", *tests], plugins=[trial])
    trial.report()


def main() -> None:
    """Try the modules that are named; those that have the same tests share a process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="paths such as verify/report/wording.py, or globs; all of the table")
    parser.add_argument("--only", default="*", help="a glob of names of defects, as they are printed behind the module")
    parser.add_argument("--survivors", action="store_true", help="try again what survived, with the tests of now")
    parser.add_argument("--tests", action="append", help="in the place of those that the table names")
    parser.add_argument("--seconds", type=float, default=10, help="of processor time, for the tests of one defect")
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # forks need a process without threads
    sys.path.insert(0, str(Path.cwd()))
    groups: dict[tuple[str, ...], list[Path]] = {}
    for glob in asked.modules or TESTS:
        for path in sorted(Path().glob(glob)):
            group = groups.setdefault(tuple(asked.tests or tests_of(path.as_posix())), [])
            group += [path] if path not in group else []
    for tests, paths in groups.items():
        if not tests:
            continue
        status, _ = forked(functools.partial(tried, paths, tests, asked), None)
        if status:
            raise SystemExit(status)


if __name__ == "__main__":
    main()
