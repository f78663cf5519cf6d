"""Recurrent self-attention.  Claims about its normalisation, its energy, and the Jacobian of its update."""

from verify.vocabulary import Paper

DYNAMICS = Paper(
    key="dynamics",
    title="Recurrent Self-Attention Dynamics: An Energy-Agnostic Perspective from Jacobians",
    citation="Tomihari, Karakida",
    vec="row-major",
    authors=("Akiyoshi Tomihari", "Ryo Karakida"),
)
