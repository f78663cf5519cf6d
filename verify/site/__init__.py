"""The theorem report as a self-contained web site: plain files that open from disk and need no network.

pages        which pages there are, and the writing of them     content     what stands on them
mathematics  LaTeX to MathML, mathematics in running text        comparison  two statements, what differs marked
plots        what the checks measured, drawn by `chart`          graph       which claim rests on which, laid out
code         highlighted Python, with helpers                    byhand      counterexamples in plain numpy
documents    Markdown of the docs as HTML                        glossary    the words of the report
latex        errata as LaTeX                                     badge       the verdicts in one line
building     which pages are due, and the workers that make them      printing   errata as PDF

Its libraries are the extra `report`; `verify.report` needs none of them and knows nothing of this package.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path

from verify.report import Report
from verify.report.baseline import Change
from verify.report.history import Changes
from verify.vocabulary.errors import InputError

#: Modules of the extra `report`.
LIBRARIES = ("anybadge", "fast_sugiyama", "jinja2", "latex2mathml", "markdown_it", "pygments", "pylatexenc", "rpack")
#: The front page of the docs, where `make docs` writes it beside the report.
DOCS = "docs/index.html"


def require_libraries() -> None:
    """Raise `InputError`, naming the extra, unless every library of the site can be imported."""
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        wanted = "the libraries of the extra 'report' (pip install 'attention-theorems[report]', Python 3.11 or newer),"
        raise InputError("the site", f"{wanted} or --no-site", f"an environment without {', '.join(missing)}")


def write_site(
    report: Report,
    folder: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
    changes: list[Change] | None = None,
    jobs: int = 1,
    package: str = "theorems",
    log: Sequence[Changes] = (),
    pdf: bool = False,
    docs: str | None = None,
) -> Path:
    """Write the site into `folder` and return the path of its front page.

    Pages made of the same as those that stand there are left alone, and pages of claims that are no more are removed.
    `progress(done, total)` tells how many of the others are made.  `changes` against a baseline, if there is one, are
    listed on the front page.  With more than one job pages are made in that many processes, which take the claims of
    the report from `package`.  A `log` of changed verdicts has a page; with `pdf` errata are printed too.  `docs` is the
    address of the docs, absolute or relative to `folder`, that each page links to; without it, the docs that `folder`
    holds, if it does.
    """
    require_libraries()
    from verify.site.pages import Site
    from verify.site.printing import print_errata, printer

    if pdf:
        printer()  # raises before anything is written
    if docs is None and (folder / DOCS).is_file():
        docs = DOCS
    front = Site(report, folder, changes, log, pdf, docs).write(progress, jobs, package)
    if pdf:
        print_errata(folder, report.papers)
    return front
