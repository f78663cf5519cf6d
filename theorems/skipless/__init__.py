"""Transformers without skip connections.  Claims about the conditioning of self-attention and its logits.

`definitions`: the objects under study.  `settings`, `quantities`, `sampling`: what several parts share.  Then a package for
each part of the paper, sections before appendices in the paper, each with its labels.
"""

from verify.vocabulary import Paper

SKIPLESS = Paper(
    key="skipless",
    title="Cutting the Skip: Training Residual-Free Transformers",
    citation="Ji et al., ICLR 2026",
    vec="column-major",
    authors=(
        "Yiping Ji",
        "James Martens",
        "Jianqiao Zheng",
        "Ziqin Zhou",
        "Peyman Moghadam",
        "Xinyu Zhang",
        "Hemanth Saratchandran",
        "Simon Lucey",
    ),
    venue="ICLR 2026",
    arxiv="2510.00345",
    checked="an anonymous submission, marked “Paper under double-blind review”, which gives no version or date",
)
