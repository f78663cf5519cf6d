"""Orthogonal Self-Attention: the paper part by part, in its order.

`definitions` (the objects under study), `shapes` and `settings` (what claims are about and what they assume);
`section_1_introduction` to `section_2_4_cost`, then `appendix_a_orthogonality_error` to `appendix_f_proofs`; `fast`, the
functions that models use.  Section 3, on training, claims nothing that is decided here.
"""

from verify.claims import Paper

OSA = Paper(
    key="osa",
    title="Orthogonal Self-Attention",
    citation="anonymous submission, double-blind review",
    vec="column-major",
)
