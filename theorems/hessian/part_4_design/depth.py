"""Depth (Section 4.1): linear self-attention networks, whose Hessian holds 3^D covariances, and linear MLPs (Figure 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.shared import reached
from theorems.hessian import HESSIAN
from theorems.hessian.definitions import square_loss
from theorems.hessian.part_2_background import linear_mlps as mlp
from theorems.hessian.part_2_background.linear_mlps import half_mean, loss_hessian, outputs
from theorems.hessian.part_3_structure.data_growth import Scale, power
from theorems.hessian.part_4_design.linear_attention import linear_attention
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import LAYOUT, Labels, Tokens
from theorems.shared.matrices import orthogonal_matrix
from verify.matrix import basis_matrix, concatenate, eye, rational
from verify.oracles import hessian, jacobian
from verify.vocabulary import Assumption, Claim, Definition, Equal, Reading, Setting, Shape, Size, checked, realises

Depth = Annotated[int, Size("D")]
QueryStack = Annotated[Any, Shape("d_V", "wide", role="query")]
KeyStack = Annotated[Any, Shape("d_V", "wide")]
ValueStack = Annotated[Any, Shape("d_V", "wide_V")]
TokenSquare = Annotated[Any, Shape("L", "L")]
#: Three layers side by side: the query and key weights of layer l are columns l d_K to (l + 1) d_K of (d_V, 3 d_K).
STACKED = {"L": (1, 3), "d_V": (1, 2), "wide": (3, 6), "wide_V": (3, 6), "D": (1, 3)}


def fits(sizes: Any) -> bool:
    """Whether three layers of equal sizes stand side by side."""
    return sizes["wide"] % 3 == 0 and sizes["wide_V"] == 3 * sizes["d_V"]


def fits_and_is_small(sizes: Any) -> bool:
    """As `fits`, with d_V + d_K <= 3."""
    return fits(sizes) and sizes["d_V"] + sizes["wide"] // 3 <= 3


def layer_weights(W_Q: Any, W_K: Any, W_V: Any, D: int) -> list[list[Any]]:
    """[W_Q, W_K, W_V] of each of the first D layers."""
    d_V, d_K = W_Q.shape[0], W_Q.shape[1] // 3
    keys, values = [slice(i * d_K, (i + 1) * d_K) for i in range(D)], [slice(i * d_V, (i + 1) * d_V) for i in range(D)]
    return [[W_Q[:, k], W_K[:, k], W_V[:, v]] for k, v in zip(keys, values, strict=True)]


def deep_linear_attention(X: Any, layers: list[list[Any]]) -> Any:
    """F = X_D, shape (L, d_V) (Section 4.1)."""
    for W_Q, W_K, W_V in layers:
        X = linear_attention(X, W_Q, W_K, W_V)
    return X


def _with(layers: list[list[Any]], i: int, j: int, W: Any) -> list[list[Any]]:
    """The layers with matrix j of layer i replaced by W."""
    changed = [list(weights) for weights in layers]
    changed[i][j] = W
    return changed


def _by_weights(X: Any, layers: list[list[Any]]) -> list[tuple[Callable[[Any], Any], Any]]:
    """The network as a function of one weight matrix, and that matrix, layer by layer in the order W_Q, W_K, W_V."""

    def network(i: int, j: int) -> Callable[[Any], Any]:
        return lambda W: deep_linear_attention(X, _with(layers, i, j, W))

    return [(network(i, j), W) for i, weights in enumerate(layers) for j, W in enumerate(weights)]


def weight_jacobians(X: Any, layers: list[list[Any]]) -> list[Any]:
    """dF/dW for every weight matrix, layer by layer, each of shape (L d_V, size of W)."""
    return [jacobian(network, "W")(W) for network, W in _by_weights(X, layers)]


def diagonal_blocks(X: Any, layers: list[list[Any]], Y: Any) -> list[Any]:
    """The diagonal blocks of the loss Hessian, layer by layer in the order W_Q, W_K, W_V."""

    def block(network: Callable[[Any], Any], at: Any) -> Any:
        return hessian(lambda W: square_loss(network(W), Y), ("W", "W"))(at)

    return [block(*pair) for pair in _by_weights(X, layers)]


DEEP_LAYERS = Setting(
    HESSIAN,
    "Section 4.1, depth",
    assumptions=[
        Definition(
            "D linear self-attention layers, each with its own weights, X_l = T_l X_{l-1} W_V^l, F = X_D",
            by=deep_linear_attention,
        ),
        LAYOUT,
    ],
)
SIDE_BY_SIDE = Assumption(
    "W_Q, W_K and W_V hold those of three layers side by side, the first D of which are used", sizes=fits
)
THREE_LAYERS = DEEP_LAYERS.extended(assumptions=[SIDE_BY_SIDE], sizes=STACKED, exact=True)
TWO_LAYERS = THREE_LAYERS.extended(sizes={"D": (1, 2)}, where=fits_and_is_small)

DEPTH_CHAIN = Claim(THREE_LAYERS, "hessian.sec4.1-depth-chain", label="Section 4.1, text (depth)",
    statement=r"""\text{``a } D\text{-layer linear self-attention network, as well as its Jacobian w.r.t. any weight
        matrix, is a matrix chain involving } 3^D \text{ input sequence matrices } X\text{ due to the recurrence that
        the output of a layer is used three times by the consecutive layer''}""",
    name="deep linear attention as a matrix chain", relation=Equal(),
    at_sizes={"L": 2, "d_V": 1, "wide": 3, "wide_V": 3, "D": 2}, expects="reading",
    reading=Reading("matrix chain", r"""the network and every entry of its weight Jacobians are homogeneous of degree
            $3^D$ in $X$: $F(\sigma X) = \sigma^{3^D}F(X)$, and the same for $\partial F/\partial W_Q$, $\partial
            F/\partial W_K$, $\partial F/\partial W_V$ of every layer. Only the network and the Jacobians of the last
            layer are single chains (or Kronecker products of such); below, a Jacobian is a sum of Kronecker products of
            chains, one for each place where its layer's output enters, all with the same number of $X$"""),
    note="By induction: $X_l$ holds $X_{l-1}$ three times, and a layer is linear in each of its weights.")  # fmt: skip


