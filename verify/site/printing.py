"""The errata as PDF: from their LaTeX where a LaTeX is installed, else from their pages by a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from verify.vocabulary.errors import InputError
from verify.vocabulary.sections import Paper

#: Commands that make a PDF of a .tex file, in the order in which they are looked for; {out} is the folder.
LATEX = {
    "pdflatex": ("-interaction=nonstopmode", "-halt-on-error", "-output-directory={out}"),
    "latexmk": ("-pdf", "-interaction=nonstopmode", "-halt-on-error", "-outdir={out}"),
    "tectonic": ("--outdir", "{out}"),
}
#: Browsers that print a page without a window.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: Seconds for one document.
PATIENCE = 300


def printer() -> tuple[str, str]:
    """What makes the PDFs, as (kind, path), kind "latex" or "browser"; raises `InputError` where there is nothing."""
    for kind, names in (("latex", tuple(LATEX)), ("browser", BROWSERS)):
        for name in names:
            if path := shutil.which(name):
                return kind, path
    wanted = f"one of {', '.join((*LATEX, *BROWSERS))} on the PATH"
    raise InputError("--pdf", wanted, "none of them: install one, or print errata/<paper>.html from a browser")


def print_errata(folder: Path, papers: list[Paper]) -> list[Path]:
    """Write errata/<paper>.pdf beside each page of errata; returns their paths."""
    kind, path = printer()
    return [(_compiled if kind == "latex" else _printed)(path, folder / "errata" / paper.key) for paper in papers]


def _compiled(latex: str, errata: Path) -> Path:
    """By LaTeX, in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as out:
        options = [option.format(out=out) for option in LATEX[Path(latex).stem]]
        return _made([latex, *options, str(errata.with_suffix(".tex"))], Path(out) / f"{errata.name}.pdf", errata)


def _printed(browser: str, errata: Path) -> Path:
    """By a browser, with a profile that is thrown away."""
    with tempfile.TemporaryDirectory() as out:
        made = Path(out) / "errata.pdf"
        options = [
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--no-pdf-header-footer",
            f"--user-data-dir={out}/profile",
        ]
        if os.name == "posix" and os.geteuid() == 0:
            options.append("--no-sandbox")  # browsers have none for root
        return _made(
            [browser, *options, f"--print-to-pdf={made}", errata.with_suffix(".html").resolve().as_uri()], made, errata
        )


def _made(command: list[str], made: Path, errata: Path) -> Path:
    """Run a command that makes one PDF, and put that beside its source."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise InputError("--pdf", f"a PDF of {errata.name} within {PATIENCE} s", f"none from {command[0]}") from None
    if done.returncode or not made.is_file():
        said = (done.stdout + done.stderr).strip().splitlines()[-3:]
        raise InputError(
            "--pdf", f"a PDF of {errata.name}", f"status {done.returncode} of {command[0]}: {' / '.join(said)}"
        )
    return Path(shutil.copyfile(made, errata.with_suffix(".pdf")))
