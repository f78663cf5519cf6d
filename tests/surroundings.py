"""What computes beside the project and can decide a test: libraries, Python, the processor, variables, programs."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from verify.evidence.sources import digest_of

#: Environment variables that decide which kernels compute, how Python runs, how commands print, and which planted defect is
#: switched on.
VARIABLES = (
    "ATEN_", "CI", "COLUMNS", "CUDA_", "FORCE_COLOR", "HYPOTHESIS_", "JAX_", "LANG", "LC_", "MKL_", "MUTANT_", "NO_COLOR", "OMP_",
    "OPENBLAS_", "PYTHON", "PYTORCH_", "TORCH", "TZ", "XLA_",
)  # fmt: skip
#: Those that matter besides to processes that a test starts: where programs and their settings are.
OF_PROCESSES = (
    "COQ", "DASK_", "DISPLAY", "FONTCONFIG_", "GIT_", "HOME", "LD_", "NODE_", "OCAML", "PATH", "PLAYWRIGHT_", "ROCQ",
    "SOURCE_DATE_EPOCH", "SPHINX", "TERM", "TMPDIR", "XDG_",
)  # fmt: skip
#: Where distributions list the packages that are installed, with their versions, and where they put programs.
PACKAGES = ("/var/lib/dpkg/status", "/lib/apk/db/installed", "/var/lib/rpm/rpmdb.sqlite", "/var/lib/pacman/local")
PLACES = ("/bin", "/usr/bin", "/usr/lib")


def surroundings() -> list[str]:
    """What computes beside the project: libraries, Python, the processor, and the variables that choose among its kernels."""
    folders = [Path(path) for path in sys.path if path and Path(path).is_dir()]
    libraries = {
        path.name for folder in folders for path in folder.iterdir() if path.suffix in (".dist-info", ".egg-info")
    }
    return [
        *sorted(libraries),
        sys.version,
        _flags(),
        platform.system(),
        platform.machine(),
        _processor(),
        *(_variables(VARIABLES)),
    ]


def _flags() -> str:
    """How Python was started: without assertions most tests pass."""
    return f"-O {sys.flags.optimize} -b {sys.flags.bytes_warning} -W {sys.warnoptions}"


@functools.cache
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return " ".join(
        sorted({line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))})
    )


def _variables(beginnings: tuple[str, ...]) -> list[str]:
    return [f"{n}={v}" for n, v in sorted(os.environ.items()) if n.startswith(beginnings) and n != "PYTHONPATH"]


def around_processes(programs: Iterable[str]) -> list[str]:
    """What decides besides what processes do that start these programs, Python among them.

    A program is known by its file and, with the libraries and fonts that it loads, by the packages of the system.
    """
    return [*_variables(OF_PROCESSES), _system(), *map(_program, programs)]


def _system() -> str:
    found = [f"{path} {digest_of([_contents(Path(path))])}" for path in PACKAGES if Path(path).exists()]
    return " ".join([platform.release(), *found])


def _contents(path: Path) -> str:
    return " ".join(sorted(os.listdir(path))) if path.is_dir() else path.read_bytes().hex()


def _program(name: str) -> str:
    if (place := shutil.which(name)) is None:
        return f"{name} absent"
    path = Path(place).resolve()
    return f"{name} {path} {path.stat().st_size} {path.stat().st_mtime_ns}"


def is_covered(executable: str, programs: Iterable[str]) -> bool:
    """Whether what was started is this Python, part of an installed library, made by a test, or one of the programs.

    A program that no distribution installed loads what nobody lists.
    """
    place = Path(executable).resolve()
    libraries = [path for path in sys.path if "site-packages" in path]
    if place == Path(sys.executable).resolve() or _is_below(place, [*libraries, tempfile.gettempdir()]):
        return True
    return Path(executable).name in programs and any(map(os.path.exists, PACKAGES)) and _is_below(place, PLACES)


def _is_below(path: Path, folders: Iterable[str]) -> bool:
    return any(path.is_relative_to(Path(folder).resolve()) for folder in folders)
