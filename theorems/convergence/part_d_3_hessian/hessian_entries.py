"""The entries of the Hessian blocks in Appendix D.3, against second derivatives of the network."""

from __future__ import annotations

from typing import Any

from theorems.convergence.part_d_3_hessian.hessian_blocks import (
    AT_KINKS, DERIVATIVES, GAMMA_AS_A_MATRIX, LOST_DOT, SCALAR, Queries, ScalarTokens, Scale, Weights, active, block, covariance,
    logit_curvature, logit_slope, mixed_factor, scalar_attention, scalar_network, slope_as_printed,
)  # fmt: skip
from verify.matrix import concatenate, diag, eye, relu, summed
from verify.oracles import closed_form
from verify.vocabulary import Claim, Doubt, Equal

# -- H_{Q,Q} and H_{Q,K} -----------------------------------------------------------------------------------------------

H_QQ = Claim(DERIVATIVES, "convergence.h-qq", label="D.3, entries of H_QQ", name="Hessian block of queries",
    statement=r"""H_{Q,Q}^{(j,p)}=\frac{\partial^2f(x)}{\partial w_Q^{(j)}\partial w_Q^{(p)}}=
        \tau_0^2\tau_1\sum_iw_K^{(j)}w_K^{(p)}(x^{(i)})^2w_V^\top(w_O\circ\dot\sigma_r(w_Vx^\top
        \beta_i))x^\top\Gamma_ix""",
    relation=Equal(), all_sizes=True, sizes={"d_s": (1, 4), "d_m": (1, 5)}, uses=("convergence.gamma-def-matrix",),
    presumes=("convergence.gamma-def",),
    note=r"""A multiple of $w_K w_K^\top$: $f$ depends on $w_Q$ through $w_Q \cdot w_K$ alone. $\Gamma_i$ is the matrix
        of convergence.gamma-def-matrix; its definition beside the display is misprinted (convergence.gamma-def).""",
)  # fmt: skip


@closed_form(scalar_network, ("w_Q", "w_Q"), "convergence.h-qq")
@H_QQ.formula
def query_query_block(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
                      tau_1: Scale) -> Any:  # fmt: skip
    """H_{Q,Q}, shape (d_m, d_m) (Appendix D.3)."""
    return w_K @ logit_curvature(x, w_Q, w_K, w_V, w_O, tau_0, tau_1) @ w_K.T


H_QQ.oracle(block("w_Q", "w_Q"))
H_QQ.mutant("Gamma_i as printed", Gamma=slope_as_printed)
H_QQ.mutant("diagonal term of Gamma_i alone", Gamma=lambda beta, x: diag(covariance(beta) @ x))
H_QQ.mutant("tau_0 tau_1^2", lambda value, tau_0, tau_1: value * tau_1 / tau_0)


H_QK = Claim(SCALAR, "convergence.h-qk", label="D.3, entries of H_QK", name="Hessian block of queries and keys",
    statement=r"""H_{Q,K}^{(j,p)}=\frac{\partial^2f}{\partial w_Q^{(j)}\partial
        w_K^{(p)}}=\frac{\partial^2f(x)}{\partial w_Q^{(j)}\partial
        w_Q^{(p)}}=\tau_0^2\tau_1\sum_iw_K^{(j)}w_Q^{(p)}(x^{(i)})^2w_V^\top(w_O\circ\dot
        \sigma_r(w_Vx^\top\beta_i))x^\top\Gamma_ix;\quad\|H_{Q,K}\|_2=\mathcal O(1/\sqrt{d_m})""",
    assumptions=[AT_KINKS],
    relation=Equal(), expects="refuted", severity="error", correction="convergence.h-qk-product-rule",
    note=r"""Eq. (73) contains $w_K^{(j)}$ as a factor, whose derivative is missing: the product rule adds $\delta_{jp}
        \,df/d(w_Q \cdot w_K)$, which is all there is at $w_Q = 0$ or $w_K = 0$. The middle expression, with $w_Q$
        twice, is $H_{Q,Q}$ and misprinted. The order of the norm survives (convergence.hessian-block-bounds): the
        missing term is of the same order at most.""")  # fmt: skip


