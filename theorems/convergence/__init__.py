"""On the Convergence of Encoder-only Shallow Transformers: the kernel and the training of one attention layer."""

from verify.vocabulary import Paper

CONVERGENCE = Paper(
    key="convergence",
    title="On the Convergence of Encoder-only Shallow Transformers",
    citation="Wu, Liu, Chrysos and Cevher, NeurIPS 2023",
    vec="column-major",
    authors=("Yongtao Wu", "Fanghui Liu", "Grigorios G Chrysos", "Volkan Cevher"),
    venue="NeurIPS 2023",
    arxiv="2311.01575",
    checked="a text marked “37th Conference on Neural Information Processing Systems (NeurIPS 2023)”",
)
