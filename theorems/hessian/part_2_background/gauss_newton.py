"""The Gauss-Newton decomposition, the symmetry and the layout of second derivatives: Eqs. (2)-(4), and the loss below them."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import attention, square_loss
from theorems.hessian.part_b_derivatives.jacobians import attention_jacobian_wrt_key, attention_jacobian_wrt_query
from theorems.hessian.settings import (
    ATTENTION, ATTENTION_LOSS, LAYOUT, SQUARE_LOSS, KeyWeights, Labels, QueryWeights, Tokens, ValueWeights,
)  # fmt: skip
from verify.matrix import commutation_matrix, concatenate, eye, kron, rational, total, vec_r
from verify.oracles import hessian, jacobian
from verify.vocabulary import Assumption, Claim, Definition, Doubt, Equal, Real, Shape

#: W_Q, W_K and W_V side by side, so that one derivative holds every block.
AllWeights = Annotated[Any, Shape("d_V", "all", role="query")]
Coefficient = Annotated[Any, Real()]

SIDE_BY_SIDE = Assumption(
    "W = [W_Q, W_K, W_V] has 2 d_K + d_V columns, d_K >= 1",
    sizes=lambda sizes: sizes["all"] > sizes["d_V"] and (sizes["all"] - sizes["d_V"]) % 2 == 0,
)


def _loss(F: Any, Y: Any, c: Any) -> Any:
    """The square loss plus c times its square."""
    square = square_loss(F, Y)
    return square + square * square * c


EQUATION_2 = Claim(ATTENTION, "hessian.eq-2", label="Eq. (2), Gauss-Newton decomposition",
    statement=r"""\frac{\partial^2(\ell\circ F)}{\partial W_i\partial W_j}(\cdot) = \underbrace{\frac{\partial
        F}{\partial W_i}(\cdot)^\top\frac{\partial^2\ell}{\partial F^2}(F(\cdot))\frac{\partial F}{\partial
        W_j}(\cdot)}_{F\text{-outer-product Hessian}} + \underbrace{\left(\frac{\partial\ell}{\partial
        F}(F(\cdot))\otimes I_{p_i q_i}\right)\frac{\partial^2 F}{\partial W_i\partial W_j}(\cdot)}_{F\text{-functional
        Hessian } H_f(W_i,W_j)}""",
    assumptions=[
        Definition(
            "loss and layer are twice differentiable; the loss is s + c s^2, s the square loss, whose Hessian is dense", by=_loss
        ),
        SIDE_BY_SIDE,
    ],
    name="Gauss-Newton decomposition of the Hessian",
    general="It is the chain rule, for every twice differentiable function and loss.",
    relation=Equal(), at_sizes={"L": 2, "d_V": 1, "all": 3},
    sizes={"L": (1, 3), "d_V": (1, 2), "all": (3, 6)},
    doubt=Doubt(
        r"\frac{\partial^{2} \mathbf{F}}{\partial \mathbf{W}_{i} \partial \mathbf{W}_{j}}(\cdot)}_{\mathbf{H}_{f}(\mathbf{W}_{i}",
        """
        The extraction prints the second summand twice, with two different underbraces; it stands once.""",
    ),
    note="Formed for $W = [W_Q, W_K, W_V]$, whose Hessian holds the entries of all nine blocks.")  # fmt: skip


def layer_of_stack(W: Any, X: Any) -> Any:
    """The layer as a function of its weights side by side; d_K = (all - d_V) / 2."""
    d_V = X.shape[1]
    d_K = (W.shape[1] - d_V) // 2
    return attention(X, W[:, :d_K], W[:, d_K : 2 * d_K], W[:, 2 * d_K :])


def _outer(W: Any, X: Any, Y: Any, c: Any) -> Any:
    J = jacobian(layer_of_stack, "W")(W, X)
    return J.T @ hessian(_loss, ("F", "F"))(layer_of_stack(W, X), Y, c) @ J


def _functional(W: Any, X: Any, Y: Any, c: Any) -> Any:
    """The Hessian of <dloss/dF, F> with dloss/dF frozen."""
    gradient = jacobian(_loss, "F")(layer_of_stack(W, X), Y, c)

    def paired(W: Any) -> Any:
        return total(gradient @ vec_r(layer_of_stack(W, X)))

    return hessian(paired, ("W", "W"))(W)


@EQUATION_2.formula
def gauss_newton_decomposition(W: AllWeights, X: Tokens, Y: Labels, c: Coefficient) -> Any:
    """J^T (d^2 loss) J + (dloss (x) I) d^2F, shape (n, n) for n weights (Eq. (2))."""
    second = hessian(layer_of_stack, ("W", "W"))(W, X)
    gradient, identity = jacobian(_loss, "F")(layer_of_stack(W, X), Y, c), eye(second.shape[1])
    return _outer(W, X, Y, c) + kron(gradient, identity) @ second


@EQUATION_2.oracle
def loss_hessian(W: AllWeights, X: Tokens, Y: Labels, c: Coefficient) -> Any:
    def composed(W: Any) -> Any:
        return _loss(layer_of_stack(W, X), Y, c)

    return hessian(composed, ("W", "W"))(W)


EQUATION_2.mutant("no functional Hessian", lambda W, X, Y, c: _outer(W, X, Y, c))
EQUATION_2.mutant("no outer-product Hessian", lambda W, X, Y, c: _functional(W, X, Y, c))
EQUATION_2.mutant("I (x) dloss instead of dloss (x) I", "gradient -> identity; identity -> gradient")
EQUATION_2.mutant("twice the functional Hessian", lambda W, X, Y, c: _outer(W, X, Y, c) + 2 * _functional(W, X, Y, c))

# -- the text below Eq. (3) --------------------------------------------------------------------------------------------

EQUATION_3 = Claim(ATTENTION_LOSS, "hessian.eq-3-symmetry", label="Eq. (3), text below",
    statement=r"H_\bullet(W_i,W_j) = (H_\bullet(W_j,W_i))^\top,\ \bullet\in\{o,f\},\ i,j\in\{Q,K,V\}",
    name="symmetry of the Hessian blocks", relation=Equal(), sizes={"L": (1, 3), "d_V": (1, 2), "all": (3, 6)},
    assumptions=[SIDE_BY_SIDE],
    doubt=Doubt(r"\bullet \in \{0, f\}", "The $o$ of $H_o$ is extracted as 0, here and in $H_0$ before the display."),
    note="""For the weights side by side: the blocks $(i, j)$ and $(j, i)$ lie across the diagonal. Reverse
        differentiation computes the two by different routes.""")  # fmt: skip


def _both_hessians(W: Any, X: Any, Y: Any, sign: int = 1) -> tuple[Any, Any]:
    """H_o and H_f in W for the square loss, each of shape (n, n); a mutant changes the sign of H_f."""
    return _outer(W, X, Y, 0), _functional(W, X, Y, 0) * sign


@EQUATION_3.formula
def transposed_hessians(W: AllWeights, X: Tokens, Y: Labels) -> Any:
    """H_o^T on top of H_f^T, shape (2 n, n) for n weights (below Eq. (3))."""
    return concatenate([H.T for H in _both_hessians(W, X, Y)], axis=0)


EQUATION_3.oracle(lambda W, X, Y: concatenate(_both_hessians(W, X, Y), axis=0))
EQUATION_3.mutant("functional Hessian skew", sign=-1)
EQUATION_3.mutant("rows in column-major, columns in row-major order",
    lambda W, X, Y: concatenate([commutation_matrix(*W.shape[::-1]) @ H.T for H in _both_hessians(W, X, Y)], axis=0)
)  # fmt: skip

EQUATION_4 = Claim(ATTENTION, "hessian.eq-4-layout", label="Eq. (4) and Figure 2",
    statement=r"""\frac{\partial F}{\partial W_i} := \frac{\partial\operatorname{vec}_r F}{\partial\operatorname{vec}_r
        W_i} \in \mathbb{R}^{L d_V\times p_i q_i},\quad \frac{\partial^2 F}{\partial W_i\partial W_j} :=
        \frac{\partial\operatorname{vec}_r\frac{\partial F}{\partial W_i}}{\partial\operatorname{vec}_r W_j} \in
        \mathbb{R}^{L d_V p_i q_i\times p_j q_j},\ \text{the second derivatives of the entries of } F \text{, stacked}
        """,
    name="layout of second derivatives of matrix functions", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 3), "d_V": (1, 2), "d_K": (1, 3)}, uses=("hessian.lem-B.1", "hessian.jacobian-key"),
    doubt=Doubt(r"\frac{\partial \operatorname{vec}_{r} \overline{\partial \mathbf{W}_{i}}}",
        r"""Damaged: a fraction bar has lost its numerator, which stands before the display: $\partial F/\partial W_i$,
            as the size says."""),
    note="""The Jacobian that is flattened and differentiated is the closed form of Lemma B.1; the entries of $F$ are
        those of the layer itself. Checked for $(Q, K)$ and $(K, V)$, which are not symmetric.""")  # fmt: skip

PAIRS = (("W_Q", "W_K"), ("W_K", "W_V"))
JACOBIANS = {"W_Q": attention_jacobian_wrt_query, "W_K": attention_jacobian_wrt_key}


def _flattened(X: Any, W_Q: Any, W_K: Any, W_V: Any, column_stacked: bool = False, turned: bool = False) -> Any:
    """d vec(dF/dW_i) / d vec_r W_j for each of the pairs, all entries in one column."""
    parts = []
    for first, second in PAIRS:

        def flat(X: Any, W_Q: Any, W_K: Any, W_V: Any, first: str = first) -> Any:
            J = JACOBIANS[first](X, W_Q, W_K, W_V)
            return vec_r(J.T if column_stacked else J)

        H = jacobian(flat, second)(X, W_Q, W_K, W_V)
        parts.append(vec_r(H.T if turned else H))
    return concatenate(parts, axis=0)


@EQUATION_4.formula
def flattened_jacobian_differentiated(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """d^2F/dW_i dW_j for (i, j) = (Q, K), (K, V), all entries in one column (Eq. (4))."""
    return _flattened(X, W_Q, W_K, W_V)


EQUATION_4.oracle(
    lambda X, W_Q, W_K, W_V: concatenate([vec_r(hessian(attention, pair)(X, W_Q, W_K, W_V)) for pair in PAIRS], axis=0)
)
EQUATION_4.mutant("Jacobian column-stacked", column_stacked=True)
EQUATION_4.mutant("denominator layout of the second derivative", turned=True)

# -- derivatives of the loss -------------------------------------------------------------------------------------------

LOSS_DERIVATIVES = Claim(HESSIAN, "hessian.sec2-loss-derivatives", label="Section 2, text after eq. (4)",
    statement=r"""\partial\ell/\partial F \in \mathbb{R}^{1\times L d_V}\text{ and }\partial^2\ell/\partial^2 F \in
        \mathbb{R}^{L d_V\times L d_V}\text{ simplify to } 2\operatorname{vec}_r(F(\cdot)-Y)^\top/(L d_V)\text{ and } 2
        I_{L d_V}/(L d_V),\quad \ell(F(X),Y) = \|F(X)-Y\|_F^2/(L d_V)""",
    assumptions=[SQUARE_LOSS, LAYOUT],
    name="derivatives of the square loss", relation=Equal(), all_sizes=True, sizes={"L": (1, 4), "d_V": (1, 3)},
    exact=True)  # fmt: skip


@LOSS_DERIVATIVES.formula
def square_loss_derivatives(F: Labels, Y: Labels) -> Any:
    """The gradient on top of the Hessian of the square loss in F, shape (1 + L d_V, L d_V) (Section 2)."""
    n = F.shape[0] * F.shape[1]
    return concatenate([2 * vec_r(F - Y).T, 2 * eye(n)], axis=0) * rational(1, n)


LOSS_DERIVATIVES.oracle(
    lambda F, Y: concatenate([jacobian(square_loss, "F")(F, Y), hessian(square_loss, ("F", "F"))(F, Y)], axis=0)
)
LOSS_DERIVATIVES.mutant("column-stacked residual", "F - Y -> (F - Y).T")
LOSS_DERIVATIVES.mutant("Hessian without its factor 2", "2 * eye(n) -> eye(n)")
LOSS_DERIVATIVES.mutant("Y - F instead of F - Y", "F - Y -> Y - F")
