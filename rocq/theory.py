"""The theory compiled: every file once for its sources and those that it needs, kept in a folder of the user's cache.

A compiled file names the very files that it was compiled with.  So the first one that is compiled of given sources is kept,
and all others are compiled against it: a copy of another checkout, or an older one, has nothing to compile.

`python rocq/theory.py` compiles all of it, and needs no library.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent
#: In the order in which they need each other.
THEORY = (
    "Rationals",
    "Expressions",
    "Functions",
    "Rules",
    "Derivatives",
    "Calculus",
    "Inverses",
    "Tables",
    "Slopes",
    "Statements",
    "Claims",
    "Exponentials",
    "ExponentialRules",
    "Iterates",
    "Matrices",
    "Norms",
)
IMPORT = re.compile(r"From Attention Require Import ([\w ]+)\.")


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if home else Path.home() / ".cache") / "attention-theorems" / "rocq"


def needed(*names: str, sources: Path = HERE) -> list[str]:
    """These files of the theory and those that they import, in order."""
    found = set(names)
    for name in reversed(THEORY):
        if name in found:
            text = (sources / f"{name}.v").read_text(encoding="utf-8")
            found.update(other for line in IMPORT.findall(text) for other in line.split())
    return [name for name in THEORY if name in found]


@cache
def _version() -> bytes:
    return subprocess.run(["coqc", "--version"], capture_output=True, check=True).stdout


def key(name: str, sources: Path = HERE) -> str:
    """The hash of a file with all that it imports, and of the compiler's version."""
    digest = sha256(_version())
    for other in needed(name, sources=sources):
        digest.update(f"\n{other}\n".encode() + (sources / f"{other}.v").read_bytes())
    return digest.hexdigest()[:32]


def coqc(theory: Path, path: Path) -> tuple[bool, str]:
    """Whether coqc accepts a file on top of the theory that is compiled in a folder, and what it prints."""
    command = ["coqc", "-noglob", "-w", "none", "-R", str(theory), "Attention", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.returncode == 0, found.stdout + found.stderr


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def compiled_theory(*names: str, sources: Path = HERE) -> Path:
    """A folder with these files of the theory, all of them where none is named, and what they need, compiled.

    Raises `SystemExit` with what coqc says where it refuses one.
    """
    wanted = needed(*(names or THEORY), sources=sources)
    keys = {name: key(name, sources) for name in wanted}
    kept = cache_folder()
    folder = kept / sha256("".join(keys.values()).encode()).hexdigest()[:32]
    with _alone(kept):
        folder.mkdir(exist_ok=True)
        for name in wanted:
            target, known = folder / f"{name}.vo", kept / f"{keys[name]}.vo"
            if not known.exists():
                target.unlink(missing_ok=True)  # it may be a link to one that was compiled of other files
                source = shutil.copy(sources / f"{name}.v", folder)
                accepted, text = coqc(folder, Path(source))
                if not accepted:
                    raise SystemExit(f"{sources / name}.v: {text}")
                os.link(target, known)
            elif not target.exists():
                os.link(known, target)
    return folder


if __name__ == "__main__":
    compiled_theory()

__all__ = ["THEORY", "cache_folder", "compiled_theory", "coqc", "key", "needed"]
