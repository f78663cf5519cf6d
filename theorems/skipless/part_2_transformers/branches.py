"""Sections 1-3 and 6: what a skip adds to the state, what is left without it, and which state is the output of a block."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import (
    BRANCHES, AttentionWeights, FeedForwardWeights, Tokens, activation, attention_branch, column, feed_forward_branch,
    network, on_top, parameters, states, states_of_blocks,
)  # fmt: skip
from theorems.skipless.sampling import at_least_half, normal, truncated_normal
from verify.matrix import concatenate, vec_c, visited
from verify.oracles import LawTest
from verify.vocabulary import Claim, Definition, Equal, FollowsLaw, Reading, Setting

if TYPE_CHECKING:
    import torch

BLOCKS = Setting(SKIPLESS, "Section 2",
    assumptions=[
        Definition("X-hat_0 = X_0 is the token embedding, X_l and X-hat_l are those of Eqs. (1)-(2)", by=states),
        Definition("SA and MLP as in Section 2, one head, no biases; the activation is not printed", by=BRANCHES),
    ],
    sizes={"L": (1, 3), "n": (1, 3), "d": (1, 2), "d_f": (1, 2)}, exact=True)  # fmt: skip


def _stacked(found: list[Any]) -> Any:
    return concatenate([vec_c(state) for state in found], axis=0)


# -- the output of a block ---------------------------------------------------------------------------------------------

OUTPUT = Claim(BLOCKS, "skipless.sec-2-output", label="Section 2, text before Eq. (1)",
    statement=r"\text{We denote by }\mathbf{X}_\ell\text{ the output embedding after the }\ell\text{-th transformer block}",
    name="output of a block", relation=Equal(), expects="refuted", severity="slip", correction="skipless.sec-2-output-corrected",
    consequence=r"""Read $\mathbf{X}_\ell$ as the state between the two halves of block $\ell$; the output of the block is
        $\hat{\mathbf{X}}_\ell$ (skipless.sec-2-output-corrected).""",
    note=r"""By the sentences before it a block is a SAB followed by an FFN, and Eqs. (1) and (2) call their outputs
        $\mathbf{X}_\ell$ and $\hat{\mathbf{X}}_\ell$. The hat makes the difference in Eqs. (7) to (9).""")  # fmt: skip


@OUTPUT.formula
def states_between(X: Tokens, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """X_1, ..., X_L on top of each other, shape (L n d, 1)."""
    return _stacked(states(X, parameters(W, U))[1::2])


@OUTPUT.oracle
def block_outputs(X: Tokens, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """The output of one block after the other, each a SAB followed by an FFN, shape (L n d, 1)."""
    return on_top(visited(W.shape[0], lambda k, X: network(X, [column(W[k]), column(U[k])]), X))


OUTPUT.counterexample("one token 1 of dimension 1, all weights 1: X_1 = 2, the block adds MLP(2)", X=[[1]], W=[[[[1]]] * 4],
    U=[[[[1]], [[1]]]])  # fmt: skip
OUTPUT.mutant("input of the block", lambda X, W, U: _stacked(states(X, parameters(W, U))[:-1:2]))
OUTPUT.mutant("without skips", lambda X, W, U: _stacked(states(X, parameters(W, U), 0)[1::2]))

OUTPUT_CORRECTED = OUTPUT.corrected("skipless.sec-2-output-corrected",
    label="Section 2, text before Eq. (1), corrected",
    statement=r"""\text{the output embedding after the }\ell\text{-th transformer block is }\hat{\mathbf{X}}_\ell=
        \mathbf{X}_\ell+\mathrm{MLP}(\mathbf{X}_\ell)""", name="output of a block, corrected", all_sizes=True)  # fmt: skip


@OUTPUT_CORRECTED.formula
def states_after(X: Tokens, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """X_l + MLP(X_l) for l = 1, ..., L, on top of each other, shape (L n d, 1)."""

    def block(k: int, before: Any) -> Any:
        x = before + attention_branch(before, column(W[k]))
        return x + feed_forward_branch(x, column(U[k]))

    return on_top(visited(W.shape[0], block, X))


OUTPUT_CORRECTED.mutant("X_l, as printed", states_between)
OUTPUT_CORRECTED.mutant(
    "MLP subtracted", "x + feed_forward_branch(x, column(U[k])) -> x - feed_forward_branch(x, column(U[k]))"
)

# -- with skips, and without -------------------------------------------------------------------------------------------

SUM = Claim(BLOCKS, "skipless.sec-1-reintroduced", label="Sections 1 and 6.2.1, what a skip carries",
    statement=r"""\text{skip connections disrupt this hierarchy by continually reintroducing information from earlier layers
        into later ones}\ \dots\ \text{The skip-based models can implicitly mix representations across layers}""",
    name="states as sums of branches", relation=Equal(), all_sizes=True, expects="reading",
    reading=Reading(
        ("reintroducing information from earlier layers into later ones", "implicitly mix representations across layers"),
        r"""every state is the embedding and the outputs of all earlier branches added up, each with weight 1:
            $\hat{\mathbf{X}}_\ell=\mathbf{X}_0+\sum_{k\le\ell}(\mathrm{SA}(\hat{\mathbf{X}}_{k-1})+\mathrm{MLP}(\mathbf{X}_k))$,
            and $\mathbf{X}_\ell$ the same without its last term"""),
    note="What this does to the abstraction of features needs the authors' trained models.")  # fmt: skip


def _sums(X: Any, W: Any, U: Any, first: int = 1, alternate: int = 1) -> Any:
    def block(k: int, before: Any, total: Any, half: Any) -> tuple[Any, Any, Any]:
        attended = attention_branch(before, column(W[k]))
        fed = feed_forward_branch(before + attended, column(U[k]))
        half = total + attended
        return before + attended + fed, half + fed * alternate, half

    _, after, between = visited(W.shape[0], block, X, X * first, X * 0)
    return on_top(between, after)


@SUM.formula
def sums_of_branches(X: Tokens, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """X_0 and the branches up to each state added up, for X_1, ..., X_L, then X-hat_1, ..., X-hat_L, shape (2 L n d, 1)."""
    return _sums(X, W, U)


SUM.oracle(lambda X, W, U: on_top(*states_of_blocks(X, W, U)))
SUM.mutant("embedding left out", first=0)
SUM.mutant("feed-forward branches subtracted", alternate=-1)

DROP_PATH = Claim(BLOCKS, "skipless.sec-6.1-drop-path", label="Section 6.1, text on the drop path",
    statement=r"\text{we disable the drop path, which is not applicable in skipless models}",
    name="dropped branches without skips", relation=Equal(left="outputs with a branch left out"), expects="reading",
    reading=Reading("not applicable", """a drop path leaves out the branch of a sub-block and keeps its skip; where there
        is no skip,
        leaving out any one branch makes the output of the network 0, whatever the input"""),
    note="By the definitions of Section 2, which have no biases: SA and MLP take 0 to 0.")  # fmt: skip


@DROP_PATH.formula
def nothing_but_the_whole(X: Tokens, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """0 for each branch left out, and the output with all branches, shape ((2 L + 1) n d, 1)."""
    whole = network(X, parameters(W, U), 0)
    return _stacked([*[X * 0] * (2 * W.shape[0]), whole])


@DROP_PATH.oracle
def outputs_with_a_dropped_branch(X: Tokens, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """The output without skips when branch 1, 2, ..., 2 L is left out, and with all, shape ((2 L + 1) n d, 1)."""
    thetas, found = parameters(W, U), []
    for dropped in range(len(thetas) + 1):
        state = X
        for i, theta in enumerate(thetas):
            state = BRANCHES[i % 2](state, theta) * int(i != dropped)
        found.append(state)
    return _stacked(found)


DROP_PATH.mutant("the input, as with a skip", "X * 0 -> X")
DROP_PATH.mutant("the output of the whole network", "X * 0 -> whole")

# -- the kernel of the tokens ------------------------------------------------------------------------------------------

TOKENS, CHANNELS, DEPTH, DRAWS = 8, 12, 2, 100


@functools.lru_cache(maxsize=4)
def _second_shares(seed: int, attends: bool = True) -> torch.Tensor:
    """The second eigenvalue of X X^T over the first, after DEPTH blocks without skips, of DRAWS networks."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    X = normal(generator, DRAWS, TOKENS, CHANNELS)
    for _ in range(DEPTH):
        Q, K, V, O = (truncated_normal(generator, DRAWS, CHANNELS, CHANNELS) for _ in range(4))
        first, second = (truncated_normal(generator, DRAWS, 4 * CHANNELS, CHANNELS) for _ in range(2))
        if attends:
            X = torch.softmax(X @ Q @ K.transpose(1, 2) @ X.transpose(1, 2), -1) @ X
        X = activation(X @ V @ O @ first.transpose(1, 2)) @ second
        X = X / torch.linalg.matrix_norm(X, keepdim=True) * (TOKENS * CHANNELS) ** 0.5
    values = torch.linalg.svdvals(X)
    return (values[:, 1] / values[:, 0]) ** 2