@H_QK.formula
def printed_query_key_block(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
                            tau_1: Scale) -> Any:  # fmt: skip
    """H_{Q,K} as printed, with Gamma_i as a matrix, shape (d_m, d_m) (Appendix D.3)."""
    return w_K @ logit_curvature(x, w_Q, w_K, w_V, w_O, tau_0, tau_1) @ w_Q.T


H_QK.oracle(block("w_Q", "w_K"))
H_QK.mutant("w_K twice", "w_Q.T -> w_K.T")
H_QK.mutant("tau_0 tau_1", lambda value, tau_0: value / tau_0)
H_QK.counterexample(
    "two tokens 0 and 1, w_Q = 2, w_K = w_V = w_O = tau_1 = 1, tau_0 = 1/2",
    x=[[0], [1]], w_Q=[[2]], w_K=[[1]], w_V=[[1]], w_O=[[1]], tau_0="1/2", tau_1=1,
)  # fmt: skip
H_QK.counterexample(
    "two tokens 0 and 1, w_Q = w_K = 0: the entry is 1/8, printed 0",
    x=[[0], [1]], w_Q=[[0]], w_K=[[0]], w_V=[[1]], w_O=[[1]], tau_0="1/2", tau_1=1,
)  # fmt: skip


PRODUCT_RULE = Claim(DERIVATIVES, "convergence.h-qk-product-rule",
    label="D.3, entries of H_QK with both terms of the product rule",
    statement=r"""H_{Q,K}^{(j,p)}=\tau_0^2\tau_1 \sum_iw_K^{(j)}w_Q^{(p)}(x^{(i)})^2w_V^\top(w_O
        \circ\dot\sigma_r(w_Vx^\top \beta_i))x^\top\Gamma_ix+\mathbb
        1_{\{j=p\}}\tau_0\tau_1\sum_ix^{(i)}w_V^\top(w_O\circ\dot\sigma_r(w_Vx^\top
        \beta_i))x^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)x""",
    name="Hessian block of queries and keys, corrected", assumptions=[GAMMA_AS_A_MATRIX],
    relation=Equal(), all_sizes=True, corrects="convergence.h-qk", of_project=True,
)  # fmt: skip


@closed_form(scalar_network, ("w_Q", "w_K"), "convergence.h-qk-product-rule")
@PRODUCT_RULE.formula
def query_key_block(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
                    tau_1: Scale) -> Any:  # fmt: skip
    """H_{Q,K} = f'' w_K w_Q^T + f' I, shape (d_m, d_m), derivatives taken in w_Q . w_K."""
    d_m = w_Q.shape[0]
    curvature = w_K @ logit_curvature(x, w_Q, w_K, w_V, w_O, tau_0, tau_1) @ w_Q.T
    return curvature + eye(d_m) * logit_slope(x, w_Q, w_K, w_V, w_O, tau_0, tau_1)


PRODUCT_RULE.oracle(block("w_Q", "w_K"))
PRODUCT_RULE.mutant("second term missing, as printed", "eye(d_m) -> 0")
PRODUCT_RULE.mutant("transposed", lambda value: value.T)
PRODUCT_RULE.mutant("second term in every entry", "eye(d_m) -> 1")


# -- H_{Q,V}, H_{Q,O} and H_{O,V} --------------------------------------------------------------------------------------

H_QV = Claim(DERIVATIVES, "convergence.h-qv", label="D.3, entries of H_QV", name="Hessian block of queries and values",
    statement=r"""H_{Q,V}^{(j,p)}=\frac{\partial^2f}{\partial w_Q^{(j)}\partial w_V^{(p)}}=
        \tau_0\tau_1\sum_iw_K^{(j)}x^{(i)}w_O^{(p)}\dot\sigma_r(w_V^{(p)}x^\top\beta_i)x^\top(
        \mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)x""",
    relation=Equal(), all_sizes=True)  # fmt: skip


@closed_form(scalar_network, ("w_Q", "w_V"), "convergence.h-qv")
@H_QV.formula
def query_value_block(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
                      tau_1: Scale) -> Any:  # fmt: skip
    """H_{Q,V}, of rank one, shape (d_m, d_m) (Appendix D.3)."""
    return w_K @ mixed_factor(x, w_Q, w_K, w_V, w_O, tau_0, tau_1).T


