"""A network of blocks: footnote 2, an assumption of Ji et al., whose bound holds for Jacobians side by side of full row rank, and
neither for others nor for the product of Jacobians by the input. Its order of attention and MLP, an observation about
attention before it is improved, is the other way round after that, with one head."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.shared.matrices import orthogonal_matrix
from theorems.osa import OSA
from theorems.osa.definitions import orthonormal_columns
from theorems.osa.part_c_initialisation.c3_theorem_c_3 import INITIALISED
from theorems.osa.part_c_initialisation.c3_theorem_c_4 import initialised_without_basis, jacobian_condition_number
from theorems.osa.part_e_experiments.paper_scale import HEADS, sum_of_heads, untrained_mlp
from theorems.osa.settings import POSITIVE_ALPHA, gram_defect
from theorems.osa.shapes import Frame, HeadSize, Key, Output, PositiveAlpha, Query, Share, Tokens, Value, Width
from verify.matrix import (
    COLUMN, absolute, column, concatenate, diag, effective_condition_number, rational, relu, smallest_singular_value, sqrt,
    vec_r,
)  # fmt: skip
from verify.oracles import LawTest, at_least_probability, jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Convention, Definition, FollowsLaw, Setting, Shape, realises

Columns = Annotated[Any, Shape("n", "r")]
OtherColumns = Annotated[Any, Shape("n", "r_2")]
Square = Annotated[Any, Shape("n", "n")]
Weights = Annotated[Any, Shape("r", "1")]
OtherWeights = Annotated[Any, Shape("r_2", "1")]

BLOCKS = [
    Assumption(
        "J_l = U_l diag(s_l) V_l^T with orthonormal columns of U_l and V_l and a row s_l",
        zero=lambda U_2, V_2, U_1, V_1: concatenate([vec_r(gram_defect(F)) for F in (U_2, V_2, U_1, V_1)], axis=0),
    ),
    Assumption("s_l > 0", positive=lambda s_2, s_1: concatenate([s_2, s_1], axis=0)),
    Assumption(
        "J_2 J_1 has the rank of one of its factors", positive=lambda V_2, U_1: smallest_singular_value(V_2.T @ U_1)
    ),
]

FOOTNOTE_2 = Claim(OSA, "osa.fn-2", label="Footnote 2", name="condition number of the network by its sub-blocks",
    statement=r"""\text{i.e. the conditioning of the full network Jacobian is bounded by the worse-conditioned sub-block
        and that the attention sub-blocks are much worse conditioned than the MLP sub-blocks}""",
    assumptions=[
        Definition(
            "Jacobians by the parameters, as in Ji et al.: the network's has those of its sub-blocks side by side", by=concatenate
        ),
        Assumption(
            "the sub-blocks have full row rank, which is not printed",
            sizes=lambda sizes: sizes["n"] <= min(sizes["p"], sizes["q"]),
            positive=lambda J_1, J_2: column(smallest_singular_value(J_1), smallest_singular_value(J_2)),
        ),
    ],
    relation=AtMost(), sizes={"n": (1, 3), "p": (1, 4), "q": (1, 4)}, expects="gap",
    missing="the Jacobians are by the parameters, as those of Ji et al., and every sub-block has full row rank",
    presumes=("osa.fn-2-any-rank", "osa.fn-2-by-input"), corrects="osa.fn-2-any-rank",
    consequence="""Well-conditioned sub-blocks need not make a well-conditioned network. By the parameters the bound needs
        sub-blocks with at least as many columns as rows; by the input condition numbers multiply, and blocks of low rank
        add a factor for the angle between what one writes and the next reads (osa.fn-2-product).""",
    note=r"""The first half; the second is osa.fn-2-second. Section 1 calls it an assumption, of Ji et al., so that it is
        judged as the same assumption is in skipless.eq-6: in the sense of its source, and by what it needs. There the
        network's Jacobian is by the parameters. $J_1$ and $J_2$ of rank $n$, the number of their rows, have $\kappa([J_1\
        J_2]) \le \max_l\kappa(J_l)$; without full row rank that fails (osa.fn-2-any-rank), and Ji et al. say that it
        'does not hold universally'. The footnote does not say by what it differentiates, and every other Jacobian of the
        paper is by the input: of these it is false (osa.fn-2-by-input). $\kappa$ is the effective condition number of
        Appendix C.1.""",
)  # fmt: skip

WideBlock = Annotated[Any, Shape("n", "p")]
OtherWideBlock = Annotated[Any, Shape("n", "q")]
RowWeights = Annotated[Any, Shape("n", "1")]


@FOOTNOTE_2.inputs
def blocks_of_full_row_rank(
    first: Square, second: Square, third: Annotated[Any, Shape("p", "p")], fourth: Annotated[Any, Shape("q", "q")],
    s_1: RowWeights, s_2: RowWeights,
) -> Any:  # fmt: skip
    def block(left: Any, s: Any, right: Any) -> Any:
        return orthogonal_matrix(left) @ diag(s * s + rational(1, 4)) @ orthonormal_columns(right, s.shape[0]).T

    return {"J_1": block(first, s_1, third), "J_2": block(second, s_2, fourth)}


@FOOTNOTE_2.formula
def worse_of_two_blocks(J_1: WideBlock, J_2: OtherWideBlock) -> Any:
    """max(kappa(J_1), kappa(J_2)), a scalar, for J_1 (n, p) and J_2 (n, q) of rank n."""
    n = J_1.shape[0]
    return _larger(effective_condition_number(J_1, n), effective_condition_number(J_2, n))


FOOTNOTE_2.oracle(lambda J_1, J_2: effective_condition_number(concatenate([J_1, J_2], axis=1), J_1.shape[0]))
FOOTNOTE_2.mutant("the better conditioned block", "_larger -> _smaller")
FOOTNOTE_2.mutant("its square root", lambda value: sqrt(value))


ANY_RANK = Claim(OSA, "osa.fn-2-any-rank", label="Footnote 2, of sub-blocks of any rank side by side",
    statement=r"\kappa([\mathbf{J}_1\ \mathbf{J}_2]) \le \max_l \kappa(\mathbf{J}_l)",
    assumptions=[
        Definition(
            "Jacobians by the parameters, as in Ji et al.: the network's has those of its sub-blocks side by side", by=concatenate
        ),
        Assumption(
            "J_1, J_2 and [J_1 J_2] have the largest rank that their shapes allow",
            positive=lambda J_1, J_2: column(*(smallest_singular_value(J) for J in (J_1, J_2, concatenate([J_1, J_2], axis=1)))),
        ),
    ],
    name="condition number of sub-blocks of any rank", relation=AtMost(), sizes={"n": (2, 3), "p": (1, 3), "q": (1, 3)},
    where=lambda sizes: min(sizes["p"], sizes["q"]) < sizes["n"], expects="refuted", severity="error", of_project=True,
    correction="osa.fn-2",
    note="""Two columns have the condition number 1 each, and the matrix of both has any, the larger the more nearly they are
        parallel.""",
)  # fmt: skip


@ANY_RANK.formula
def worse_of_two_blocks_of_any_rank(J_1: WideBlock, J_2: OtherWideBlock) -> Any:
    """max(kappa(J_1), kappa(J_2)), a scalar, for J_1 (n, p) and J_2 (n, q) of the largest rank."""
    return _larger(*(effective_condition_number(J, min(J.shape)) for J in (J_1, J_2)))


@ANY_RANK.oracle
def condition_number_side_by_side(J_1: WideBlock, J_2: OtherWideBlock) -> Any:
    J = concatenate([J_1, J_2], axis=1)
    return effective_condition_number(J, min(J.shape))


ANY_RANK.mutant("the better conditioned block", "_larger -> _smaller")
ANY_RANK.mutant("its square root", lambda value: sqrt(value))
ANY_RANK.counterexample(
    "two columns at an angle of 45 degrees: 1 each, (3 + sqrt 5)/2 side by side", J_1=[[1], [0]], J_2=[[1], [1]]
)


@realises({"J_l = U_l diag": reached.FRAMES})
def two_blocks(first: Square, second: Square, third: Square, fourth: Square, s_2: OtherWeights, s_1: Weights) -> Any:
    """Four frames and two positive diagonals from free parameters."""
    ranks = (s_2.shape[0], s_2.shape[0], s_1.shape[0], s_1.shape[0])
    frames = [orthonormal_columns(G, r) for G, r in zip((first, second, third, fourth), ranks, strict=True)]
    names = dict(zip(("U_2", "V_2", "U_1", "V_1"), frames, strict=True))
    return {**names, "s_2": s_2 * s_2 + rational(1, 4), "s_1": s_1 * s_1 + rational(1, 4)}


TWO_BLOCKS = Setting(OSA, "Footnote 2",
    assumptions=[Assumption("r, r_2 <= n, for r and r_2 orthonormal columns of length n",
        sizes=lambda sizes: max(sizes["r"], sizes["r_2"]) <= sizes["n"])],
    sizes={"n": (1, 3), "r": (1, 3), "r_2": (1, 3)}, inputs=two_blocks)  # fmt: skip


def condition_number_of_product(U_2: Any, s_2: Any, V_2: Any, U_1: Any, s_1: Any, V_1: Any) -> Any:
    product = (U_2 @ diag(s_2) @ V_2.T) @ (U_1 @ diag(s_1) @ V_1.T)
    return effective_condition_number(product, min(s_2.shape[0], s_1.shape[0]))


BY_INPUT = Definition(
    "Jacobians by the input, as that of Theorem C.1: the network's is the product of its sub-blocks'",
    by=condition_number_of_product,
)
FOOTNOTE_2_BY_INPUT = Claim(TWO_BLOCKS, "osa.fn-2-by-input", label="Footnote 2, of Jacobians by the input",
    name="condition number of a product by its sub-blocks", of_project=True,
    statement=r"\kappa(\mathbf{J}_2\mathbf{J}_1) \le \max_l\kappa(\mathbf{J}_l)",
    assumptions=[
        BY_INPUT,
        *BLOCKS,
    ],
    relation=AtMost(), expects="refuted", severity="error", correction="osa.fn-2-product",
    note=r"""The other meaning of osa.fn-2: every Jacobian that the paper writes down is by the input. With the effective
        condition number of Appendix C.1. Where blocks have low rank, as for $h > 1$, no function of the $\kappa(J_l)$
        bounds $\kappa(J_2J_1)$: two with $\kappa = 1$ can have a product with any.""",
)  # fmt: skip


def _block_condition(U: Any, s: Any, V: Any) -> Any:
    return effective_condition_number(U @ diag(s) @ V.T, s.shape[0])


def _larger(a: Any, b: Any) -> Any:
    return (a + b + absolute(a - b)) * rational(1, 2)


def _smaller(a: Any, b: Any) -> Any:
    return a + b - _larger(a, b)


@FOOTNOTE_2_BY_INPUT.formula
def worse_condition_number(
    U_2: OtherColumns, s_2: OtherWeights, V_2: OtherColumns, U_1: Columns, s_1: Weights, V_1: Columns
) -> Any:
    """max_l kappa(J_l), a scalar, for J_l = U_l diag(s_l) V_l^T."""
    return _larger(_block_condition(U_2, s_2, V_2), _block_condition(U_1, s_1, V_1))


FOOTNOTE_2_BY_INPUT.oracle(condition_number_of_product)
FOOTNOTE_2_BY_INPUT.mutant("the better conditioned block", "_larger -> _smaller")
FOOTNOTE_2_BY_INPUT.mutant("its square root", lambda value: sqrt(value))


@FOOTNOTE_2_BY_INPUT.counterexample("J_1 = J_2 = diag(2, 1): the product has condition number 4")
def same_direction_twice() -> dict[str, Any]:
    identity = [[1, 0], [0, 1]]
    frames = {"U_2": identity, "V_2": identity, "U_1": identity, "V_1": identity}
    return {**frames, "s_2": [[2], [1]], "s_1": [[2], [1]]}


@FOOTNOTE_2_BY_INPUT.counterexample(
    "two blocks of rank 2 with condition number 1: the product has condition number 5/3"
)
def tilted_planes() -> dict[str, Any]:
    plane, tilted = [[1, 0], [0, 1], [0, 0]], [[1, 0], [0, "3/5"], [0, "4/5"]]
    frames = {"U_2": plane, "V_2": plane, "U_1": tilted, "V_1": plane}
    return {**frames, "s_2": [[1], [1]], "s_1": [[1], [1]]}


FOOTNOTE_2_PRODUCT = FOOTNOTE_2_BY_INPUT.corrected("osa.fn-2-product", label="Footnote 2, with all that conditions the product",
    statement=r"""\mathbf{J}_l = \mathbf{U}_l\operatorname{diag}(s_l)\mathbf{V}_l^\top \text{ of rank } r_l \text{ with } s_l > 0,
        \mathbf{V}_2^\top\mathbf{U}_1 \text{ of full rank}: \quad \kappa(\mathbf{J}_2\mathbf{J}_1) \le
        \kappa(\mathbf{J}_2)\,\kappa(\mathbf{V}_2^\top\mathbf{U}_1)\,\kappa( \mathbf{J}_1); \text{ the middle factor, of
        the angles between what one block reads and the other writes, is } 1 \text{ where one of the blocks is
        nonsingular}""", name="condition number of a product of sub-blocks",
    note="""As for a nonsingular MLP block and an attention block of rank $N d_v < N d$: there the conditions of the two
        blocks multiply, and nothing else comes in.""")  # fmt: skip


@FOOTNOTE_2_PRODUCT.formula
def product_of_condition_numbers(
    U_2: OtherColumns, s_2: OtherWeights, V_2: OtherColumns, U_1: Columns, s_1: Weights, V_1: Columns
) -> Any:
    """kappa(J_2) kappa(V_2^T U_1) kappa(J_1), a scalar."""
    angles = effective_condition_number(V_2.T @ U_1, min(s_2.shape[0], s_1.shape[0]))
    second, first = _block_condition(U_2, s_2, V_2), _block_condition(U_1, s_1, V_1)
    return first * second * angles


FOOTNOTE_2_PRODUCT.mutant("angles ignored", "angles -> 1")
FOOTNOTE_2_PRODUCT.mutant("the worse block instead of the product", "first * second -> _larger(first, second)")

# -- attention against MLP ---------------------------------------------------------------------------------------------

SECOND_HALF = Claim(OSA, "osa.fn-2-second", label="Footnote 2, second half", name="condition numbers of attention and MLP",
    statement=r"""\text{the attention sub-blocks are much worse conditioned than the MLP sub-blocks}""",
    assumptions=[
        Definition("an MLP of width 4 d with GELU, W_1 = 2 U^T and W_2 = V for U, V uniform on V_d(R^{4 d})", by=untrained_mlp),
        Definition("four heads with independent W_i^V = U_i, W_i^O = V_i^T as in Appendix C.1, alpha = 0", by=sum_of_heads),
    ],
    relation=FollowsLaw(samples=100, instances=1), sizes={"d": (64, 64)}, uses=("osa.c4-several-heads",), expects="empirical",
    observed=r"""$d = 64$ and four heads, as in Appendix E, untrained, Jacobians by the input; 100 draws at each run. In three sets
        of 400 drawn before, attention has a median of 3100 to 3500, the MLP one of 230 to 270. Attention is the worse one
        in 92 to 94 of 100 draws, more than three times as badly conditioned in 80 to 83, and more than ten times in 51 to
        59. How much worse 'much' is the paper does not say; tested is three times in more than half of the draws""",
    note="""Section 1 calls it an assumption, of Ji et al., about softmax attention before anything is done for its conditioning.
        So it is an observation here, as the same sentence is in skipless.sec-4.2-sab-worse, there of Jacobians by the
        weights. It is no statement about all weights, and the single head that Appendix C improves does not refute it
        (osa.fn-2-second-single-head).""",
)  # fmt: skip
SECOND_HALF.inputs(d=Width)


@SECOND_HALF.formula
def four_heads_and_mlp(generator: Any, samples: int, d: int) -> tuple[Any, Any]:
    """Jacobians of four heads for alpha = 0, without their factor I_N, and of the MLP, (samples, d, d)."""
    return sum_of_heads(generator, samples, d, d // HEADS, HEADS), untrained_mlp(generator, samples, d)


@SECOND_HALF.part("laws")
def much_worse_than_the_mlp(formula: Any, generator: Any, samples: int, d: int) -> list[LawTest]:
    import torch

    values = [torch.linalg.svdvals(J) for J in formula(generator=generator, samples=samples, d=d)]
    heads, mlp = (s[:, 0] / s[:, -1] for s in values)
    return [at_least_probability("attention above three times the MLP", int((heads > 3 * mlp).sum()), samples, 0.5)]


SECOND_HALF.mutant("a single head in the place of four", "HEADS -> 1")
SECOND_HALF.mutant("the MLP worse than attention", lambda value: value[::-1])


SINGLE_HEAD = Claim(INITIALISED.extended("Footnote 2, second half", sizes={"N": (1, 2), "d": (2, 3), "d_v": (1, 1)}),
    "osa.fn-2-second-single-head", label="Footnote 2, second half, with the single head of Appendix C",
    name="condition numbers of one initialised head and of an MLP",
    statement=r"""\text{With } \mathbf{A}=\exp(\mathbf{S}), \text{ one head and the initialisation of Appendix C the attention
        sub-block is not better conditioned than an MLP: } \kappa(\mathbf{J})\ge\kappa\Bigl(\frac{\partial\operatorname{vec}
        (\operatorname{relu}(\mathbf{X}\mathbf{W}_1)\mathbf{W}_2)}{\partial\operatorname{vec}\mathbf{X}}\Bigr)""",
    assumptions=[
        POSITIVE_ALPHA,
        Convention("the MLP is relu(X W_1) W_2, token by token, with relu'(0) = 0", by=relu),
        Assumption(
            "the Jacobian of the MLP is nonsingular", positive=lambda X, W_1, W_2: smallest_singular_value(_of_mlp(X, W_1, W_2))
        ),
    ],
    relation=AtMost(left="kappa of the MLP sub-block", right="kappa of the attention sub-block", ascent=False),
    expects="refuted", severity="error", correction="osa.fn-2-second-by-heads", of_project=True,
    uses=("osa.c3-arbitrarily-close", "osa.f7-range"),
    consequence="""With one head, initialised as in Appendix C, the MLP decides the conditioning of a block, not
        attention; with several independent heads attention does (osa.fn-2-second-by-heads).""",
    note=r"""Theorem C.4 itself excludes it: $\kappa(J)$ is as close to 1 as one likes, and no MLP has less than 1. This is
        no fault of the footnote (osa.fn-2-second), which gives the reason to improve attention: here it is improved.""",
)  # fmt: skip

Widening = Annotated[Any, Shape("d", "w")]
Narrowing = Annotated[Any, Shape("w", "d")]


@SINGLE_HEAD.inputs
@realises({"[W^Q, W^K] in V": reached.FRAMES, "W^V = U in V": reached.FRAMES, "(W^O)^T = V in V": reached.FRAMES})
def attention_beside_mlp(
    X: Tokens, pair: Frame, left: Frame, right: Frame, share: Share, d_v: HeadSize, G: Frame, H: Frame
) -> Any:
    """One head as initialised, and an MLP of width 2 d that is linear: relu(X G) H - relu(-X G) H = X G H."""
    head = initialised_without_basis(X, pair, left, right, share * rational(1, 64), 0 * share, d_v)
    return {**head, "W_1": concatenate([G, -G], axis=1), "W_2": concatenate([H, -H], axis=0)}


def _of_mlp(X: Any, W_1: Any, W_2: Any) -> Any:
    """The Jacobian of relu(X W_1) W_2, shape (N d, N d)."""
    return jacobian(lambda X: relu(X @ W_1) @ W_2, "X", COLUMN)(X)


@SINGLE_HEAD.formula
def condition_number_of_attention(
    X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: PositiveAlpha
) -> Any:
    """kappa(J), a scalar, the effective condition number of one head with A = exp(S)."""
    return jacobian_condition_number(X, W_Q, W_K, W_V, W_O, alpha, None, None)


@SINGLE_HEAD.oracle
def condition_number_of_mlp(X: Tokens, W_1: Widening, W_2: Narrowing) -> Any:
    return effective_condition_number(_of_mlp(X, W_1, W_2), X.shape[0] * X.shape[1])


SINGLE_HEAD.mutant("square root", lambda value: sqrt(value))
SINGLE_HEAD.mutant("halved", lambda value: value * rational(1, 2))


@SINGLE_HEAD.counterexample(
    "two tokens, alpha = 1/100; an MLP of width 4 d with orthonormal weights has condition number 3"
)
def orthonormal_mlp() -> dict[str, Any]:
    head = {"W_Q": [[1], [0]], "W_K": [[0], [1]], "W_V": [[1], [0]], "W_O": [[1, 0]], "alpha": "1/100"}
    half, less = "1/2", "-1/2"
    W_1 = [[half, 0, less, 0, half, 0, half, 0], [0, half, 0, less, 0, half, 0, half]]
    W_2 = [[half, 0], [0, half], [half, 0], [0, half], [half, 0], [0, less], [half, 0], [0, half]]
    return {"X": [[1, 1], [1, 2]], **head, "W_1": W_1, "W_2": W_2}