@DEPTH_CHAIN.inputs
def stacked_layers(X: Tokens, W_Q: QueryStack, W_K: KeyStack, W_V: ValueStack, D: Depth, s: Scale) -> dict[str, Any]:
    return {"X": X, "layers": layer_weights(W_Q, W_K, W_V, D), "D": D, "s": s}


def _network_and_jacobians(X: Any, layers: list[list[Any]], s: Any = 1, degree: int = 1, less: int = 0) -> Any:
    """s^degree times F and its weight Jacobians, all entries in one column; a mutant has Jacobians of degree `less` lower."""
    values, rest = stacked(deep_linear_attention(X, layers)), stacked(*weight_jacobians(X, layers))
    return concatenate([values * power(s, degree), rest * power(s, degree - less)], axis=0)


@DEPTH_CHAIN.formula
def network_times_power(X: Any, layers: list[Any], D: int, s: Any) -> Any:
    """sigma^(3^D) times F and all its weight Jacobians, all entries in one column (Section 4.1)."""
    return _network_and_jacobians(X, layers, s, degree=3**D)


DEPTH_CHAIN.oracle(lambda X, layers, s: _network_and_jacobians(X * s, layers))
DEPTH_CHAIN.mutant("3 D instead of 3^D", "3 ** D -> 3 * D")
DEPTH_CHAIN.mutant("Jacobians with one X less", less=1)


@checked
def diagonal_times_one_power(
    X: Tokens, Y: Labels, W_Q: QueryStack, W_K: KeyStack, W_V: ValueStack, D: Depth, s: Scale
) -> Any:
    """sigma^(2 3^D) times the diagonal blocks of the loss Hessian, all entries in one column (Section 4.1)."""
    return stacked(*diagonal_blocks(X, layer_weights(W_Q, W_K, W_V, D), Y)) * power(s, 2 * 3**D)


DEPTH_HESSIAN = Claim(TWO_LAYERS, "hessian.sec4.1-depth-hessian", label="Section 4.1, text (depth)",
    statement=r"""\text{``If we stack } D \text{ linear self-attention layers, the block-diagonal matrices of the
        Hessian will contain } 3^D \text{ input intra-sequence covariances } \Sigma_{XX}\text{''}""",
    assumptions=[Definition("square loss, labels Y fixed", by=square_loss),
        Definition("to contain 3^D covariances is to have the degree 2 3^D in X", by=diagonal_times_one_power)],
    name="depth and the diagonal Hessian blocks", relation=Equal(), expects="refuted", severity="error",
    correction="hessian.depth-diagonal",
    consequence="""Below the last layer a second term of degree $3^D$ in $X$, linear in the labels, rules the blocks for
        small tokens; only the outer-product part grows as stated (hessian.depth-diagonal).""",
    note=r"""The reason given, that Jacobians hold $3^D$ factors $X$, is one for the outer-product part, of which the
        sentence is true (hessian.depth-outer-diagonal). Below the last layer the network is not linear in a weight
        matrix: the functional Hessian has diagonal blocks, of degree $3^D$ in $X$ and linear in $Y$, which are no
        functions of $\Sigma_{XX}$. For the last layer, hence for $D = 1$, they vanish.""")  # fmt: skip