H_QV.oracle(block("w_Q", "w_V"))
H_QV.mutant("transposed", lambda value: value.T)
H_QV.mutant("w_V for w_O", "w_O -> w_V")
H_QV.mutant("tau_0^2 tau_1", lambda value, tau_0: value * tau_0)


H_QO = Claim(DERIVATIVES, "convergence.h-qo", label="D.3, entries of H_QO", name="Hessian block of queries and outputs",
    statement=r"""H_{Q,O}^{(j,p)}=\frac{\partial^2f}{\partial w_Q^{(j)}\partial w_V^{(p)}}=\tau_0\tau_1
        \sum_iw_K^{(j)}x^{(i)}w_V^{(p)}\dot\sigma_r(w_V^{(p)}x^\top\beta_i)x^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^
        \top)x""",
    assumptions=[AT_KINKS],
    relation=Equal(), expects="refuted", severity="slip", correction="convergence.h-qo-output-weight",
    note="""The denominator has $w_V$ where the name of the block and the right side have $w_O$: with $w_V$ it is
        $H_{Q,V}$, which is printed above with $w_O^{(p)}$ in the place of $w_V^{(p)}$. The line after it names
        $H_{Q,V}$ as well and bounds $H_{Q,O}$. $O$ and $Q$ change places in the extraction, $O$ and $V$ nowhere else.
    """)  # fmt: skip


@H_QO.formula
def printed_query_output_block(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
                               tau_1: Scale) -> Any:  # fmt: skip
    """The printed right side, shape (d_m, d_m), which is to be the derivative in w_Q and w_V (Appendix D.3)."""
    return w_K @ mixed_factor(x, w_Q, w_K, w_V, w_V, tau_0, tau_1).T


H_QO.oracle(block("w_Q", "w_V"))
H_QO.mutant("transposed", lambda value: value.T * 2)
H_QO.mutant("tau_0^2 tau_1", lambda value, tau_0: value * tau_0)
H_QO.counterexample(
    "two tokens 0 and 1, w_Q = w_K = w_V = tau_1 = 1, w_O = 2, tau_0 = 1/2",
    x=[[0], [1]], w_Q=[[1]], w_K=[[1]], w_V=[[1]], w_O=[[2]], tau_0="1/2", tau_1=1,
)  # fmt: skip


H_QO_RIGHT = Claim(DERIVATIVES, "convergence.h-qo-output-weight", label="D.3, entries of H_QO, the derivative in w_O",
    statement=r"""H_{Q,O}^{(j,p)}=\frac{\partial^2f}{\partial w_Q^{(j)}\partial w_O^{(p)}}=\tau_0\tau_1
        \sum_iw_K^{(j)}x^{(i)}w_V^{(p)}\dot\sigma_r(w_V^{(p)}x^\top\beta_i)x^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^
        \top)x""",
    name="Hessian block of queries and outputs, corrected", relation=Equal(), all_sizes=True,
    corrects="convergence.h-qo", of_project=True)  # fmt: skip


@closed_form(scalar_network, ("w_Q", "w_O"), "convergence.h-qo-output-weight")
@H_QO_RIGHT.formula
def query_output_block(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
                       tau_1: Scale) -> Any:  # fmt: skip
    """H_{Q,O}, of rank one, shape (d_m, d_m)"""
    kept = w_V
    return w_K @ mixed_factor(x, w_Q, w_K, w_V, kept, tau_0, tau_1).T


H_QO_RIGHT.oracle(block("w_Q", "w_O"))
H_QO_RIGHT.mutant("the block of w_V", block("w_Q", "w_V"))
H_QO_RIGHT.mutant("w_O for w_V", "kept -> w_O")


H_OV = Claim(DERIVATIVES, "convergence.h-ov", label="D.3, entries of H_OV", name="Hessian block of outputs and values",
    statement=r"""H_{O,V}^{(p,j)}=\frac{\partial^2f(x)}{\partial w_O^{(p)}\partial
        w_V^{(j)}}=\tau_1\sum_i\sigma_r(w_V^{(p)} \beta_i^\top x)x^\top\beta_i\mathbb 1_{\{j=p\}}""",
    relation=Equal(), all_sizes=True,
    doubt=Doubt(
        r"\sigma_r \left( w_V^{(p)} \boldsymbol{\beta}_i^\top \boldsymbol{x} \right) \boldsymbol{x}^\top",
        LOST_DOT + " With relu itself the entry would be quadratic in beta_i, as a mutant shows.",
    ))  # fmt: skip


