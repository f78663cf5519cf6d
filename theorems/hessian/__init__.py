"""What Does It Mean to Be a Transformer?  Claims about the Hessian of a self-attention layer."""

from verify.vocabulary import Paper

HESSIAN = Paper(
    key="hessian",
    title="What Does It Mean to Be a Transformer? Insights from a Theoretical Hessian Analysis",
    citation="Ormaniec, Dangel, Singh",
    vec="row-major",
    authors=("Weronika Ormaniec", "Felix Dangel", "Sidak Pal Singh"),
)
