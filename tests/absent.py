"""What this machine lacks that tests need, said before they run, with the command that would change it."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable

#: What is looked for, the tests that are skipped without it, and the package of Debian and Ubuntu that has it.
PROGRAMS = {
    "chromium": ("the tests of the web site in a browser", "chromium"),
    "coqc": ("the tests of proofs that Rocq's kernel checks", "coq libcoq-mathcomp-analysis"),
    "pdflatex": ("the test that compiles the errata", "texlive-latex-extra"),
}
#: The same for libraries, which `make test` installs where it can.
LIBRARIES = {
    "jax": "tests of functions and layers of JAX",
    "flax": "tests of layers of flax",
    "equinox": "tests of layers of equinox",
    "transformers": "tests of layers of transformers",
    "curvlinops": "tests beside curvlinops",
}
INSTALL = "pip install -c constraints.txt -e '.[libraries]'"


def lines(has_program: Callable[[str], object], has_library: Callable[[str], object]) -> list[str]:
    """A line for each thing that is not there, then the command that installs it; none where nothing is missing."""
    programs = {name: told for name, told in PROGRAMS.items() if not has_program(name)}
    libraries = {name: told for name, told in LIBRARIES.items() if not has_library(name)}
    skipped = [f"no {name}: {tests} will be skipped" for name, (tests, _) in programs.items()]
    packages = " ".join(package for _, package in programs.values())
    if programs:
        skipped.append(f"to run them: sudo apt-get install {packages}")
    skipped += [f"no {name}: {tests} will be skipped" for name, tests in libraries.items()]
    return [*skipped, f"to run them: {INSTALL}"] if libraries else skipped


if __name__ == "__main__":
    print(
        "\n".join(lines(shutil.which, importlib.util.find_spec)) or "nothing is missing: no test will be skipped for it"
    )
