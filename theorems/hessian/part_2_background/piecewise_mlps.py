"""Zero diagonal blocks of the functional Hessian beyond linear MLPs: piecewise linear activations, and pieces that bend."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.part_2_background.linear_mlps import FirstWeights, Inputs, SecondWeights, ThirdWeights, half_mean
from theorems.hessian.part_a_kronecker_products.products import stacked
from verify.matrix import concatenate, rational, relu, total
from verify.oracles import hessian, jacobian
from verify.vocabulary import Assumption, Claim, Definition, Equal, HasStructure, Reading, Real, Shape

#: An elementwise activation a t + b max(t - k, 0), piecewise linear with its kink at k.
Slope = Annotated[Any, Real(-1.5, 1.5)]
Bend = Annotated[Any, Real(0.5, 2.0)]
Kink = Annotated[Any, Real(-1.0, 1.0)]


def piecewise_linear(t: Any, a: Any, b: Any, k: Any) -> Any:
    """a t + b max(t - k, 0), entry by entry: ReLU for a = k = 0, leaky ReLU for k = 0."""
    return t * a + relu(t - k) * b


def _piecewise_quadratic(t: Any, a: Any, b: Any, k: Any) -> Any:
    """a t + b max(t - k, 0)^2, entry by entry: pieces that bend."""
    return t * a + relu(t - k) * relu(t - k) * b


def _activations(X: Any, W_1: Any, W_2: Any, a: Any, b: Any, k: Any) -> Any:
    """Squares of the distances of both hidden layers from the kink, shape (N, h_1 + h_2)."""
    first = X @ W_1.T
    second = piecewise_linear(first, a, b, k) @ W_2.T
    distance = concatenate([first - k, second - k], axis=1)
    return distance * distance


AWAY = Assumption("no hidden unit is at its kink", positive=_activations)


def _network(W_1: Any, W_2: Any, W_3: Any, X: Any, act: Any) -> Any:
    return act(act(X @ W_1.T) @ W_2.T) @ W_3.T


PIECEWISE = Claim(HESSIAN, "hessian.sec2-piecewise", label="Section 2, text",
    statement=r"""\text{``the functional Hessian has a block-hollow structure (zero diagonal blocks), which also extends
        to any piecewise nonlinearity in the sense of almost everywhere''}""",
    assumptions=[Definition("three layers with an elementwise nonlinearity after the first two", by=_network), AWAY],
    name="block-hollow functional Hessian, piecewise linear activations", relation=HasStructure(), all_sizes=True,
    sizes={"N": (1, 3), "h_0": (1, 2), "h_1": (1, 3), "h_2": (1, 2), "h_3": (1, 2)}, expects="reading", exact=True,
    reading=Reading("piecewise nonlinearity", r"""piecewise means piecewise linear, like ReLU: on each cell of fixed
            signs $F$ is linear in every $W_i$, and where units stay at their kink on an open set of weights, $F$ does
            not depend on what feeds them. For pieces that bend, such as $\max(t, 0)^2$, the blocks do not vanish:
            hessian.piecewise-quadratic-not-hollow"""),
    note=r"""Checked for $at + b\max(t - k, 0)$ with any $a$, $b$, $k$. The cells leave out a null set but for $k = 0$,
        where inputs $x = 0$ keep the first layer at its kink, and for ReLU a first layer without an active unit the
        second; $F$ is constant in $W_1$ and $W_2$ there.""")  # fmt: skip


def _diagonal_functional(
    X: Any, W_1: Any, W_2: Any, W_3: Any, Y: Any, act: Any, pairs: Any = None, weight: Any = 1
) -> Any:
    """Blocks of the loss Hessian less `weight` times the Gauss-Newton blocks, all entries in one column."""
    names = ("W_1", "W_2", "W_3")

    def network(W_1: Any, W_2: Any, W_3: Any) -> Any:
        return _network(W_1, W_2, W_3, X, act)

    def composed(W_1: Any, W_2: Any, W_3: Any) -> Any:
        return half_mean(network(W_1, W_2, W_3), Y)

    blocks = []
    for first, second in pairs or [(name, name) for name in names]:
        left, right = jacobian(network, first)(W_1, W_2, W_3), jacobian(network, second)(W_1, W_2, W_3)
        outer = left.T @ right * rational(1, X.shape[0]) * weight
        blocks.append(hessian(composed, (first, second))(W_1, W_2, W_3) - outer)
    return stacked(*blocks)


Labels3 = Annotated[Any, Shape("N", "h_3")]


@PIECEWISE.formula
def functional_diagonal_of_relu_network(
    X: Inputs, W_1: FirstWeights, W_2: SecondWeights, W_3: ThirdWeights, Y: Labels3, a: Slope, b: Bend, k: Kink
) -> Any:
    """H_f(W_i, W_i), i = 1, 2, 3, of a network with a piecewise linear activation: zero (Section 2)."""
    return _diagonal_functional(X, W_1, W_2, W_3, Y, lambda t: piecewise_linear(t, a, b, k))


PIECEWISE.part("structure", lambda value: value)
PIECEWISE.mutant("a mixed block, which does not vanish", pairs=[("W_1", "W_3")])
PIECEWISE.mutant("half of the outer product subtracted", weight=rational(1, 2))
PIECEWISE.mutant("pieces that bend", "piecewise_linear -> _piecewise_quadratic")

Column = Annotated[Any, Shape("h_0", "1")]
Positive = Annotated[Any, Real(0.5, 2.0)]


def _unit(w: Any, x: Any, v: Any) -> Any:
    return relu(w.T @ x) * relu(w.T @ x) * v


PIECEWISE_QUADRATIC = Claim(HESSIAN, "hessian.piecewise-quadratic-not-hollow", label="Section 2, pieces that bend",
    statement=r"""F(x) = v\max(w^\top x,0)^2 \text{ with } w^\top x > 0:\ H_f(w,w) = 2\delta v\,xx^\top \ne 0,\ \delta =
        F(x) - y, \text{ on an open set of weights}""",
    assumptions=[
        Definition("one input, one hidden unit, loss (F(x) - y)^2/2", by=_unit),
        Assumption("w^T x > 0", positive=lambda x, w: w.T @ x),
    ],
    name="functional Hessian of a squared ReLU", relation=Equal(), sizes={"h_0": (1, 3)}, exact=True, of_project=True,
    note=r"""So 'any piecewise nonlinearity' is not true of piecewise polynomial activations of higher degree. For $x$
        other than 0 the weights $w$ that are drawn fill a neighbourhood of $x$.""")  # fmt: skip


@PIECEWISE_QUADRATIC.inputs
def active_unit(x: Column, u: Column, v: Positive, y: Annotated[Any, Real()]) -> dict[str, Any]:
    size = total(x * x)
    return {"x": x, "w": x + u * (size / ((1 + size + total(u * u)) * 4)), "v": v, "y": y}


@PIECEWISE_QUADRATIC.formula
def functional_block_of_squared_relu(x: Any, w: Any, v: Any, y: Any) -> Any:
    """2 delta v x x^T, shape (h_0, h_0)."""
    return x @ x.T * ((w.T @ x) * (w.T @ x) * v - y) * v * 2


@PIECEWISE_QUADRATIC.oracle
def functional_block_by_differentiation(x: Any, w: Any, v: Any, y: Any) -> Any:
    gradient = _unit(w, x, v) - y

    def paired(w: Any) -> Any:
        return total(gradient * _unit(w, x, v))

    return hessian(paired, ("w", "w"))(w)


PIECEWISE_QUADRATIC.mutant("zero", lambda x: x @ x.T * 0)
PIECEWISE_QUADRATIC.mutant("w w^T instead of x x^T", lambda x, w, v, y: w @ w.T * (w.T @ x * (w.T @ x) * v - y) * v * 2)
PIECEWISE_QUADRATIC.mutant("factor 2 missing", lambda x, w, v, y: x @ x.T * (w.T @ x * (w.T @ x) * v - y) * v)