COLLAPSE = Claim(SKIPLESS, "skipless.sec-3-rank-collapse", label="Section 3, text on rank collapse",
    statement=r"""\text{skipless transformers are suffering from rank collapse (Noci et al., 2022), where the kernel matrix
        converges in depth to have rank 1}""",
    assumptions=[
        Definition("truncated normal weights, tokens N(0, I)", by=(truncated_normal, normal)),
        Definition("the kernel matrix is X X^T of the tokens X of the last block", by=_second_shares),
    ],
    name="rank collapse without skips", relation=FollowsLaw(samples=DRAWS, instances=1), expects="empirical",
    observed=rf"""$n = {TOKENS}$ tokens of dimension $d = {CHANNELS}$, weights of standard deviation 0.02, hidden width
        $4d$, {DEPTH}
        blocks without skips, the tokens scaled back to their first size after each, 100 networks: in at least half of them
        the second
        eigenvalue of $XX^\top$ is below $10^{{-12}}$ of the first. With the attention matrix replaced by $I$ it is not: it
        is attention that averages the tokens. The share falls with every block: four leave less than double precision resolves""",
    note="""Quoted from another article, which was not at hand, as the observation that an earlier attempt is based on. It is about
        default weights; attention close to the identity, as the paper's initialisation gives at its sizes, does not average.
        """)  # fmt: skip


@COLLAPSE.formula
def bound_of_second_share() -> tuple[float, bool]:
    """An upper bound of the median of the second eigenvalue over the first; whether tokens attend to each other."""
    return 1e-12, True


@COLLAPSE.part("laws")
def collapsed(formula: Callable[[], tuple[float, bool]], generator: torch.Generator) -> list[LawTest]:
    bound, attends = formula()
    return [at_least_half("second eigenvalue", _second_shares(generator.initial_seed(), attends) <= bound)]


COLLAPSE.mutant("without attention", lambda: (1e-12, False))
COLLAPSE.mutant("a share of 1e-20", lambda: (1e-20, True))
