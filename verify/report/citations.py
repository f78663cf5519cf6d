"""How a paper is named and cited, and which text of it the verdicts are about."""

from __future__ import annotations

import re

from verify.report.wording import listed, sentence
from verify.vocabulary.claims import Paper


def link(paper: Paper) -> str:
    """The address of a paper's abstract on arXiv; empty where no number is known."""
    return f"https://arxiv.org/abs/{paper.arxiv}" if paper.arxiv else ""


def reference(paper: Paper) -> str:
    """Full names of the authors, and where the paper appeared; its short citation where neither is known."""
    parts = [listed(paper.authors) if paper.authors else "", paper.venue, f"arXiv:{paper.arxiv}" if paper.arxiv else ""]
    return "; ".join(part for part in parts if part) or paper.citation


def edition(paper: Paper) -> str:
    """Which text the verdicts are about; empty where nothing is said of it."""
    if not paper.checked:
        return ""
    return f"The verdicts are about the text that was checked: {sentence(paper.checked)} Other versions of the paper may differ."


def bibtex(paper: Paper, commit: str | None) -> str:
    """How to cite a paper, and its edition here, as BibTeX."""
    year = re.search(r"\b(?:19|20)\d\d\b", paper.venue)
    fields = {
        "title": f"{{{paper.title}}}",
        "author": " and ".join(paper.authors),
        "howpublished": paper.venue,
        "year": year[0] if year else "",
        "eprint": paper.arxiv,
        "archivePrefix": "arXiv" if paper.arxiv else "",
    }
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    note = f"Machine-checked claims of ``{paper.title}'' ({paper.citation})"
    version = f", commit {commit[:12]}" if commit else ""
    return (
        f"@misc{{{paper.key},\n{lines}\n}}\n"
        f"@misc{{attention-theorems-{paper.key},\n"
        "  title = {The machine-checked edition of attention theory},\n"
        f"  note = {{{note}{version}}}\n}}"
    )
