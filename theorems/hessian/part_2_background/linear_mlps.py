"""Linear MLPs, with which the paper compares: the displayed outer-product block of Section 2 and the text after it.

The display fits half the mean squared error, not the square loss of the section; both are here.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import LAYOUT
from verify.matrix import commutation_matrix, eye, kron, rational, total, zeros
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Construction, Definition, Equal, Setting, Shape, Size

#: One input x per row; the layer W_i maps the width before it to the width after it, F(x) = W_D ... W_1 x.
Inputs = Annotated[Any, Shape("N", "h_0")]
FirstWeights = Annotated[Any, Shape("h_1", "h_0")]
SecondWeights = Annotated[Any, Shape("h_2", "h_1")]
ThirdWeights = Annotated[Any, Shape("h_3", "h_2")]
FourthWeights = Annotated[Any, Shape("h_4", "h_3")]
#: The first h_D columns are the labels of a network of depth D.
Targets = Annotated[Any, Shape("N", "h_all")]
TwoLayerTargets = Annotated[Any, Shape("N", "h_2")]
Depth = Annotated[int, Size("D")]
WIDTHS = {
    "h_0": (1, 3),
    "h_1": (1, 2),
    "h_2": (1, 3),
    "h_3": (1, 2),
    "h_4": (1, 2),
    "h_all": (3, 3),
    "N": (1, 3),
    "D": (1, 4),
}
LINEAR = (
    "linear MLP F(x) = W_D ... W_1 x without bias, D = 1, ..., 4, on a data set of N inputs, the rows of X;"
    " labels are the first h_D of three columns"
)


def chain(factors: list[Any], n: int) -> Any:
    """The product of `factors`, the first one leftmost; the identity of size n if there are none."""
    if not factors:
        return eye(n)
    product = factors[0]
    for factor in factors[1:]:
        product = product @ factor
    return product


def outputs(weights: list[Any], X: Any) -> Any:
    """F(x) = W_D ... W_1 x for every row x of X, shape (N, h_D)."""
    for W in weights:
        X = X @ W.T
    return X


def half_mean(F: Any, Y: Any) -> Any:
    """Half of the mean of |F(x) - y|^2 over the data set, the loss of Singh et al. (2021)."""
    return total((F - Y) * (F - Y)) * rational(1, 2 * F.shape[0])


def gauss_newton(weights: list[Any], X: Any, Y: Any, i: int, loss: Any) -> Any:
    """J^T (d^2 loss/dF^2) J for the weights of layer i (counted from 0), by differentiation."""

    def network(W: Any) -> Any:
        return outputs([*weights[:i], W, *weights[i + 1 :]], X)

    J = jacobian(network, "W")(weights[i])
    return J.T @ hessian(loss, ("F", "F"))(outputs(weights, X), Y) @ J


def loss_hessian(weights: list[Any], X: Any, Y: Any, i: int, j: int, loss: Any) -> Any:
    """d^2 loss / dW_i dW_j by differentiation, layers counted from 0."""

    def composed(W: Any, U: Any) -> Any:
        changed = list(weights)
        changed[j] = U
        changed[i] = W
        return loss(outputs(changed, X), Y)

    return hessian(composed, ("W", "W" if i == j else "U"))(weights[i], weights[j])


# -- the outer-product Hessian -----------------------------------------------------------------------------------------


def network_of_any_depth(
    X: Inputs, W_1: FirstWeights, W_2: SecondWeights, W_3: ThirdWeights, W_4: FourthWeights, D: Depth, Y: Targets
) -> dict[str, Any]:
    """The first D of four weight matrices, and labels of fitting width."""
    weights = [W_1, W_2, W_3, W_4][:D]
    return {"X": X, "weights": weights, "Y": Y[:, : weights[-1].shape[0]]}


LINEAR_MLP = Setting(
    HESSIAN,
    "Section 2, linear MLPs",
    assumptions=[Definition(LINEAR, by=outputs)],
    sizes=WIDTHS,
    inputs=network_of_any_depth,
    exact=True,
)

MLP_OUTER = Claim(LINEAR_MLP, "hessian.sec2-mlp-outer", label="Section 2, displayed MLP outer-product block",
    statement=r"""H_o(W_i,W_i) = W_{i+1}^\top\cdots W_L^\top W_L\cdots W_{i+1}\otimes W_{i-1}\cdots
        W_1\Sigma_{xx}W_1^\top\cdots W_{i-1}^\top,\ \Sigma_{xx} = E[xx^\top]""",
    assumptions=[LAYOUT],
    name="outer-product Hessian of a linear MLP", relation=Equal(), at_sizes=True,
    expects="gap", uses=("hessian.eq-15",), presumes=("hessian.mlp-outer-section-2-loss",),
    missing=r"the loss is half the mean of $\|F(x) - y\|^2$ over the data set",
    consequence="""With the square loss of Section 2 the display is short of the factor $2/h_D$; use
        hessian.mlp-outer-square-loss where blocks of MLP and attention are compared.""",
    note="""The display recalls Singh et al. (2021), whose loss this is; the only loss that the paper states is the
        square loss of Section 2, with which the block is $2/h_D$ times this (hessian.mlp-outer-square-loss).""",
)  # fmt: skip


def _outer_blocks(X: Any, weights: list[Any], scale: Any, product: Any = kron) -> Any:
    """`scale` times the printed products for every layer, all entries in one column; a mutant exchanges the factors."""
    blocks = []
    for i in range(len(weights)):
        above = chain(weights[:i:-1], weights[-1].shape[0])
        below = chain([V.T for V in weights[:i]], X.shape[1])
        image = X @ below
        blocks.append(product(above.T @ above, image.T @ image * rational(1, X.shape[0])) * scale)
    return stacked(*blocks)


@MLP_OUTER.formula
def mlp_outer_product_blocks(X: Any, weights: list[Any]) -> Any:
    """H_o(W_i, W_i) for every layer of a linear MLP, all entries in one column (Section 2)."""
    return _outer_blocks(X, weights, rational(1))


MLP_OUTER.oracle(
    lambda X, weights, Y: stacked(*(gauss_newton(weights, X, Y, i, half_mean) for i in range(len(weights))))
)
MLP_OUTER.mutant("factors of the Kronecker product exchanged", product=lambda A, B: kron(B, A))
MLP_OUTER.mutant("the factor 2 of the square loss", scale=rational(2))
MLP_OUTER.mutant("not divided by the number of inputs", "1 -> X.shape[0]")

MLP_OUTER_SQUARE_LOSS = Claim(LINEAR_MLP, "hessian.mlp-outer-square-loss",
    label="Section 2, MLP outer-product block under the square loss of Section 2",
    statement=r"""H_o(W_i,W_i) = \frac{2}{h_D}\, W_{i+1}^\top\cdots W_D^\top W_D\cdots W_{i+1}\otimes W_{i-1}\cdots
        W_1\Sigma_{xx}W_1^\top\cdots W_{i-1}^\top \text{ for } \ell = \|F - Y\|_F^2/(N h_D)""",
    assumptions=[LAYOUT, Definition("h_D the width of the output", by=outputs)],
    name="outer-product Hessian of a linear MLP, square loss", relation=Equal(),
    uses=("hessian.eq-15", "hessian.sec2-loss-derivatives"), corrects="hessian.mlp-outer-section-2-loss",
    of_project=True)  # fmt: skip


def mean_square(F: Any, Y: Any) -> Any:
    return total((F - Y) * (F - Y)) * rational(1, F.shape[0] * F.shape[1])


@MLP_OUTER_SQUARE_LOSS.formula
def mlp_outer_product_blocks_square_loss(X: Any, weights: list[Any]) -> Any:
    """H_o(W_i, W_i) for every layer, square loss of Section 2, all entries in one column."""
    return _outer_blocks(X, weights, rational(2, weights[-1].shape[0]))


MLP_OUTER_SQUARE_LOSS.oracle(
    lambda X, weights, Y: stacked(*(gauss_newton(weights, X, Y, i, mean_square) for i in range(len(weights))))
)
MLP_OUTER_SQUARE_LOSS.mutant("no factor, as displayed", scale=rational(1))
MLP_OUTER_SQUARE_LOSS.mutant("not divided by the width of the output", scale=rational(2))

TWO_LAYERS = Setting(
    HESSIAN,
    "Section 2, linear MLPs",
    assumptions=[Definition(LINEAR, by=gauss_newton), LAYOUT],
    sizes=WIDTHS,
    exact=True,
)

MLP_OUTER_SECTION_2 = Claim(TWO_LAYERS, "hessian.mlp-outer-section-2-loss",
    label="Section 2, displayed MLP outer-product block, with the loss of Section 2",
    statement=r"""H_o(W_i,W_i) = W_{i+1}^\top\cdots W_L^\top W_L\cdots W_{i+1}\otimes W_{i-1}\cdots
        W_1\Sigma_{xx}W_1^\top\cdots W_{i-1}^\top \text{ for } \ell = \|F - Y\|_F^2/(N h_D)""",
    assumptions=[Construction("two layers", shapes={"W_1": ("h_1", "h_0"), "W_2": ("h_2", "h_1")})],
    name="outer-product Hessian of a linear MLP, factor omitted", relation=Equal(), sizes=("N", "h_0", "h_1", "h_2"),
    expects="refuted", severity="error", correction="hessian.mlp-outer-square-loss", of_project=True,
    note="""The display without its hypothesis on the loss: the factor $2/h_D$ is missing, which is 1 for $h_D = 2$
        alone.""")  # fmt: skip


@MLP_OUTER_SECTION_2.formula
def mlp_outer_product_blocks_without_factor(
    X: Inputs, W_1: FirstWeights, W_2: SecondWeights, Y: TwoLayerTargets
) -> Any:
    """The displayed blocks for W_1 and W_2, all entries in one column."""
    return _outer_blocks(X, [W_1, W_2], rational(1))


MLP_OUTER_SECTION_2.oracle(
    lambda X, W_1, W_2, Y: stacked(*(gauss_newton([W_1, W_2], X, Y, i, mean_square) for i in range(2)))
)
MLP_OUTER_SECTION_2.mutant("factors of the Kronecker product exchanged", product=lambda A, B: kron(B, A))
MLP_OUTER_SECTION_2.mutant("half of it", lambda value: value * rational(1, 2))
MLP_OUTER_SECTION_2.counterexample("one input (1, 2), one output, weights (1, 0) and 3: half of the blocks", X=[[1, 2]],
    W_1=[[1, 0]], W_2=[[3]], Y=[[0]])  # fmt: skip

# -- the functional Hessian --------------------------------------------------------------------------------------------

MLP_HOLLOW = Claim(LINEAR_MLP, "hessian.sec2-mlp-hollow", label="Section 2, text after the MLP formula",
    statement=r"""\text{``the functional Hessian for MLPs, has a quadratic dependence on the data, but through a
        different matrix which carries the covariance of the residuals } \delta_{x,y} = F(x) - y \text{ with the input }
        x\text{. Importantly, the Hessian diagonal blocks are entirely comprised of the contribution from the
        outer-product Hessian, as the functional Hessian has a block-hollow structure (zero diagonal blocks)'':
        }H_f(W_i,W_j) = \big((W_{j-1}\cdots W_{i+1})^\top\otimes W_{i-1}\cdots W_1\Omega^\top W_D\cdots W_{j+1}\big)K,\
        i < j,\ \Omega = E[\delta_{x,y}x^\top]""",
    assumptions=[Definition("loss: half the mean of |F(x) - y|^2 over the data set", by=half_mean)],
    name="block-hollow functional Hessian of MLPs", relation=Equal(), at_sizes=True,
    sizes=WIDTHS | {"D": (2, 3), "h_4": (1, 1)}, uses=("hessian.eq-2", "hessian.eq-18"),
    note=r"""The words are the paper's; the closed form, in $\Omega$ and the weights alone, is this project's and proves
        them. $K = K_{h_{j-1},h_j}$. $F$ is linear in every single $W_i$, hence the zero blocks. The dependence on the
        data is called quadratic, as $\Omega$ is in $x$ and $y$ together.""")  # fmt: skip


def _hollow(X: Any, weights: list[Any], Y: Any, order: Any, diagonal: int = 0) -> Any:
    """Blocks i <= j of H_f, all entries in one column; `order(m, n)` rearranges the columns."""
    n = X.shape[0]
    Omega = (outputs(weights, X) - Y).T @ X * rational(1, n)
    blocks = []
    for i, W in enumerate(weights):
        below = chain(weights[:i][::-1], X.shape[1])
        size = W.shape[0] * W.shape[1]
        gram = (
            kron(eye(W.shape[0]), (X @ below.T).T @ (X @ below.T) * rational(1, n)) if diagonal else zeros(size, size)
        )
        blocks.append(gram)
        for j in range(i + 1, len(weights)):
            between = chain(weights[i + 1 : j][::-1], W.shape[0])
            above = chain(weights[:j:-1], weights[-1].shape[0])
            blocks.append(kron(between.T, below @ Omega.T @ above) @ order(*weights[j].shape[::-1]))
    return stacked(*blocks)


@MLP_HOLLOW.formula
def mlp_functional_blocks(X: Any, weights: list[Any], Y: Any) -> Any:
    """H_f(W_i, W_j), i <= j, of a linear MLP, all entries in one column (Section 2)."""
    return _hollow(X, weights, Y, commutation_matrix)


@MLP_HOLLOW.oracle
def mlp_hessian_less_outer_product(X: Any, weights: list[Any], Y: Any) -> Any:
    """The loss Hessian, less J^T (d^2 loss) J."""
    blocks = []
    for i in range(len(weights)):
        blocks.append(loss_hessian(weights, X, Y, i, i, half_mean) - gauss_newton(weights, X, Y, i, half_mean))
        for j in range(i + 1, len(weights)):
            gradient = (outputs(weights, X) - Y) * rational(1, X.shape[0])
            blocks.append(loss_hessian(weights, X, gradient, i, j, _paired))
    return stacked(*blocks)


def _paired(F: Any, gradient: Any) -> Any:
    return total(F * gradient)


MLP_HOLLOW.mutant("columns not rearranged", order=lambda m, n: eye(m * n))
MLP_HOLLOW.mutant("labels left out of the residual", "Y -> 0 * Y")
MLP_HOLLOW.mutant("input covariance on the diagonal", diagonal=1)
