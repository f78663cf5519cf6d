"""What Does It Mean to Be a Transformer?  Claims about the Hessian of a self-attention layer."""

from verify.vocabulary import Paper

HESSIAN = Paper(
    key="hessian",
    title="What Does It Mean to Be a Transformer? Insights from a Theoretical Hessian Analysis",
    citation="Ormaniec, Dangel and Singh, ICLR 2025",
    vec="row-major",
    authors=("Weronika Ormaniec", "Felix Dangel", "Sidak Pal Singh"),
    venue="ICLR 2025",
    arxiv="2410.10986",
    checked="a text that names its authors and gives no version or date",
)
