"""Theorem 3.1 as restated in Appendix B.1, where one digit of the extraction is doubtful, and its displayed proof.

The chain of the proof is misprinted, by a second root of d_K and by the size of the result.
"""

from __future__ import annotations

from typing import Any

from theorems.hessian.definitions import Z_1, attention_matrix, outer_product_hessian, softmax_jacobian
from theorems.hessian.part_3_structure.outer_product import THEOREM_31_VV
from theorems.hessian.settings import ATTENTION_LOSS, KeyWeights, QueryWeights, Tokens, ValueWeights
from verify.matrix import column, concatenate, eye, kron, rational, sqrt, vec_r
from verify.vocabulary import Claim, Doubt, Equal

THEOREM_31_APPENDIX_VV = THEOREM_31_VV.restated("hessian.thm-3.1-appendix-vv",
    label="Theorem 3.1 (restated in Appendix B.1), value block", name="outer-product Hessian, value block restated",
    doubt=Doubt(r"\frac{1}{Ld_{V}}\mathbf{M}_{1}^{\top}\mathbf{M}_{1}\otimes\mathbf{I}_{d_{V}}",
        """Theorem 3.1 is printed twice, word for word but for this digit: Section 3 has $2/(Ld_V)$, and so have the
            other blocks here and the proof below, which scales every block by $2/(Ld_V)$. Taken as 2; as 1 the block
            would be half of what Section 3 states."""))  # fmt: skip

# -- the displayed proof -----------------------------------------------------------------------------------------------

PROOF_31_VQ = Claim(ATTENTION_LOSS, "hessian.thm-3.1-proof-vq",
    label="Appendix B.1, proof of Theorem 3.1, displayed chain",
    statement=r"""
        H_o(W_V,W_Q) = \frac{2}{L d_V}\frac{\partial F}{\partial W_V}^\top\frac{\partial F}{\partial W_Q} = \frac{2}{L
        d_V}(X^\top A^\top\otimes I_{d_V})(I_L\otimes W_V^\top X^\top)\frac{\partial A}{\partial T}\Big(\frac{X\otimes X
        W_K}{\sqrt{d_K}}\Big) = \frac{2}{L d_V\sqrt{d_K}}(X^\top A^\top\otimes W_V^\top X^\top)\frac{\partial
        A}{\partial T}\Big(\frac{X\otimes X W_K}{\sqrt{d_K}}\Big) = \frac{2}{L d_V\sqrt{d_K}}(T_1^\top\otimes
        W_V^\top)(I_L\otimes X^\top)\frac{\partial A}{\partial T}(X\otimes X)(I_{d_V}\otimes W_K) = \frac{2}{L
        d_V\sqrt{d_K}}(T_1^\top\otimes W_V^\top) Z_1 (I_{d_V}\otimes W_K) \in \mathbb{R}^{L d_V\times d_V^2}""",
    name="outer-product Hessian, value-query block in steps", exact=False, relation=Equal(), expects="refuted",
    severity="slip", correction="hessian.thm-3.1-proof-vq-corrected",
    doubt=Doubt(r"\mathbf{T}_{1}^{\top} \otimes \mathbf{W}_{V}^{\top}", """$T_1$ is defined nowhere; Theorem 3.1 prints
            the same expression with $M_1$ in its place, which is taken."""),
    note=r"""The third member divides by $\sqrt{d_K}$ twice, and the block has the size $d_V^2 \times d_Vd_K$, not $Ld_V
        \times d_V^2$. Both are mended by the members around them: the first two and the last two are right.""",
)  # fmt: skip


def _chain(X: Any, W_Q: Any, W_K: Any, W_V: Any, third: Any, size: tuple[int, int]) -> Any:
    """Members two to five of the chain and their size, in one column; the third is multiplied by `third`."""
    L, d_V, d_K = X.shape[0], X.shape[1], W_Q.shape[1]
    A = attention_matrix(X, W_Q, W_K)
    S, M_1, scale, root = softmax_jacobian(A), A @ X, rational(2, L * d_V), sqrt(d_K)
    right = S @ kron(X, X @ W_K)
    members = [
        kron(X.T @ A.T, eye(d_V)) @ kron(eye(L), W_V.T @ X.T) @ right * (scale / root),
        kron(X.T @ A.T, W_V.T @ X.T) @ right * (scale * third),
        kron(M_1.T, W_V.T) @ kron(eye(L), X.T) @ S @ kron(X, X) @ kron(eye(d_V), W_K) * (scale / root),
        kron(M_1.T, W_V.T) @ Z_1(A, X) @ kron(eye(d_V), W_K) * (scale / root),
    ]
    return concatenate([*map(vec_r, members), column(*size)], axis=0)


