"""Transformers without skip connections.  Claims about the conditioning of self-attention and its logits.

`definitions`: the objects under study.  `settings`, `quantities`, `sampling`: what several parts share.  Then a package for
each part of the paper, sections before appendices in the paper, each with its labels.
"""

from verify.vocabulary import Paper

SKIPLESS = Paper(
    key="skipless",
    title="Cutting the Skip: Training Residual-Free Transformers",
    citation="anonymous submission",
    vec="column-major",
    printed="Paper under double-blind review",
)
