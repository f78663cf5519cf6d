"""Commands in forks of one process that has loaded everything: to import torch and sympy anew takes seconds for each.

The process is a fresh interpreter, started when the first command asks for it.  It imports, compiles the templates of the
site, and does nothing else, so that a fork of it has neither the caches nor the settings of the tests; its folder, its
environment, what it prints and its exit status are its own.  Workers of pytest-xdist that a command starts are forks too.
What an interpreter reads when it starts (`sitecustomize`, `PYTHONWARNINGS`, its options) a fork has from that process: tests
of these start an interpreter.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import IO, Any

import pytest

from tests.opened import STARTED, add_opened, unwatched, watching

ROOT = Path(__file__).resolve().parents[1]
#: What the commands import sooner or later.
MODULES = (
    "torch.func", "torch._dynamo",  # the latter is imported at the first derivative, for two seconds
    "torch.nn.functional", "sympy", "flint", "mpmath", "hypothesis", "jinja2", "pygments", "markdown_it",
    "latex2mathml.converter", "verify.cli", "verify.checks.bound_proofs", "verify.checks.proofs", "verify.evidence.parallel",
    "verify.gate", "verify.report", "verify.site",
)  # fmt: skip
#: The packages of which they ask for all claims.
CLAIMS = ("theorems",)


class Loaded:
    """The process, and what its forks have used."""

    def __init__(self) -> None:
        self.requests, theirs = Pipe()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, "-m", "tests.loaded", str(theirs.fileno())]
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=[theirs.fileno()])
        theirs.close()
        self.seconds = 0.0  #: of processor time
        atexit.register(self.end)

    def end(self) -> None:
        """Let the process go, which ends when nobody can ask it for anything."""
        self.requests.close()
        self.process.wait()

    def start(self, module: str, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> int:
        """`python -m module arguments` in a fork, its output in the files that the first two arguments name."""
        self.requests.send((module, list(arguments), str(cwd), dict(environment)))
        return int(self.requests.recv())

    def wait(self, pid: int, timeout: float) -> int:
        """The exit status of a fork."""
        self.requests.send(pid)
        late = not self.requests.poll(timeout)
        if late:
            os.kill(pid, signal.SIGKILL)
        status, seconds = self.requests.recv()
        self.seconds += seconds
        if late:
            raise subprocess.TimeoutExpired(f"the fork {pid}", timeout)
        return int(status)


_LOADED: list[Loaded] = []


def processor_seconds() -> float:
    """What all forks have used."""
    return sum(loaded.seconds for loaded in _LOADED)


def run(
    module: str, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """`python -m module arguments` in a folder; the environment is this one's unless another is given."""
    process = _loaded()
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "out"), Path(folder, "err")
        given = {**(os.environ if environment is None else environment)}
        status = process.wait(process.start(module, [*map(str, paths), *arguments], cwd, given), timeout)
        out, err = (path.read_text(encoding="utf-8", errors="replace") for path in paths)
        with contextlib.suppress(FileNotFoundError):  # of a fork that was killed
            add_opened(Path(folder, "opened").read_text(encoding="utf-8").splitlines())
    return subprocess.CompletedProcess([module, *arguments], status, out, err)


def _loaded() -> Loaded:
    if not _LOADED:
        with unwatched():  # the process only imports
            _LOADED.append(Loaded())
    return _LOADED[0]


