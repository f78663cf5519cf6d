"""Eq. (6), its justification in Section 4.2, and the stacking of samples: whether the worst-conditioned part bounds the whole.

It does where every block has at least as many columns as rows, and in networks with d_f >= d; the condition that the
paper gives instead is met by no pair of blocks with an attention block in it.  Samples on top of each other are not bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import AttentionWeights, Batch, FeedForwardWeights, attention_branch, parameters
from theorems.skipless.part_4_network_jacobian.parameter_jacobian import NETWORK, block_of_jacobian, stacked_blocks
from theorems.skipless.part_4_network_jacobian.skips import halved
from theorems.skipless.quantities import INVERSE, flatness, least
from verify.matrix import column, concatenate, maximum, singular_values, smallest_gain, spectral_norm
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Setting, Shape, checked

First = Annotated[Any, Shape("n", "d_1")]
Second = Annotated[Any, Shape("n", "d_2")]
Third = Annotated[Any, Shape("n", "d_3")]


def wide_mlp(sizes: Any) -> bool:
    """Whether the feed-forward network is at least as wide as the tokens."""
    return sizes["d_f"] >= sizes["d"]


def narrow_mlp(sizes: Any) -> bool:
    """Whether it is narrower, in small networks; of two blocks with a single sample of two tokens only."""
    samples = sizes["m"] * sizes["n"]
    return not wide_mlp(sizes) and samples * sizes["d"] <= 8 and (sizes["L"] == 1 or samples == 2)


def as_wide_as_high(sizes: Any) -> bool:
    """Whether each of three blocks has at least as many columns as rows."""
    return min(sizes["d_1"], sizes["d_2"], sizes["d_3"]) >= sizes["n"]


def few_entries(sizes: Any) -> bool:
    """Whether the blocks stay small."""
    return sizes["L"] * sizes["m"] * sizes["n"] * sizes["d"] <= 4 and sizes["L"] * sizes["d"] <= 3


def all_of_full_rank(sizes: Any) -> bool:
    """Whether d_f >= d and mn <= 2d, where the blocks may be of full rank."""
    return wide_mlp(sizes) and sizes["m"] * sizes["n"] <= 2 * sizes["d"]


# -- Eq. (6) -----------------------------------------------------------------------------------------------------------

SMALL_NETWORKS = {"L": (1, 2), "m": (1, 2), "n": (1, 4), "d": (1, 2), "d_f": (1, 3)}
CONDITIONING = NETWORK.extended("Section 4.2", assumptions=[INVERSE], sizes=SMALL_NETWORKS)
MATRICES = Setting(SKIPLESS, "Eq. (6)", assumptions=[INVERSE])
THREE_WIDE = MATRICES.extended(sizes={"n": (1, 3), "d_1": (1, 4), "d_2": (1, 4), "d_3": (1, 4)})  # fmt: skip


@checked
def flatness_of_network_jacobian(X: Batch, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """1 / kappa(J), a scalar: at least the smallest 1 / kappa of a block if Eq. (6) holds."""
    return flatness(concatenate(stacked_blocks(X, W, U), axis=1))


WIDE_MLP = Assumption("d_f >= d, which is not printed", sizes=wide_mlp)
EQ_6 = Claim(CONDITIONING, "skipless.eq-6", label="Eq. (6)", name="network conditioning by the worst block",
    statement=r"\kappa(\mathbf{J})\le\max_\ell\{\kappa(\mathbf{J}_\ell),\kappa(\hat{\mathbf{J}}_\ell)\}",
    assumptions=[WIDE_MLP],
    relation=AtMost(), where=few_entries, expects="gap",
    presumes=("skipless.eq-6-universal", "skipless.eq-6-blocks"), missing=r"$d_f \ge d$, for attention with one head",
    correction="skipless.eq-6-network", uses=("skipless.eq-6-wide", "skipless.eq-5-null-directions"),
    consequence=r"""It justifies nothing at training size: for $mn > 2d$ its right-hand side is infinite, whatever the
        initialisation; for $mn \le 2d \le 2d_f$ it is a theorem (skipless.eq-6-network), and a feed-forward network
        narrower than the tokens can break it.""",
    note=r"""For $mn > 2d$, and so for every batch of training, it bounds nothing: the rank of $J_\ell$, at most $2d^2$,
        is below $\min(mnd, 4d^2)$, so that $\kappa(J_\ell)$ is infinite (and so is $\kappa(J)$ itself once $mnd > p -
        2Ld^2$: it then reads $\infty \le \infty$). For $mn \le 2d$ every block has at least as many columns as rows,
        and no incoherence is needed: use skipless.eq-6-network. With heads the bound of the rank is $4d^2 - 2d\,d_h$,
        and $d_f \ge 2d$ does. The paper prints it as a simplifying assumption, which 'does not hold universally'.""",
)  # fmt: skip
EQ_6.formula(flatness_of_network_jacobian)


@EQ_6.oracle
def flatness_of_worst_block(X: Batch, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    return least(*[flatness(block) for block in stacked_blocks(X, W, U)])


EQ_6.mutant("condition number of J J^T", lambda value: value * value)
EQ_6.mutant("half of 1/kappa", lambda value: value / 2)

#: Tokens of dimension 2, one hidden neuron, in halves.
NARROW: dict[str, dict[str, Any]] = {
    "three tokens: kappa(J) = 2712":
    {"X": [[[4, -2], [4, 2], [-2, -2]]], "U": [[[[0, 2]], [[-2, 4]]]],
     "W": [[[[-4, 4], [0, -4]], [[-2, -2], [0, -2]], [[0, 4], [-2, -4]], [[2, -2], [-2, 4]]]]},
    "four tokens: 131 against 101 and 97":
    {"X": [[[-1, 5], [3, -2], [0, -4], [4, 4]]], "U": [[[[1, -3]], [[-4, 3]]]],
     "W": [[[[-1, 0], [0, 2]], [[-4, 0], [3, 1]], [[1, -4], [4, -3]], [[-1, 2], [0, 1]]]]},
    "two samples of two tokens: 324 against 265, 132":
    {"X": [[[3, 5], [-2, 2]], [[0, -4], [1, 3]]], "U": [[[[-1, -2]], [[0, 5]]]],
     "W": [[[[-3, 0], [0, 0]], [[-1, -2], [-1, 0]], [[3, 1], [2, -4]], [[4, -3], [2, 4]]]]},
}  # fmt: skip


def in_halves(example: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    return lambda: {name: halved(value) for name, value in example.items()}


EQ_6_UNIVERSAL = EQ_6.without(WIDE_MLP, "skipless.eq-6-universal",
    {title: in_halves(example) for title, example in NARROW.items()},
    label="Eq. (6) for all networks", name="network conditioning by blocks, any network", where=narrow_mlp,
    statement=r"\kappa(\mathbf{J})\le\max_\ell\{\kappa(\mathbf{J}_\ell),\kappa(\hat{\mathbf{J}}_\ell)\}",
    presumes=("skipless.eq-6-blocks",),
    note=r"""The paper says itself that the assumption 'does not hold universally'. The first counterexample is a
        transformer whose feed-forward network is narrower than its tokens: $\kappa(J) = 2712$, $\kappa(J_1) = 2086$,
        $\kappa(\hat{J}_1) = 91$. It needs a block with more rows than columns, here $\hat{J}_1$, $6 \times 4$. Networks
        with $d_f < d$ are tried (for others see skipless.eq-6), one domain near the examples.""")  # fmt: skip


@EQ_6_UNIVERSAL.domain("near a narrow network")
def near_a_narrow_network(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """The tokens and weights of the example of these sizes, moved by up to 2^-14; drawn ones where there is none."""
    for example in NARROW.values():
        if all(arrays[name].shape[1:] == np.shape(value) for name, value in example.items()):
            for name, value in example.items():
                arrays[name] = np.array(value) / 2 + rng.integers(-1, 2, arrays[name].shape) / 2**14


EQ_6_BLOCKS = Claim(MATRICES, "skipless.eq-6-blocks", label="Eq. (6) for any blocks side by side",
    statement=r"\kappa([\mathbf{A}\ \mathbf{B}])\le\max\{\kappa(\mathbf{A}),\kappa(\mathbf{B})\}",
    name="conditioning of any two blocks", relation=AtMost(left="the least of 1 / kappa(A), 1 / kappa(B)"),
    sizes={"n": (1, 4), "d_1": (1, 3), "d_2": (1, 3)}, expects="refuted", severity="error", of_project=True,
    note=r"""Two blocks of one column have $\kappa = 1$ each, and $[A\ B]$ any $\kappa$ whatever, infinite for parallel
        columns. The reverse inequality fails as well: $[A\ B]$ is orthogonal for $A = (1, 0)^\top$, $B = (0, 1)^\top$,
        and blocks of parallel columns become well-conditioned by a third.""")  # fmt: skip


@EQ_6_BLOCKS.formula
def flatness_of_concatenation(A: First, B: Second) -> Any:
    """1 / kappa([A B]), a scalar."""
    return flatness(concatenate([A, B], axis=1))


EQ_6_BLOCKS.oracle(lambda A, B: least(flatness(A), flatness(B)))
EQ_6_BLOCKS.counterexample("two columns at an angle of 45 degrees; kappa([A B]) = (3 + sqrt(5)) / 2", A=[[1], [0]],
    B=[[1], [1]])  # fmt: skip
EQ_6_BLOCKS.counterexample("parallel columns, kappa([A B]) infinite", A=[[1], [0]], B=[[1], [0]])
EQ_6_BLOCKS.mutant("B alone", lambda B: flatness(B))
EQ_6_BLOCKS.mutant("B doubled", lambda A, B: flatness(concatenate([A, B * 2], axis=1)))

EQ_6_WIDE = Claim(THREE_WIDE, "skipless.eq-6-wide", label="Eq. (6) for blocks with at least as many columns as rows",
    statement=r"\mathbf{M}=[\mathbf{M}_1\ \dots\ \mathbf{M}_N],\ \text{every}\ \mathbf{M}_i\in\mathbb{R}^{n\times d_i}"
    r"\ \text{with}\ d_i\ge n\ \Rightarrow\ \kappa(\mathbf{M})\le\max_i\kappa(\mathbf{M}_i)",
    assumptions=[Assumption("d_i >= n for each block", sizes=as_wide_as_high)],
    name="conditioning of wide blocks", relation=AtMost(left="the least 1 / kappa of A, B, C"), of_project=True,
    all_sizes=True, corrects="skipless.sec4.2-justification",
    note=r"""$MM^\top$ is the sum of the $M_iM_i^\top$, so $s_{\min}(M)^2 \ge \sum s_{\min}(M_i)^2$ and $s_{\max}(M)^2
        \le \sum s_{\max}(M_i)^2$; a quotient of sums is at most the largest quotient. No coherence, no balance, any
        number of blocks; attained by equal blocks. Three blocks are tried. Since $\kappa(M^\top) = \kappa(M)$, the
        same holds for matrices with at least as many rows as columns on top of each other. It says nothing about
        the attention blocks of samples with $nd \ge 4d^2$, whose $\kappa$ is infinite by their null directions.""")  # fmt: skip


@EQ_6_WIDE.formula
def flatness_of_three(A: First, B: Second, C: Third) -> Any:
    """1 / kappa([A B C]), a scalar."""
    return flatness(concatenate([A, B, C], axis=1))


EQ_6_WIDE.oracle(lambda A, B, C: least(flatness(A), flatness(B), flatness(C)))
EQ_6_WIDE.mutant("condition number of J J^T", lambda value: value * value)
EQ_6_WIDE.mutant("half of 1/kappa", lambda value: value / 2)

EQ_6_NETWORK = EQ_6.corrected("skipless.eq-6-network", label="Eq. (6) where all blocks may be of full rank",
    statement=r"""
        mn\le2d\le2d_f\ \Rightarrow\ \kappa(\mathbf{J})\le\max_\ell\{\kappa(\mathbf{J}_\ell),\kappa(\hat{\mathbf{J}}_
        \ell)\};\quad mn>2d\ \Rightarrow\ \kappa(\mathbf{J}_\ell)=\infty""",
    assumptions=[Definition("m samples of n tokens of dimension d, one head, d_f hidden neurons", by=stacked_blocks),
        Assumption("mn <= 2d <= 2 d_f", sizes=all_of_full_rank)],
    name="network conditioning, blocks of full rank", mutants=True,
    where=lambda sizes: sizes["L"] * sizes["m"] * sizes["n"] * sizes["d"] <= 6 and sizes["L"] * sizes["d"] <= 3,
    uses=("skipless.eq-6-wide", "skipless.eq-5-null-directions"),
    note=r"""For $mn \le 2d$ every block has at least as many columns as rows, $mnd \le 2d^2 \le 2d\,d_f, 4d^2$. For $mn
        > 2d$ the rank of $J_\ell$, at most $2d^2$, is below $\min(mnd, 4d^2)$ (skipless.eq-5-null-directions); the first part is
        compared here.""")  # fmt: skip
EQ_6_NETWORK.formula(flatness_of_network_jacobian)


# -- the justification of Eq. (6) --------------------------------------------------------------------------------------


def balanced(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Blocks of comparable size: the hidden layer at its linear part, weights of order one."""
    arrays["U"] *= rng.choice([0.25, 1.0, 2.0], (len(arrays["U"]), 1, 1, 1, 1))


