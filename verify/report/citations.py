"""How a paper is named and cited, and which text of it the verdicts are about."""

from __future__ import annotations

import re

from verify.report.wording import listed, sentence
from verify.vocabulary.claims import Claim
from verify.vocabulary.sections import Paper

#: A section in a label, "Section 4.2", "App. C.1"; and in the name of a part's package, `part_a4_1_logits`.
_IN_LABEL = re.compile(r"\b(?:Section|Sec\.|Appendix|App\.) ([A-Z]|\d+)((?:\.\d+)*)")
_IN_PACKAGE = re.compile(r"\.part_(?:([a-z])(?=[\d_])|(\d+))((?:_?\d+)*)")


def link(paper: Paper) -> str:
    """The address of a paper's abstract on arXiv; empty where no number is known."""
    return f"https://arxiv.org/abs/{paper.arxiv}" if paper.arxiv else ""


def section(claim: Claim) -> str:
    """The section of its paper in which a claim stands, "4.2" or "A.4.1"; empty where neither label nor module says."""
    if found := _IN_LABEL.search(claim.label):
        return found[1] + found[2]
    if found := _IN_PACKAGE.search(claim.module):
        numbers = re.findall(r"\d+", found[3])
        return ".".join([(found[1] or found[2]).upper(), *(number for number in numbers if number != "0")])
    return ""


def section_link(claim: Claim) -> str:
    """The address of that section in arXiv's web page of the paper; empty where no number or no section is known.

    The page names sections S4, S4.SS2, S4.SS2.SSS1, and appendices A1, A1.SS4, A1.SS4.SSS1.
    """
    if not claim.paper.arxiv or claim.of_project or not section(claim):
        return ""
    first, *deeper = section(claim).split(".")
    place = f"S{first}" if first.isdigit() else f"A{ord(first) - ord('A') + 1}"
    levels = (f"{'S' * (depth + 2)}{number}" for depth, number in enumerate(deeper[:2]))
    return f"https://arxiv.org/html/{claim.paper.arxiv}#{'.'.join([place, *levels])}"


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
