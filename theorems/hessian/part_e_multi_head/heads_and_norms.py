"""What the number of heads decides: the share of entries that H_o defines alone, but not the norms of the two parts."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import square_loss
from theorems.hessian.part_2_background.gauss_newton import layer_of_stack
from theorems.hessian.part_e_multi_head.multi_head import Dimension, Heads, OneEntry, entries_counted
from theorems.hessian.settings import Labels, Tokens
from verify.matrix import eye, rational, summed, total
from verify.oracles import hessian, jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Reading, Real, Shape

#: [W_Q^h, W_K^h, W_V^h] side by side, the heads on top of each other.
HeadWeights = Annotated[Any, Shape("H_d_V", "all", role="query")]
Factor = Annotated[Any, Real()]

DOMINATES = Claim(HESSIAN, "hessian.sec-E-dominates", label="Appendix E, heading of a paragraph",
    statement=r"""\text{``With an increasing number of heads, the outer-product Hessian dominates the Hessian''}""",
    assumptions=[
        Definition("W_V^h in R^{d_V x d_V}; W_Q^h, W_K^h in R^{d_V x d_V/H}", by=entries_counted),
        Assumption("H divides d_V", sizes=lambda sizes: sizes["d_V"] % sizes["H"] == 0),
    ],
    name="multi-head attention, domination in number",
    relation=AtMost(left="the share of entries of H_f that are not zero", ascent=False),
    sizes={"d_V": (1, 3), "H": (1, 3)},
    expects="reading",
    uses=("hessian.sec-E-sparsity", "hessian.sec-E-inter-head", "hessian.heads-residual-decides"),
    reading=Reading("dominates the Hessian", r"""in number, as the paragraph goes on: the share of entries that $H_o$ does
            not define alone is at most $4/H^2$. Not in norm: for every number of heads there are labels for which
            $H_f$ has the larger norm (hessian.heads-residual-decides)"""),
    note="""The share is that of hessian.sec-E-sparsity, $4(H + 1)/(H(H + 2)^2)$, counted at one fixed generic
        point.""")  # fmt: skip


@DOMINATES.formula
def share_falls_with_the_heads(d_V: Dimension, H: Heads, unused: OneEntry) -> Any:
    """4 / H^2, shape (1, 1) (Appendix E)."""
    return eye(1) * rational(4, H * H) + 0 * unused


DOMINATES.oracle(lambda d_V, H, unused: entries_counted(d_V, H, unused)[1:])
DOMINATES.mutant("a share below 4 / (H + 2)^2", "H * H -> (H + 2) ** 2")
DOMINATES.mutant("a share below 1 / (2 H^2)", "rational(4, H * H) -> rational(1, 2 * H * H)")

RESIDUAL = Claim(HESSIAN, "hessian.heads-residual-decides", label="Appendix E, what decides between H_o and H_f in norm",
    statement=r"""\text{with the labels } Y = F - sG,\ s\in\mathbb{R}:\ \frac{\partial^2(\ell\circ F)}{\partial W\partial
        W} = H_o + sH_f(G), \text{ where neither } H_o = \frac{2}{Ld_V}J^\top J,\ J = \frac{\partial F}{\partial W},
        \text{ nor } H_f(G) = \frac{2}{Ld_V}\frac{\partial^2\langle G,F\rangle}{\partial W\partial W} \text{ depends on
        } s; \text{ so for every number of heads and } H_f(G)\ne0 \text{ the norm of } sH_f(G) \text{ exceeds that of }
        H_o \text{ from some } s \text{ on; } W \text{ stands for all weights of all heads}""",
    assumptions=[Definition("F = sum_h A^h X W_V^h, A^h the row-wise softmax of X W_Q^h W_K^hT X^T / sqrt(d_K)",
        by=layer_of_stack), Definition("the loss is ||F - Y||_F^2 / (L d_V)", by=square_loss),
        Assumption("each head has d_V rows [W_Q^h, W_K^h, W_V^h] of 2 d_K + d_V entries, d_K >= 1",
            sizes=lambda s: s["H_d_V"] == s["H"] * s["d_V"] and s["all"] > s["d_V"] and (s["all"] - s["d_V"]) % 2 == 0)],
    name="multi-head attention, residual and norms", relation=Equal(),
    sizes={"L": (1, 2), "d_V": (1, 2), "H": (1, 3), "H_d_V": (1, 6), "all": (3, 5)},
    where=lambda s: s["H_d_V"] * s["all"] <= 12,
    exact=True, uses=("hessian.eq-2", "hessian.sec-E-inter-head"), of_project=True)  # fmt: skip


def multi_head(W: Any, X: Any) -> Any:
    """The sum of the heads whose weights stand on top of each other in W, shape (L, d_V)."""
    d_V = X.shape[1]
    return summed(W.shape[0] // d_V, lambda h: layer_of_stack(W[h * d_V : (h + 1) * d_V], X))


@RESIDUAL.formula
def two_parts_with_the_residual(W: HeadWeights, X: Tokens, G: Labels, s: Factor) -> Any:
    """H_o + s H_f(G), shape (n, n) for n weights."""
    scale = rational(2, X.shape[0] * X.shape[1])
    J = jacobian(multi_head, "W")(W, X)

    def paired(W: Any) -> Any:
        return total(G * multi_head(W, X))

    outer, functional = J.T @ J * scale, hessian(paired, ("W", "W"))(W) * scale
    return outer + functional * s


@RESIDUAL.oracle
def loss_hessian_at_the_labels(W: HeadWeights, X: Tokens, G: Labels, s: Factor) -> Any:
    Y = multi_head(W, X) - G * s

    def loss(W: Any) -> Any:
        return square_loss(multi_head(W, X), Y)

    return hessian(loss, ("W", "W"))(W)


RESIDUAL.mutant("the functional part free of s", "functional * s -> functional")
RESIDUAL.mutant("the outer-product part alone", "functional * s -> 0 * functional")
RESIDUAL.mutant("both parts times s", "outer -> outer * s")
