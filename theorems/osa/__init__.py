"""Orthogonal Self-Attention: the paper part by part, in its order.

`definitions` (the objects under study), `shapes` and `settings` (what claims are about and what they assume);
`part_1_introduction` to `part_2_4_cost`, then `part_a_orthogonality_error` to `part_f_proofs`; `fast`, the
functions that models use.  Section 3, on training, claims nothing that is decided here.
"""

from verify.vocabulary import Paper

OSA = Paper(
    key="osa",
    title="Orthogonal Self-Attention",
    citation="Zhang and Martens, ICLR 2026 workshop GRaM",
    vec="column-major",
    authors=("Leo Zhang", "James Martens"),
    venue="ICLR 2026 workshop GRaM",
    arxiv="2602.05996",
    checked="an anonymous submission, marked “Paper under double-blind review”, which gives no version or date",
)
