"""Recurrent self-attention.  Claims about its normalisation, its energy, and the Jacobian of its update."""

from verify.vocabulary import Paper

DYNAMICS = Paper(
    key="dynamics",
    title="Recurrent Self-Attention Dynamics: An Energy-Agnostic Perspective from Jacobians",
    citation="Tomihari and Karakida, NeurIPS 2025",
    vec="row-major",
    authors=("Akiyoshi Tomihari", "Ryo Karakida"),
    venue="NeurIPS 2025",
    arxiv="2505.19458",
    checked="a conversion to plain text that has the abstract of arXiv version 2; version 4 words its abstract differently",
)