DEPTH_HESSIAN.formula(diagonal_times_one_power)
DEPTH_HESSIAN.oracle(
    lambda X, Y, W_Q, W_K, W_V, D, s: stacked(*diagonal_blocks(X * s, layer_weights(W_Q, W_K, W_V, D), Y))
)
DEPTH_HESSIAN.mutant("3 D covariances", "2 * 3 ** D -> 6 * D")
DEPTH_HESSIAN.mutant("3^D factors X instead of Sigma_XX", "2 * 3 ** D -> 3 ** D")
DEPTH_HESSIAN.counterexample(
    "one token 1, label 1, two layers, all weights 1, sigma = 2: F = w^3 in the query weight w of the first layer",
    X=[[1]], Y=[[1]], W_Q=[[1, 1, 1]], W_K=[[1, 1, 1]], W_V=[[1, 1, 1]], D=2, s=2)  # fmt: skip


def _outer_diagonal(X: Any, layers: list[list[Any]]) -> Any:
    scale = rational(2, X.shape[0] * X.shape[1])
    return stacked(*(J.T @ J * scale for J in weight_jacobians(X, layers)))


DEPTH_OUTER = Claim(TWO_LAYERS, "hessian.depth-outer-diagonal",
    label="Section 4.1, the diagonal blocks of the outer-product Hessian of a deep linear self-attention network",
    statement=r"""\text{the diagonal blocks of } H_o \text{ of } D \text{ linear self-attention layers are functions of
        } \Sigma_{XX} \text{ and the weights alone, homogeneous of degree } 3^D \text{ in } \Sigma_{XX}""",
    assumptions=[
        Definition("square loss: the second derivative of the loss in F is 2 / (L d_V)", by=_outer_diagonal),
        Assumption("U is orthogonal", zero=lambda U: U.T @ U - eye(U.shape[0])),
    ],
    name="depth and the diagonal outer-product blocks", relation=Equal(), uses=("hessian.sec4.1-depth-chain",),
    of_project=True,
    note=r"""That $X$ enters by $\Sigma_{XX}$ alone is seen by invariance: $X \to UX$ with $U$ orthogonal leaves
        $\Sigma_{XX}$ and the blocks as they are. $U$ has determinant $-1$; two such make every rotation.""",
)  # fmt: skip


@DEPTH_OUTER.inputs
@realises({"U is orthogonal": reached.ROTATIONS})
def turned_layers(
    X: Tokens, G: TokenSquare, W_Q: QueryStack, W_K: KeyStack, W_V: ValueStack, D: Depth, s: Scale
) -> dict[str, Any]:
    reflection = eye(G.shape[0]) - 2 * basis_matrix(G.shape[0], G.shape[0], 0, 0)
    return stacked_layers(X, W_Q, W_K, W_V, D, s) | {"U": reflection @ orthogonal_matrix(G)}


@DEPTH_OUTER.formula
def outer_diagonal_times_power(X: Any, layers: list[Any], D: int, s: Any) -> Any:
    """sigma^(2 3^D) times the diagonal blocks of H_o, all entries in one column (Section 4.1)."""
    return _outer_diagonal(X, layers) * power(s, 2 * 3**D)


DEPTH_OUTER.oracle(lambda X, U, layers, s: _outer_diagonal(U @ X * s, layers))
DEPTH_OUTER.mutant("3 D covariances", "2 * 3 ** D -> 6 * D")
DEPTH_OUTER.mutant("3^D factors X instead of Sigma_XX", "2 * 3 ** D -> 3 ** D")

DEPTH_DIAGONAL = Claim(TWO_LAYERS, "hessian.depth-diagonal",
    label="Section 4.1, the whole diagonal blocks of a deep linear self-attention network",
    statement=r"""\text{for the diagonal block } H_{ii}(X,Y)\text{ of the loss Hessian in any weight matrix of } D
        \text{ linear self-attention layers: } H_{ii}(\sigma X, Y) = \sigma^{2\cdot3^D} H_{ii}(X, 0) +
        \sigma^{3^D}\big(H_{ii}(X,Y) - H_{ii}(X,0)\big), \text{ and the second term is } 0 \text{ for the weights of the
        last layer}""",
    assumptions=[Definition("square loss, labels Y fixed", by=square_loss)],
    name="depth and the diagonal Hessian blocks, with labels", relation=Equal(),
    uses=("hessian.sec4.1-depth-chain", "hessian.eq-2"), corrects="hessian.sec4.1-depth-hessian", of_project=True,
    note=r"""The loss Hessian is affine in $Y$, and $Y$ meets the second derivative of $F$, of degree $3^D$. So the
        blocks grow like $\sigma^{2\cdot3^D}$ for large $\sigma$, the last layer's for every $\sigma$; the others like
        $\sigma^{3^D}$ for small $\sigma$ (Figure 7).""")  # fmt: skip