@PROOF_31_VQ.formula
def members_of_the_proof_as_printed(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """Members two to five and the printed size, shape (4 d_V^3 d_K + 2, 1) (Appendix B.1)."""
    (L, d_V), d_K = X.shape, W_Q.shape[1]
    return _chain(X, W_Q, W_K, W_V, rational(1, d_K), size=(L * d_V, d_V**2))


@PROOF_31_VQ.oracle
def four_times_the_block(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    block = outer_product_hessian(X, W_Q, W_K, W_V, wrt=("W_V", "W_Q"))
    return concatenate([vec_r(block)] * 4 + [column(*block.shape)], axis=0)


PROOF_31_VQ.mutant("third member divided by sqrt(d_K) three times", "rational(1, d_K) -> rational(1, d_K) / sqrt(d_K)")
PROOF_31_VQ.mutant("another size", "L * d_V -> L * d_V * d_K")
PROOF_31_VQ.counterexample("uniform attention, d_K = 4, d_V = 1: the third member is half of the others", X=[[0], [4]],
    W_Q=[[0, 0, 0, 0]], W_K=[[1, 0, 0, 0]], W_V=[[1]])  # fmt: skip

PROOF_31_VQ_CORRECTED = Claim(ATTENTION_LOSS, "hessian.thm-3.1-proof-vq-corrected",
    label="Proof of Theorem 3.1, with one sqrt(d_K) and the right size",
    statement=r"""H_o(W_V,W_Q) = \frac{2}{L d_V\sqrt{d_K}}(X^\top A^\top\otimes I_{d_V})(I_L\otimes W_V^\top
        X^\top)\frac{\partial A}{\partial T}(X\otimes X W_K) = \frac{2}{L d_V\sqrt{d_K}}(X^\top A^\top\otimes W_V^\top
        X^\top)\frac{\partial A}{\partial T}(X\otimes X W_K) = \frac{2}{L d_V\sqrt{d_K}}(M_1^\top\otimes
        W_V^\top)(I_L\otimes X^\top)\frac{\partial A}{\partial T}(X\otimes X)(I_{d_V}\otimes W_K) = \frac{2}{L
        d_V\sqrt{d_K}}(M_1^\top\otimes W_V^\top) Z_1 (I_{d_V}\otimes W_K) \in \mathbb{R}^{d_V^2\times d_V d_K},\quad M_1
        = AX,\ Z_1 = (I_L\otimes X^\top)\frac{\partial A}{\partial T}(X\otimes X)""",
    name="outer-product Hessian, value-query block corrected", relation=Equal(), all_sizes=True,
    uses=("hessian.lem-B.1", "hessian.eq-6-10"), corrects="hessian.thm-3.1-proof-vq", of_project=True)  # fmt: skip


@PROOF_31_VQ_CORRECTED.formula
def members_of_the_proof(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """Members two to five and their size, shape (4 d_V^3 d_K + 2, 1)."""
    d_V, d_K = W_Q.shape
    return _chain(X, W_Q, W_K, W_V, rational(1) / sqrt(d_K), size=(d_V**2, d_V * d_K))


PROOF_31_VQ_CORRECTED.oracle(four_times_the_block)
PROOF_31_VQ_CORRECTED.mutant("third member divided by sqrt(d_K) twice", "rational(1) / sqrt(d_K) -> rational(1, d_K)")
PROOF_31_VQ_CORRECTED.mutant("W_V not transposed", "W_V -> W_V.T")
PROOF_31_VQ_CORRECTED.mutant("the printed size", "d_V ** 2 -> X.shape[0] * d_V; d_V * d_K -> d_V ** 2")