def output_value_entries(x: Any, w_Q: Any, w_K: Any, w_V: Any, tau_0: Any, tau_1: Any, gate: Any = active) -> Any:
    """The diagonal of H_{O,V}: tau_1 sum_i relu'(w_V beta_i^T x) x^T beta_i, shape (d_m, 1)."""
    betas = scalar_attention(x, w_Q, w_K, tau_0)
    return summed(x.shape[0], lambda i: gate(w_V, x.T @ betas[i]) @ (x.T @ betas[i])) * tau_1


@closed_form(scalar_network, ("w_O", "w_V"), "convergence.h-ov")
@H_OV.formula
def output_value_block(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
                       tau_1: Scale) -> Any:  # fmt: skip
    """H_{O,V}, diagonal, shape (d_m, d_m) (Appendix D.3)."""
    return diag(output_value_entries(x, w_Q, w_K, w_V, tau_0, tau_1))


H_OV.oracle(block("w_O", "w_V"))
H_OV.mutant("relu for its derivative, as extracted", gate=lambda w_V, mean: relu(w_V @ mean))
H_OV.mutant("every ReLU active", gate=lambda w_V, mean: w_V * 0 + 1)


# -- the blocks of w_K -------------------------------------------------------------------------------------------------

KEY_BLOCKS = Claim(DERIVATIVES, "convergence.hessian-key-blocks", label="D.3, the blocks of w_K by symmetry",
    statement=r"""H_{K,K}=H_{Q,Q}|_{w_Q\leftrightarrow w_K},\quad H_{K,V}=H_{Q,V}|_{w_Q\leftrightarrow w_K},\quad
        H_{K,O}=H_{Q,O}|_{w_Q\leftrightarrow w_K},\quad H_{K,Q}=H_{Q,K}^\top""",
    name="Hessian blocks of keys", assumptions=[GAMMA_AS_A_MATRIX], relation=Equal(),
    all_sizes=True,
    uses=("convergence.h-qq", "convergence.h-qk-product-rule", "convergence.h-qv", "convergence.h-qo-output-weight"),
    of_project=True,
    note=r"What the last step of the proof calls the symmetry of $w_K$ and $w_Q$: only $w_Q \cdot w_K$ enters $f$.",
)  # fmt: skip


def _key_blocks(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any, tau_0: Any, tau_1: Any, left: Any, right: Any) -> Any:
    """[H_KK, H_KV, H_KO, H_KQ], shape (d_m, 4 d_m), with `left` in place of w_Q on the left and `right` on the right."""
    curvature = logit_curvature(x, w_Q, w_K, w_V, w_O, tau_0, tau_1)
    slope = logit_slope(x, w_Q, w_K, w_V, w_O, tau_0, tau_1)
    mixed = [mixed_factor(x, w_Q, w_K, w_V, kept, tau_0, tau_1) for kept in (w_O, w_V)]
    of_queries = left @ curvature @ w_K.T + eye(w_Q.shape[0]) * slope
    return concatenate([left @ curvature @ right.T, *(left @ factor.T for factor in mixed), of_queries], axis=1)


@KEY_BLOCKS.formula
def key_blocks(x: ScalarTokens, w_Q: Queries, w_K: Weights, w_V: Weights, w_O: Weights, tau_0: Scale,
               tau_1: Scale) -> Any:  # fmt: skip
    """[H_KK, H_KV, H_KO, H_KQ], shape (d_m, 4 d_m)."""
    left = right = w_Q
    return _key_blocks(x, w_Q, w_K, w_V, w_O, tau_0, tau_1, left, right)


@KEY_BLOCKS.oracle
def key_blocks_by_differentiation(x: Any, w_Q: Any, w_K: Any, w_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    arguments = (x, w_Q, w_K, w_V, w_O, tau_0, tau_1)
    return concatenate([block("w_K", name)(*arguments) for name in ("w_K", "w_V", "w_O", "w_Q")], axis=1)


KEY_BLOCKS.mutant("the blocks of w_Q", "left -> w_K; right -> w_K")
KEY_BLOCKS.mutant("w_K on the right of H_KK", "right -> w_K")
