"""Eigenvalues of the T-functional Hessian, and where it makes up the query-key Hessian by itself (Appendix D)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.part_d_query_key.split_at_logits import (
    SPLIT_ANYWHERE, B_matrix, gauss_newton_at_logits, logits_of_stack, query_key_loss, split_in_closed_form,
)  # fmt: skip
from theorems.hessian.settings import KeyWeights, Labels, QueryWeights, Tokens, ValueWeights
from verify.matrix import (
    block_diag, concatenate, eye, kron, ones, rational, singular_values, sqrt, symmetric_eigenvalues, total, vec_r,
    zeros,
)  # fmt: skip
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Construction, Equal, Reading, Shape

Gauge = Annotated[Any, Shape("d_K", "d_K")]

# -- the spectrum of the T-functional Hessian --------------------------------------------------------------------------

EIGEN_PAIRS = Claim(SPLIT_ANYWHERE, "hessian.sec-D-eigen-pairs", label="Appendix D, text",
    statement=r"""\text{``Eigenvalues of } T\text{-functional Hessian come in pairs } \pm\lambda_i\text{ for } 1\le i\le
        d_V\text{. To see that it is enough to note that if } \lambda_i\text{ is an eigenvalue with an eigenvector }
        [v_1^\top,v_2^\top]^\top\text{, then also } [-v_1^\top,v_2^\top]^\top\text{ is an eigenvector with corresponding
        eigenvalue } -\lambda_i\text{''; ``eigenvalues of } T\text{-functional Hessian are the same as eigenvalues of }
        \frac{1}{\sqrt{d_K}}\begin{bmatrix}0&B^\top\\B&0\end{bmatrix}\text{, each with multiplicity } d_K\text{. This is
        exactly like the eigenvalue structure of the functional Hessian of a two-layer MLP''}""",
    name="eigenvalue pairs of the functional Hessian", exact=False, relation=Equal(),
    sizes={"L": (1, 4), "d_V": (1, 3), "d_K": (1, 4)},
    where=lambda sizes: sizes["d_V"] * sizes["d_K"] <= 6 and sizes["L"] * sizes["d_V"] * sizes["d_K"] <= 12,
    expects="gap", presumes=("hessian.rem-D.1",), uses=("hessian.rem-D.1-corrected",),
    consequence="""The pairs stand, but the printed eigenvalues miss the factor $2/(Ld_V)$ of the loss
        (hessian.rem-D.1-corrected).""",
    note=r"""$\lambda_i = 2\sigma_i(B)/(Ld_V\sqrt{d_K})$, with the factor of the loss that Remark D.1 drops on both
        sides. The pairs of eigenvectors say that $DH_f^TD = -H_f^T$ for $D = \operatorname{diag}(-I, I)$. For the
        two-layer linear MLP $XW_1W_2$ the pairs are $\pm2\sigma_i(X^\top(F - Y))/(Ld_V)$, each as often as there are
        hidden units, here $d_K$ of them: $W_1 = W_Q$, $W_2 = W_K^\top$.""")  # fmt: skip


def paired_spectrum(B: Any, multiplicity: int) -> Any:
    """+-sigma_i(B) in ascending order, each `multiplicity` times, as a column."""
    sigma = singular_values(B).reshape(-1, 1)
    ascending = concatenate([-sigma, eye(sigma.shape[0])[::-1] @ sigma], axis=0)
    return kron(ascending, ones(multiplicity, 1))


def _each_pair_once(B: Any, multiplicity: int) -> Any:
    """+-sigma_i(B) once each, with zeros between them, in ascending order."""
    once, n = paired_spectrum(B, 1), B.shape[0]
    return concatenate([once[:n], zeros(2 * n * (multiplicity - 1), 1), once[n:]], axis=0)


def _mlp(W: Any, X: Any) -> Any:
    """The two-layer linear MLP X W_1 W_2 for W = [W_1; W_2^T]."""
    d_V = X.shape[1]
    return X @ W[:d_V] @ W[d_V:].T


def _mlp_residual(X: Any, W_Q: Any, W_K: Any, Y: Any) -> Any:
    """2 (F - Y) / (L d_V) of the MLP with W_1 = W_Q and W_2 = W_K^T."""
    return (X @ W_Q @ W_K.T - Y) * rational(2, X.shape[0] * X.shape[1])


@EIGEN_PAIRS.formula
def t_functional_spectrum(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """Eigenvalues of H_f^T, those of the MLP's functional Hessian, and -D H_f^T D, all entries in one column (Appendix D)."""
    (L, d_V), d_K = X.shape, W_Q.shape[1]
    B = B_matrix(X, W_Q, W_K, W_V, Y) * rational(2, L * d_V)
    flip = block_diag([-eye(d_V * d_K), eye(d_V * d_K)])
    _, functional = split_in_closed_form(X, W_Q, W_K, W_V, Y)
    value = paired_spectrum(B / sqrt(d_K), d_K)
    mlp = paired_spectrum(X.T @ _mlp_residual(X, W_Q, W_K, Y), d_K)
    return stacked(value, mlp, -(flip @ functional @ flip))