@DEPTH_DIAGONAL.inputs
def layers_and_labels(
    X: Tokens, Y: Labels, W_Q: QueryStack, W_K: KeyStack, W_V: ValueStack, D: Depth, s: Scale
) -> dict[str, Any]:
    return stacked_layers(X, W_Q, W_K, W_V, D, s) | {"Y": Y}


def _two_terms(X: Any, Y: Any, layers: list[Any], D: int, s: Any, low: int, last: bool = True) -> Any:
    """The two terms for every block; a mutant keeps no second term in any layer."""
    bare = diagonal_blocks(X, layers, 0 * Y)
    parts = []
    for index, (H, H_0) in enumerate(zip(diagonal_blocks(X, layers, Y), bare, strict=True)):
        whole = H_0 * power(s, 2 * 3**D)
        parts.append(whole + (H - H_0) * power(s, low) if last and index < 3 * (D - 1) else whole)
    return stacked(*parts)


@DEPTH_DIAGONAL.formula
def diagonal_by_powers(X: Any, Y: Any, layers: list[Any], D: int, s: Any) -> Any:
    """The diagonal blocks at sigma X from those at X with and without labels, all entries in one column."""
    return _two_terms(X, Y, layers, D, s, low=3**D)


DEPTH_DIAGONAL.oracle(lambda X, Y, layers, s: stacked(*diagonal_blocks(X * s, layers, Y)))
DEPTH_DIAGONAL.mutant("one power of sigma for the whole block", "3 ** D -> 2 * 3 ** D")
DEPTH_DIAGONAL.mutant("no second term", low=1, last=False)

# -- growth with the data, whatever the depth --------------------------------------------------------------------------

MLP_DEPTH = Claim(mlp.LINEAR_MLP, "hessian.sec4.1-mlp-depth", label="Section 4.1, text; Figure 8",
    statement=r"""\text{``This is in stark contrast to a deep linear MLP, whose Jacobian is only linear in } x \text{,
        and therefore a Hessian diagonal block contains only 2 data instances, independent of depth'': }
        H(W_i,W_i)(\sigma X) = \sigma^2 H(W_i,W_i)(X)""",
    assumptions=[Definition("half the mean square loss, labels fixed", by=half_mean)],
    name="depth of linear MLPs and Hessian blocks", relation=Equal(), at_sizes=True, uses=("hessian.sec2-mlp-hollow",),
    note=r"""The degree is exact, for every $\sigma$ and every layer, as the overlapping lines of Figure 8 show;
        Jacobian and diagonal blocks of the loss Hessian are scaled together.""")  # fmt: skip


@MLP_DEPTH.inputs
def scaled_network(
    X: mlp.Inputs,
    W_1: mlp.FirstWeights,
    W_2: mlp.SecondWeights,
    W_3: mlp.ThirdWeights,
    W_4: mlp.FourthWeights,
    D: Depth,
    Y: mlp.Targets,
    s: Scale,
) -> dict[str, Any]:
    return mlp.network_of_any_depth(X, W_1, W_2, W_3, W_4, D, Y) | {"s": s}


def _layers(X: Any, weights: list[Any], Y: Any) -> tuple[Any, Any]:
    """Jacobians in every layer, and the diagonal blocks of the loss Hessian, both with all entries in one column."""

    def network(W: Any, i: int) -> Any:
        return outputs([*weights[:i], W, *weights[i + 1 :]], X)

    jacobians = [jacobian(network, "W")(W, i) for i, W in enumerate(weights)]
    blocks = [loss_hessian(weights, X, Y, i, i, half_mean) for i in range(len(weights))]
    return stacked(*jacobians), stacked(*blocks)


@MLP_DEPTH.formula
def scaled_derivatives(X: Any, weights: list[Any], Y: Any, s: Any) -> Any:
    """sigma J(X) and sigma^2 H(X), all entries in one column (Section 4.1)."""
    first, second = _layers(X, weights, Y)
    return concatenate([first * s, second * (s * s)], axis=0)


MLP_DEPTH.oracle(lambda X, weights, Y, s: concatenate(_layers(X * s, weights, Y), axis=0))


@MLP_DEPTH.mutant("sigma to the power 2 D")
def _(X: Any, weights: list[Any], Y: Any, s: Any) -> Any:
    first, second = _layers(X, weights, Y)
    power = s
    for _ in range(2 * len(weights) - 1):
        power = power * s
    return concatenate([first * s, second * power], axis=0)


MLP_DEPTH.mutant("sigma instead of its square", "s * s -> s")