def _pairs(X: Any, W: Any, U: Any) -> list[tuple[Any, Any]]:
    """Each J_l with each other block: the blocks are J_1, J-hat_1, ..., J_L, J-hat_L."""
    blocks = stacked_blocks(X, W, U)
    return [(blocks[l], other) for l in range(0, len(blocks), 2) for k, other in enumerate(blocks) if k != l]


@checked
def coherences(X: Batch, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """rho = |J_l^T B| for every l and the other blocks B, each twice, shape (2 L (2 L - 1), 1)."""
    return column(*[spectral_norm(A.T @ B) for A, B in _pairs(X, W, U) for _ in range(2)])


@checked
def squared_smallest(X: Batch, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """s_min^2 of every J_l with each other block, in both readings, shape (2 L (2 L - 1), 1)."""
    values = []
    for A, B in _pairs(X, W, U):
        by_columns = least(smallest_gain(A), smallest_gain(B))
        by_singular_values = least(singular_values(A)[-1], singular_values(B)[-1])
        values += [by_columns * by_columns, by_singular_values * by_singular_values]
    return column(*values)


def largest_norms(X: Any, W: Any, U: Any) -> Any:
    """s_max of every J_l with each other block, each twice, shape (2 L (2 L - 1), 1)."""
    return column(*[maximum(column(spectral_norm(A), spectral_norm(B))) for A, B in _pairs(X, W, U) for _ in range(2)])


BOTH = Definition(
    "s_min of both readings: the minimum of |Mx| over unit vectors x, as in Eq. (36), and the last singular value",
    by=squared_smallest,
)

PAIRS = NETWORK.extended("Section 4.2, text below Eq. (6)", assumptions=[BOTH],
    sizes={"m": (1, 2), "n": (1, 4), "d_f": (1, 2)}, where=few_entries,
    special_domains={"balanced blocks": balanced})  # fmt: skip


ONE = [[1, 0], [0, 1]]

JUSTIFICATION = Claim(PAIRS, "skipless.sec4.2-justification", label="Section 4.2, text below Eq. (6)",
    statement=r"""\text{This assumption does not hold universally, but we provide justification for it under mild
        block-incoherence conditions with balanced blocks (see Section A.4.4)}""",
    assumptions=[
        Definition("the blocks are J_1, J-hat_1, ..., J_L, J-hat_L, of which Eq. (6) speaks", by=stacked_blocks),
        Definition(
            "a mild condition is one that the blocks of some network meet; the condition is rho < s_min^2, without which the"
            " right-hand sides of Eq. (37) are not real numbers", by=coherences),
    ],
    name="justification by block incoherence", relation=AtMost(ascent=False), expects="refuted", severity="error",
    correction="skipless.eq-6-wide", uses=("skipless.sec4.2-coherence", "skipless.a4.4-relative"),
    consequence="""Eq. (37) cannot be applied to the Jacobian of any transformer; where Eq. (6) holds, it is because
        every block has at least as many columns as rows (skipless.eq-6-wide).""",
    note=r"""The condition is not mild but never met: $\rho \ge s_{\min}^2$ for every pair of blocks with an attention
        block in it, in every network (skipless.sec4.2-coherence), on which the verdict rests: one network would refute
        nothing, and the examples are instances of it; the search finds no network that meets it. What is
        printed, $\rho \to 0$, is met by small blocks, for which nothing follows. Eq. (6) is justified by the shapes of
        the blocks instead (skipless.eq-6-wide, skipless.eq-6). In the paper's favour: as an implication about matrices
        A.4.4 stands; and if null directions were left out and $\kappa$ taken over nonzero singular values, which is not
        the $\kappa$ of Section 4.1, the condition could be met: blocks of orthogonal ranges have $\rho = 0$.""",
)  # fmt: skip
JUSTIFICATION.formula(squared_smallest)
JUSTIFICATION.oracle(coherences)
JUSTIFICATION.counterexample("two tokens 1 and 2 of dimension 1, all weights 1", X=[[[1], [2]]],
    W=[[[[1]], [[1]], [[1]], [[1]]]], U=[[[[1]], [[1]]]])  # fmt: skip
JUSTIFICATION.counterexample("two tokens of dimension 2", X=[[[1, 0], [1, 1]]], W=[[ONE, ONE, ONE, ONE]],
    U=[[[[1, 0], [0, 1]], [[1, 0], [0, 1]]]])  # fmt: skip

JUSTIFICATION.mutant("s_max^2 instead of s_min^2", lambda X, W, U: largest_norms(X, W, U) * largest_norms(X, W, U))
JUSTIFICATION.mutant("s_max instead of s_min^2", lambda X, W, U: largest_norms(X, W, U))

COHERENCE = Claim(PAIRS, "skipless.sec4.2-coherence", label="Coherence of an attention block with any other",
    statement=r"""
        s_{\min}^2\le\|\mathbf{J}_\ell^\top\mathbf{B}\|_2,\ s_{\min}=\min\{s_{\min}(\mathbf{J}_\ell),s_{\min}(\mathbf{B})\},\
        \text{for every attention block }\mathbf{J}_\ell\text{ and every other block }\mathbf{B}\text{, one of
        }\hat{\mathbf{J}}_1,\dots,\hat{\mathbf{J}}_L\text{ or a }\mathbf{J}_k\text{ with }k\ne\ell
    """,
    name="coherence of the attention blocks", relation=AtMost(ascent=False), of_project=True,
    uses=("skipless.eq-5-null-directions",),
    note=r"""As a minimum over unit vectors $s_{\min}(J_\ell) = 0$, by its null directions. As the last singular value
        it is 0 unless $mnd \le 2d^2$ and $J_\ell$ is of full row rank, and then $\|J_\ell^\top By\| \ge
        s_{\min}(J_\ell)\|By\|$ with $y$ the first singular vector of $B$. So $\rho < s_{\min}^2$ never holds.""",
)  # fmt: skip

COHERENCE.formula(coherences)
COHERENCE.oracle(squared_smallest)
COHERENCE.mutant("quarter of rho", lambda value: value / 4)
COHERENCE.mutant("smallest singular value of J_l^T B", "spectral_norm(A.T @ B) -> singular_values(A.T @ B)[-1]")

STACKED = {"L": (1, 1), "m": (1, 2), "n": (1, 3), "d": (1, 2), "d_f": (1, 1)}


def small_stacks(sizes: Any) -> bool:
    """At most eight rows."""
    return sizes["m"] * sizes["n"] * sizes["d"] <= 8


STACKING = Claim(CONDITIONING, "skipless.sec4.3-row-stacking", label="Section 4.3, text after Eq. (9)",
    statement=r"""\text{the Jacobian }\mathbf{J}_\ell\in\mathbb{R}^{mnd\times p_\ell}\text{ is the concatenation of
        }\frac{\partial f(\mathbf{x};\theta)}{\partial\theta^{(\ell)}}\in\mathbb{R}^{nd\times p_\ell}\text{ for }m\text{
        samples. By assumption i), we have }\kappa(\mathbf{J}_\ell)\text{ is bounded by the largest
        }\kappa(\frac{\partial f(\mathbf{x};\theta)}{\partial\theta^{(\ell)}})\text{ for }m\text{ samples}""",
    name="conditioning of stacked samples", relation=AtMost(left="the least 1 / kappa of the samples"), sizes=STACKED,
    where=small_stacks, expects="refuted",
    severity="error", uses=("skipless.eq-5-jacobian",), correction="skipless.sec4.3-row-stacking-reverse",
    consequence=r"""Well-conditioned Jacobians of single samples say nothing about a batch: $\kappa(J_\ell)$ is at least
        the largest of the samples (skipless.sec4.3-row-stacking-reverse), and infinite for $mn > 2d$.""",
    note=r"""Stacking is vertical; 'assumption i)', Eq. (6), is of blocks side by side, and is met at both examples,
        $\max\kappa$ being infinite there. If i) is meant of blocks in any arrangement, the sentence repeats an
        assumption, and one that fails. Two equal samples make $J_\ell$ singular, whatever the samples' own $\kappa$;
        and for $mn > 2d$ it always is. For every batch the reverse inequality holds. The largest singular value obeys
        $\|J_\ell\| \le \sqrt m\max\|J_\ell(\mathbf{x})\|$, the smallest has no lower bound.""")  # fmt: skip


def _samples(X: Any, W: Any, U: Any, block: int = 0) -> list[Any]:
    """df(x)/dtheta^(1) of each sample, or its derivative in the weights of another sub-block."""
    return [block_of_jacobian(x, parameters(W, U), block) for x in X]


@STACKING.formula
def flatness_of_stack(X: Batch, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """1 / kappa(J_1), a scalar."""
    return flatness(concatenate(_samples(X, W, U), axis=0))


STACKING.oracle(lambda X, W, U: least(*[flatness(J) for J in _samples(X, W, U)]))
STACKING.counterexample(
    "two equal samples of two tokens of dimension 1: a 4 x 4 matrix of rank 2, samples of full rank",
    X=[[[1], [2]], [[1], [2]]], W=[[[[1]], [[1]], [[1]], [[1]]]], U=[[[[1]], [[1]]]])  # fmt: skip
STACKING.counterexample("mn <= 2d, finite: two samples of two tokens of dimension 2",
    X=[[[1, 0], [0, 1]], [[1, 1], [0, 1]]], W=[[ONE, ONE, ONE, ONE]], U=[[[[1, 0]], [[0, 0]]]])  # fmt: skip
STACKING.mutant("first sample alone", lambda X, W, U: flatness(_samples(X, W, U)[0]))
STACKING.mutant("samples side by side", axis=1)

REVERSE = Claim(CONDITIONING, "skipless.sec4.3-row-stacking-reverse", label="Condition number of a stack of samples",
    statement=r"""
        \kappa(\mathbf{J}_\ell)\ge\max_{i\le m}\kappa\Big(\frac{\partial f(\mathbf{x}_i;\theta)}{\partial\theta^{(\ell)
        }}\Big)\text{ for every batch }\mathbf{x}_1,\dots,\mathbf{x}_m""",
    assumptions=[Definition("one head, theta^(l) the four weights of self-attention, p_l = 4 d^2", by=attention_branch)],
    name="conditioning of stacked samples, reversed", relation=AtMost(), sizes={**STACKED, "L": (1, 2)}, where=small_stacks,
    of_project=True, corrects="skipless.sec4.3-row-stacking", uses=("skipless.eq-5-null-directions",),
    note=r"""For $mnd \le 4d^2$ the rows of a sample are rows of a matrix with no more rows than columns: its last
        singular value is at most theirs, its first at least. For $mnd > 4d^2$ $\kappa(J_\ell)$ is infinite by the null
        directions. The first part holds for any matrices on top of each other with together at most as many rows as
        columns.""")  # fmt: skip


@REVERSE.formula
def flatness_of_worst_sample(X: Batch, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """The smallest 1 / kappa of a sample's Jacobian in theta^(l), for l = 1, ..., L, shape (L, 1)."""
    return column(*[least(*[flatness(J) for J in _samples(X, W, U, block)]) for block in range(0, 2 * W.shape[0], 2)])


@REVERSE.oracle
def flatness_of_stacks(X: Batch, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """1 / kappa(J_l) for l = 1, ..., L, shape (L, 1)."""
    return column(*[flatness(concatenate(_samples(X, W, U, block), axis=0)) for block in range(0, 2 * W.shape[0], 2)])


REVERSE.mutant("half of 1/kappa", lambda value: value / 2)
REVERSE.mutant("the first layer for every layer", "_samples(X, W, U, block) -> _samples(X, W, U, 0)")
REVERSE.mutant("condition number of J J^T", lambda value: value * value)
