"""Data sets and networks of Section 2: quadratic dependence on the data, a data set as one sequence, convolutions of Table 1."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.part_2_background import linear_mlps as mlp
from theorems.hessian.part_2_background.linear_mlps import (
    gauss_newton, half_mean, loss_hessian, mlp_outer_product_blocks, outputs,
)  # fmt: skip
from theorems.hessian.part_a_kronecker_products.products import stacked
from verify.matrix import concatenate, rational, total
from verify.oracles import hessian, jacobian
from verify.vocabulary import Assumption, Claim, Definition, Equal, Reading, Setting, Shape

OtherInputs = Annotated[Any, Shape("N", "h_0")]
LINEAR_MLP = Setting(
    HESSIAN,
    "Section 2, linear MLPs",
    assumptions=[Definition("F(x) = W_D ... W_1 x, a linear MLP without bias, D = 1, ..., 4", by=outputs)],
    sizes=mlp.WIDTHS,
    exact=True,
)

# -- quadratic in the data ---------------------------------------------------------------------------------------------

QUADRATIC = Claim(LINEAR_MLP, "hessian.sec2-mlp-quadratic", label="Section 2, text after the MLP formula",
    statement=r"""\text{``Observe that the above expression depends quadratically on the data through }
        \Sigma_{xx}\text{''}:\ H_o(X+Z) + H_o(X-Z) = 2H_o(X) + 2H_o(Z)""",
    assumptions=[Definition("the loss is half the mean of |F(x) - y|^2 over the data set", by=half_mean)],
    name="data in the outer-product Hessian of an MLP", relation=Equal(), at_sizes=True,
    sizes=mlp.WIDTHS | {"D": (1, 3), "h_4": (1, 1)},
    uses=("hessian.sec2-mlp-outer",),
    note="""Labels are the first $h_D$ of three columns. For two data sets of one size, the rows
        of $X$ and of $Z$: what satisfies the parallelogram law, and is
        continuous, is a quadratic form.""")  # fmt: skip


@QUADRATIC.inputs
def two_data_sets(
    X: mlp.Inputs,
    Z: OtherInputs,
    W_1: mlp.FirstWeights,
    W_2: mlp.SecondWeights,
    W_3: mlp.ThirdWeights,
    W_4: mlp.FourthWeights,
    D: mlp.Depth,
    Y: mlp.Targets,
) -> dict[str, Any]:
    return {"Z": Z, **mlp.network_of_any_depth(X, W_1, W_2, W_3, W_4, D, Y)}


@QUADRATIC.formula
def twice_both_blocks(X: Any, Z: Any, weights: list[Any], Y: Any) -> Any:
    """2 H_o(X) + 2 H_o(Z) by the displayed formula, for every layer, all entries in one column (Section 2)."""
    first, second = mlp_outer_product_blocks(X, weights), mlp_outer_product_blocks(Z, weights)
    return 2 * first + 2 * second


def _blocks(X: Any, weights: list[Any], Y: Any) -> Any:
    return stacked(*(gauss_newton(weights, X, Y, i, half_mean) for i in range(len(weights))))


QUADRATIC.oracle(lambda X, Z, weights, Y: _blocks(X + Z, weights, Y) + _blocks(X - Z, weights, Y))
QUADRATIC.mutant("linear in the data", "2 * first + 2 * second -> 2 * first")
QUADRATIC.mutant("counted once", "2 * first + 2 * second -> first + second")

# -- a data set as one sequence ----------------------------------------------------------------------------------------

ONE_SEQUENCE = Claim(LINEAR_MLP, "hessian.sec2-one-sequence", label="Section 2, text on the single sample setting",
    statement=r"""\text{``this allows us to cast their (non-sequential) setup one-to-one here by considering their whole
        dataset in the form of a single sequence, where the MLP is applied separately to each element of the
        sequence''}:\ \frac{\partial^2}{\partial W_i\partial W_j}\frac{\|F(X)-Y\|_F^2}{Nh_D} =
        \frac1N\sum_{n=1}^N\frac{\partial^2}{\partial W_i\partial W_j}\frac{|F(x_n)-y_n|^2}{h_D}""",
    assumptions=[Definition("h_D is the width of the output, x_n and y_n are the rows of X and Y", by=outputs)],
    name="a data set as one sequence",
    relation=Equal(), sizes=mlp.WIDTHS | {"D": (1, 3), "h_4": (1, 1)},
    note="All blocks $i\\le j$ are compared; labels are the first $h_D$ of three columns.")  # fmt: skip

ONE_SEQUENCE.inputs(mlp.network_of_any_depth)


def _all_blocks(X: Any, weights: list[Any], Y: Any) -> Any:
    """The blocks i <= j of the Hessian of the square loss of Section 2, all entries in one column."""
    depth = len(weights)
    pairs = [(i, j) for i in range(depth) for j in range(i, depth)]
    return stacked(*(loss_hessian(weights, X, Y, i, j, mlp.mean_square) for i, j in pairs))


@ONE_SEQUENCE.formula
def average_over_the_data(X: Any, weights: list[Any], Y: Any) -> Any:
    """The average over the data points of the blocks of each, all entries in one column (Section 2)."""
    N = X.shape[0]
    blocks = _all_blocks(X[:1], weights, Y[:1])
    for n in range(1, N):
        blocks = blocks + _all_blocks(X[n : n + 1], weights, Y[n : n + 1])
    return blocks * rational(1, N)


ONE_SEQUENCE.oracle(_all_blocks)
ONE_SEQUENCE.mutant("the sum", "rational(1, N) -> 1")
ONE_SEQUENCE.mutant("labels of the first point for all", "Y[n:n + 1] -> Y[:1]")

# -- convolutions in Table 1 -------------------------------------------------------------------------------------------

#: A sequence of six inputs of one channel; kernels of width two, two channels between the layers and one at the end.
Signal = Annotated[Any, Shape("n", "c_0")]
Residual = Annotated[Any, Shape("n_out", "c_2")]
FirstKernel = Annotated[Any, Shape("c_1", "two_c_0")]
SecondKernel = Annotated[Any, Shape("c_2", "two_c_1")]

CONVOLUTIONS = Setting(
    HESSIAN,
    "Table 1, convolutions",
    sizes={
        "n": (3, 4),
        "n_out": (1, 2),
        "c_0": (1, 2),
        "two_c_0": (2, 4),
        "c_1": (1, 2),
        "two_c_1": (2, 4),
        "c_2": (1, 2),
    },
    assumptions=[
        Assumption(
            "two kernels of width two: n - 2 outputs, kernels of 2 c_0 and 2 c_1 columns",
            sizes=lambda s: (s["n_out"], s["two_c_0"], s["two_c_1"]) == (s["n"] - 2, 2 * s["c_0"], 2 * s["c_1"]),
        )
    ],
    exact=True,
)


def patches(X: Any) -> Any:
    """Neighbouring rows of X side by side, shape (n - 1, 2 c)."""
    return concatenate([X[:-1], X[1:]], axis=1)


def linear_convolutions(X: Any, V_1: Any, V_2: Any) -> Any:
    """Two convolutions of width two, without nonlinearity, shape (n - 2, c_2)."""
    return patches(patches(X) @ V_1.T) @ V_2.T


TABLE_1_CNN = Claim(CONVOLUTIONS, "hessian.table-1-cnn", label="Table 1, column MLP/CNN, convolutions",
    statement=r"""H_o:\ \text{MLP/CNN } O(\Sigma_{XX});\quad H_f:\ \text{MLP/CNN } O(\Omega_{xy})""",
    assumptions=[Definition("two linear convolutions of width two, without bias", by=linear_convolutions)],
    name="linear CNNs, dependence on covariances", relation=Equal(), expects="reading",
    reading=Reading("MLP/CNN", r"""for a linear CNN, of which the paper gives no formula: every block of $H_o$ is linear
            in $\operatorname{vec}(x)\operatorname{vec}(x)^\top$, a quadratic form in the input, and $H_f$ is zero on
            the diagonal and off it linear in $\operatorname{vec}(F(x)-y)\operatorname{vec}(x)^\top$, bilinear in input
            and residual"""),
    uses=("hessian.table-1",),
    note="""For convolutions the covariances are those of the whole input, all positions and channels, not of single
        tokens: $X^\\top X$ alone does not determine the patches.""")  # fmt: skip


def _gauss_newton_blocks(X: Any, V_1: Any, V_2: Any) -> Any:
    """J_i^T J_j for the two kernels, all entries in one column."""
    J = [jacobian(linear_convolutions, name)(X, V_1, V_2) for name in ("V_1", "V_2")]
    return stacked(J[0].T @ J[0], J[0].T @ J[1], J[1].T @ J[1])


def _functional_blocks(X: Any, V_1: Any, V_2: Any, R: Any) -> Any:
    """The second derivatives of <R, F> in the two kernels, diagonal blocks first, all entries in one column."""

    def paired(V_1: Any, V_2: Any) -> Any:
        return total(R * linear_convolutions(X, V_1, V_2))

    pairs = (("V_1", "V_1"), ("V_2", "V_2"), ("V_1", "V_2"))
    return stacked(*(hessian(paired, pair)(V_1, V_2) for pair in pairs))


@TABLE_1_CNN.formula
def convolution_blocks_by_covariances(X: Signal, Z: Signal, V_1: FirstKernel, V_2: SecondKernel, R: Residual) -> Any:
    """2 H_o(X) + 2 H_o(Z), then H_f(X) + H_f(Z) with zeros on the diagonal, all entries in one column (Table 1)."""
    outer = 2 * _gauss_newton_blocks(X, V_1, V_2) + 2 * _gauss_newton_blocks(Z, V_1, V_2)
    functional = _functional_blocks(X, V_1, V_2, R) + _functional_blocks(Z, V_1, V_2, R)
    hollow = V_1.shape[0] ** 2 * V_1.shape[1] ** 2 + V_2.shape[0] ** 2 * V_2.shape[1] ** 2
    return concatenate([outer, 0 * functional[:hollow], functional[hollow:]], axis=0)


@TABLE_1_CNN.oracle
def convolution_blocks_at_sums(X: Signal, Z: Signal, V_1: FirstKernel, V_2: SecondKernel, R: Residual) -> Any:
    outer = _gauss_newton_blocks(X + Z, V_1, V_2) + _gauss_newton_blocks(X - Z, V_1, V_2)
    return concatenate([outer, _functional_blocks(X + Z, V_1, V_2, R)], axis=0)


TABLE_1_CNN.mutant(
    "linear in the data", "2 * _gauss_newton_blocks(Z, V_1, V_2) -> 0 * _gauss_newton_blocks(Z, V_1, V_2)"
)
TABLE_1_CNN.mutant(
    "the residual of one summand lost", "_functional_blocks(Z, V_1, V_2, R) -> _functional_blocks(Z, V_1, V_2, 0 * R)"
)