@EIGEN_PAIRS.oracle
def spectra_of_the_hessians(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    _, functional = gauss_newton_at_logits(X, W_Q, W_K, W_V, Y)
    residual = _mlp_residual(X, W_Q, W_K, Y)

    def paired(W: Any) -> Any:
        return total(residual * _mlp(W, X))

    mlp = hessian(paired, ("W", "W"))(concatenate([W_Q, W_K], axis=0))
    return concatenate(
        [symmetric_eigenvalues(H).reshape(-1, 1) for H in (functional, mlp)] + [vec_r(functional)], axis=0
    )


EIGEN_PAIRS.mutant("divided by d_K instead of its root", "sqrt(d_K) -> d_K")
EIGEN_PAIRS.mutant("each pair once, the other eigenvalues zero", "paired_spectrum -> _each_pair_once")
EIGEN_PAIRS.mutant("eigenvectors flipped without a change of sign",
    "-(flip @ functional @ flip) -> flip @ functional @ flip")  # fmt: skip

# -- 'responsible for the bulk' ----------------------------------------------------------------------------------------

BULK = Claim(SPLIT_ANYWHERE, "hessian.sec-D-bulk", label="Appendix D, text",
    statement=r"""\text{``The } T\text{-functional Hessian has a characteristic block-hollow structure with blocks of
        zeros on the diagonal, which makes it responsible for the bulk eigenvalues of the query-key Hessian''}""",
    assumptions=[Construction("M in R^{d_K x d_K} is arbitrary", shapes={"M": ("d_K", "d_K")})],
    name="bulk eigenvalues of the query-key Hessian", relation=Equal(), all_sizes=True, expects="reading",
    uses=("hessian.rem-D.1-corrected", "hessian.lem-D.2-rank-of-v"),
    reading=Reading("responsible for the bulk eigenvalues", r"""on the null space of $V$, which the directions
            $[-W_KM^\top; W_QM]$, in the order $[W_K; W_Q]$, that leave $T$ unchanged make up, the query-key
            Hessian is $H_f^T$ alone"""),
    note=r"""For $W_Q$, $W_K$ of full rank these directions number $2d_Vd_K - \operatorname{rk}V$: $d_K^2$ for $d_K <
        d_V$ and $2d_Vd_K - d_V^2$ for $d_K \ge d_V$. If 'bulk' means more than half of the $2d_Vd_K$ eigenvalues, the
        sentence needs $d_K > d_V$: for $d_K < d_V$, the usual case, $H_o^T$ can have the rank $2d_Vd_K - d_K^2$, more
        than half (attained, see Lemma D.2).""")  # fmt: skip


def gauge_direction(W_Q: QueryWeights, W_K: KeyWeights, M: Gauge) -> Any:
    """[-W_K M^T; W_Q M] as a column, shape (2 d_V d_K, 1): the change of [W_K; W_Q] under W_Q (I + M), W_K (I + M)^-T."""
    return vec_r(concatenate([-(W_K @ M.T), W_Q @ M], axis=0))


@BULK.formula
def t_functional_along_gauge(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels, M: Gauge
) -> Any:
    """H_f^T along [-W_K M^T; W_Q M], and zeros, shape (2 d_V d_K + L^2, 1) (Appendix D)."""
    _, functional = split_in_closed_form(X, W_Q, W_K, W_V, Y)
    return concatenate([functional @ gauge_direction(W_Q, W_K, M), zeros(X.shape[0] ** 2, 1)], axis=0)


@BULK.oracle
def hessian_along_gauge(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels, M: Gauge) -> Any:
    W, direction = concatenate([W_K, W_Q], axis=0), vec_r(concatenate([-(W_K @ M.T), W_Q @ M], axis=0))
    whole = hessian(query_key_loss, ("W", "W"))(W, X, W_V, Y) @ direction
    return concatenate([whole, jacobian(logits_of_stack, "W")(W, X) @ direction], axis=0)


BULK.mutant("keys moved with the same sign", "gauge_direction(W_Q, W_K, M) -> gauge_direction(W_Q, -W_K, M)")
BULK.mutant("M not transposed", "gauge_direction(W_Q, W_K, M) -> vec_r(concatenate([-(W_K @ M), W_Q @ M], axis=0))")
BULK.mutant("B transposed", turned=True)
