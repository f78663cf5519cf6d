"""On the Convergence of Encoder-only Shallow Transformers: the kernel and the training of one attention layer."""

from verify.vocabulary import Paper

CONVERGENCE = Paper(
    key="convergence",
    title="On the Convergence of Encoder-only Shallow Transformers",
    citation="Wu, Liu, Chrysos, Cevher, NeurIPS 2023",
    vec="column-major",
)
