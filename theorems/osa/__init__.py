"""Orthogonal Self-Attention.  Claims about attention matrices exp(S) of skew S, their bases and their initialisation."""

from verify.vocabulary import Paper

OSA = Paper(
    key="osa",
    title="Orthogonal Self-Attention",
    citation="anonymous submission, double-blind review",
    vec="column-major",
)
