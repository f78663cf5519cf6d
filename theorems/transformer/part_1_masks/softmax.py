"""The softmax under a mask: a distribution over allowed keys, its first and second derivatives."""

from __future__ import annotations

from typing import Any

from theorems.transformer.definitions import softmax_covariances, softmax_under_mask
from theorems.transformer.settings import BINARY, SOFTMAX, Logits, Mask
from verify.matrix import exp, eye, indexed, ones, row_sums, softmax  # noqa: F401  (a mutant names exp)
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Equal

ROWS = Claim(SOFTMAX, "transformer.masked-rows", label="Rows sum to one over allowed keys",
    statement=r"P\mathbf 1 = \mathbf 1,\quad P\circ M = P", assumptions=[BINARY], hypotheses=[BINARY],
    name="a distribution over the allowed keys", relation=Equal(), all_sizes=True)  # fmt: skip


@ROWS.formula
def allowed_mass(T: Logits, M: Mask) -> Any:
    """The sums of P over all keys, and P itself, all entries in one column."""
    P = softmax_under_mask(T, M)
    return indexed("ij->(i j)()", row_sums(P) @ ones(1, P.shape[1]) + P)


ROWS.oracle(lambda T, M: indexed("ij->(i j)()", 1 + softmax_under_mask(T, M) * M))
ROWS.mutant("columns sum to one", "row_sums(P) @ ones(1, P.shape[1]) -> ones(P.shape[0], P.shape[0]) @ P")
ROWS.mutant("no mask", "softmax_under_mask(T, M) -> softmax(T)")

RENORMALISED = Claim(SOFTMAX, "transformer.masked-renormalised", label="A mask renormalises the softmax",
    statement=r"P_{ij} = \frac{M_{ij}A_{ij}}{\sum_k M_{ik}A_{ik}},\quad A = \operatorname{softmax}(T)",
    name="masked softmax from the softmax", relation=Equal(),
    domains=("generic", "integers", "tied", "kinks", "uniform attention"),
    note="At large logits all of A that a mask leaves may underflow; the formula on the left does not.")  # fmt: skip


@RENORMALISED.formula
def renormalised(T: Logits, M: Mask) -> Any:
    """M o softmax(T), its rows divided by their sums, shape (m, n)."""
    allowed = softmax(T) * M
    return allowed / row_sums(allowed)


RENORMALISED.oracle(lambda T, M: softmax_under_mask(T, M))
RENORMALISED.mutant("not renormalised", "allowed / row_sums(allowed) -> allowed")
RENORMALISED.mutant("zeros in the place of masked logits", "softmax(T) * M -> exp(T * M)")
RENORMALISED.mutant("mask after the softmax of masked logits", "softmax(T) * M -> softmax(T * M)")

JACOBIAN = Claim(SOFTMAX, "transformer.masked-softmax-jacobian", label="Jacobian of the softmax under a mask",
    statement=r"\partial P/\partial T = \operatorname{blockdiag}_i\big(\operatorname{diag}(P_i) - P_iP_i^\top\big)",
    name="Jacobian of the masked softmax", relation=Equal(), all_sizes=True, uses=("transformer.masked-rows",),
    note="The form without a mask; rows and columns of masked logits vanish with their entries of $P$.")  # fmt: skip


@JACOBIAN.formula
def masked_softmax_jacobian(T: Logits, M: Mask) -> Any:
    """blockdiag(diag(P_i) - P_i P_i^T), shape (m n, m n)."""
    return softmax_covariances(softmax_under_mask(T, M))


JACOBIAN.oracle(lambda T, M: jacobian(softmax_under_mask, "T")(T, M))
JACOBIAN.mutant("no mask", "softmax_under_mask(T, M) -> softmax(T)")
JACOBIAN.mutant(
    "the mask times the Jacobian without it", lambda T, M: softmax_covariances(softmax(T)) * M.reshape(-1, 1)
)

SECOND = Claim(SOFTMAX, "transformer.masked-softmax-hessian", label="Second derivative of the softmax under a mask",
    statement=r"""\frac{\partial^2P_{ij}}{\partial T_{ik}\partial T_{il}} = P_{ij}\big((\delta_{jk}-P_{ik})
        (\delta_{jl}-P_{il}) - P_{ik}(\delta_{kl}-P_{il})\big)""",
    name="second derivative of the masked softmax", relation=Equal(), all_sizes=True, sizes={"m": (1, 3), "n": (1, 3)},
    uses=("transformer.masked-softmax-jacobian",))  # fmt: skip


@SECOND.formula
def masked_softmax_hessian(T: Logits, M: Mask) -> Any:
    """Hessians of the entries of P on top of each other, shape (m n m n, m n)."""
    (m, n), P = T.shape, softmax_under_mask(T, M)
    deviations = eye(n).reshape(1, n, n) - P.reshape(m, 1, n)  # delta_jk - P_ik at i, j, k
    curvature = deviations.reshape(m, n, n, 1) * deviations.reshape(m, n, 1, n) - indexed(
        "ik,ikl->(i)(k)(l)", P, deviations
    ).reshape(m, 1, n, n)
    return indexed("ijkl,ij,ip,iq->(i j p k)(q l)", curvature, P, eye(m), eye(m))


SECOND.oracle(lambda T, M: hessian(softmax_under_mask, ("T", "T"))(T, M))
SECOND.mutant("no mask", "softmax_under_mask(T, M) -> softmax(T)")
SECOND.mutant("covariance left out", "indexed('ik,ikl->(i)(k)(l)', P, deviations) -> 0 * deviations")