@contextlib.contextmanager
def started(module: str, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Inside, `python -m module arguments` runs in a folder, where it leaves its output; it is ended by SIGTERM."""
    add_opened([f"{STARTED}{sys.executable}"])  # what it opens is known when it has ended, and may serve several tests
    folder = tempfile.mkdtemp(prefix="forked-", dir=cwd)
    process = _loaded()
    pid = process.start(module, [f"{folder}/out", f"{folder}/err", *arguments], cwd, environment)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGTERM)
        process.wait(pid, 60)


def run_pytest(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """As `project.runpytest_subprocess`."""
    began = time.perf_counter()
    known = os.pathsep.join([str(project.path), os.environ.get("PYTHONPATH", "")])
    options = [f"--basetemp={project.path.parent / 'forked'}", *arguments]
    ended = run("pytest", options, project.path, {**os.environ, "PYTHONPATH": known})
    out, err = ended.stdout.splitlines(), ended.stderr.splitlines()
    return pytest.RunResult(ended.returncode, out, err, time.perf_counter() - began)


# -- the process -------------------------------------------------------------------------------------------------------


def _serve(requests: Connection) -> None:
    """Load, then fork for each request that names a module, and wait for the fork that a number names."""
    installed = _installed()
    _load()
    gc.collect()
    gc.freeze()  # forks neither look through what is loaded for cycles, nor copy it for that
    while True:
        try:
            request = requests.recv()
        except EOFError:
            return
        if isinstance(request, int):
            _, status, used = os.wait4(request, 0)
            requests.send((os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime))
            continue
        child = os.fork()
        if child == 0:
            requests.close()
            _become(installed, *request)
        requests.send(child)


def _installed() -> list[str]:
    """Where an interpreter that is told of no other place looks: on this tree too, where a `.pth` file names it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", "import json, sys; print(json.dumps(sys.path))"]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return [path for path in json.loads(printed.splitlines()[-1]) if path]


def _load() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest imports its plugins in its own way
        os.chdir(folder)
        pytest.main(["-q", "--collect-only", "-p", "no:cacheprovider", folder, "--rootdir", folder])
        os.chdir(ROOT)
    for name in MODULES:
        with contextlib.suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(name)
    importlib.import_module("execnet.gateway_io").Popen2IOMaster.__init__ = _as_fork
    modules_of = importlib.import_module("verify.vocabulary.registry").modules_of
    for name in CLAIMS:
        modules_of(name)
    with contextlib.suppress(ImportError), tempfile.TemporaryDirectory() as folder:
        of_nothing = importlib.import_module("verify.report").Report({}, [], {}, [])
        site = importlib.import_module("verify.site.pages").Site(of_nothing, Path(folder))
        for name in site.templates.list_templates():
            site.templates.get_template(name)


def _become(installed: list[str], module: str, arguments: list[str], cwd: str, environment: dict[str, str]) -> None:
    """In the fork: the command, from here to its end."""
    status = 1
    opened = set[str]()
    out, err, *arguments = arguments
    try:
        for descriptor, path in ((0, os.devnull), (1, out), (2, err)):
            file = os.open(path, os.O_RDWR | os.O_CREAT)
            os.dup2(file, descriptor)
            os.close(file)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        known = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
        here = [] if environment.get("PYTHONSAFEPATH") else [cwd]
        sys.path[:] = [*here, *known, *installed]
        importlib.import_module("xdist.workermanage")._sys_path = list(sys.path)  # which it keeps for its workers
        importlib.invalidate_caches()
        sys.argv = [module, *arguments]
        with watching(opened):
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        Path(out).with_name("opened").write_text("\n".join(opened), encoding="utf-8", errors="replace")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


#: This process's ends of the pipes of all workers: the next worker must not hold them open, nor close them as files.
_ENDS: list[IO[bytes]] = []


class Forked:
    """In the place of the `Popen` of a worker of pytest-xdist: a fork of its controller, which does what `-c code` would."""

    def __init__(self, code: str) -> None:
        add_opened([f"{STARTED}{sys.executable}"])  # nobody sees what the worker opens
        read, stdin = os.pipe()
        stdout, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads, which serve the other workers and have nothing to do here
            self.pid = os.fork()
        if self.pid == 0:
            for end in (stdin, stdout, *(file.fileno() for file in _ENDS if not file.closed)):
                os.close(end)
            _work(code, read, write)
        os.close(read)
        os.close(write)
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        _ENDS.extend([self.stdin, self.stdout])

    def wait(self) -> int:
        """Its exit status."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)


def _as_fork(io: Any, command: list[str], execmodel: Any) -> None:
    """`Popen2IOMaster.__init__` of execnet."""
    io.popen = Forked(command[-1])
    super(type(io), io).__init__(io.popen.stdin, io.popen.stdout, execmodel=execmodel)


def _work(code: str, read: int, write: int) -> None:
    """In the worker: its code, from here to its end."""
    status = 1
    try:
        atexit._clear()
        for theirs, own in ((read, 0), (write, 1)):
            os.dup2(theirs, own)
            os.close(theirs)
        sys.stdin = os.fdopen(0, "r", closefd=False)
        sys.stdout, sys.stderr = (os.fdopen(own, "w", closefd=False) for own in (1, 2))
        exec(code, {"__name__": "__main__"})
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        os._exit(status)


if __name__ == "__main__":
    with Connection(int(sys.argv[1])) as connection:
        _serve(connection)
