"""Theorem 2.2, Eq. (8): several skipless layers turn the kernel X X^T and preserve its spectrum."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import Annotated, Any

from theorems.shared.matrices import orthogonal_matrix
from theorems.osa import OSA
from theorems.osa.definitions import attention, attention_matrix
from theorems.osa.settings import UNTRAINED
from theorems.osa.shapes import Alpha, Tokens
from verify.matrix import concatenate, eye, hadamard, ones, rational, stepped, total, trace
from verify.vocabulary import Assumption, Claim, Definition, Equal, Setting, Shape

LayerQueries = Annotated[Any, Shape("l", "d", "d", role="query")]
LayerWeights = Annotated[Any, Shape("l", "d", "d")]


def tokens_of_rank_one(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    """The collapsed representation: all tokens are multiples of the first, so S = 0."""
    arrays["X"] = arrays["X"][:, :1] * rng.integers(-2, 3, (1, sizes["N"], 1))


def layers_in_different_planes(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    """Layer k turns coordinates k and k + 1 by a large angle, so that the order of the layers shows."""
    m = min(sizes["N"], sizes["d"])
    for name in arrays.keys() - {"alpha", "l"}:
        arrays[name] = arrays[name] * 0
    arrays["X"][:, range(m), range(m)] = [(i + 1) / 2 for i in range(m)]
    arrays["alpha"] = arrays["alpha"] * 0 + 2
    for k in range(sizes["l"]):
        arrays["W_Q"][:, k, k % m, k % m] = 4
        arrays["W_K"][:, k, (k + 1) % m, k % m] = 1
        for name in {"W_V", "W_O"} & arrays.keys():
            arrays[name][:, k, range(sizes["d"]), range(sizes["d"])] = 2


#: Several layers of a single head, each attending to its input.
LAYERS = Setting(OSA, "Section 2.2", sizes={"N": (1, 5), "d": (1, 5), "l": (1, 3)},
    special_domains={
        "tokens of rank one": tokens_of_rank_one,
        "layers in different planes": layers_in_different_planes,
    },
)  # fmt: skip

#: Scales drawn alphas so that S has generic entries of order 1.
MODERATE = rational(1, 4)


def last_tokens(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    """X_l, shape (N, d), after layers with the weights W_Q[k], ..., each attending to its input."""
    return stepped(W_Q.shape[0], lambda k, X: attention(X, W_Q[k], W_K[k], W_V[k], W_O[k], alpha), X)


def attention_matrices(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> list[Any]:
    """A_1, ..., A_l, each (N, N), of the same layers."""
    found = []
    for k in range(len(W_Q)):
        found.append(attention_matrix(X, W_Q[k], W_K[k], alpha))
        X = found[-1] @ X @ W_V[k] @ W_O[k]
    return found


def product_of(matrices: list[Any]) -> Any:
    """The product from left to right."""
    return functools.reduce(lambda left, right: left @ right, matrices)


def values_times_outputs(W_V: Any, W_O: Any) -> list[Any]:
    """W_1^V W_1^O, ..., W_l^V W_l^O, each (d, d)."""
    return [W_V[k] @ W_O[k] for k in range(len(W_V))]


def _stacked_defect(W_V: Any, W_O: Any) -> Any:
    return concatenate([W @ W.T - eye(W.shape[0]) for W in values_times_outputs(W_V, W_O)], axis=0)


ORTHOGONAL_WEIGHTS = Assumption("at initialisation W_l^V W_l^O in R^{d x d} is orthogonal", zero=_stacked_defect)


def orthogonal_layers(X: Any, W_Q: Any, W_K: Any, left: Any, right: Any, alpha: Any) -> dict[str, Any]:
    """Layers whose W^V and W^O are multiples of orthogonal matrices, and their product orthogonal."""
    W_V = [orthogonal_matrix(left[k]) * 2 for k in range(len(W_Q))]
    W_O = [orthogonal_matrix(right[k]) * rational(1, 2) for k in range(len(W_Q))]
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O, "alpha": alpha * MODERATE}


THEOREM_22 = Claim(LAYERS.extended(scales=[UNTRAINED.at(l=2)]), "osa.thm-2.2", label="Theorem 2.2, Eq. (8)",
    statement=r"""\text{Let } \mathbf{X}_l \text{ be the output after the } l\text{-th layer, then the layer-wise kernel
        matrix } \Sigma_l = \mathbf{X}_l\mathbf{X}_l^\top \text{ has the form: } \Sigma_l =
        \mathbf{A}\Sigma_0\mathbf{A}^\top, \text{ where } \mathbf{A}\in\mathrm{SO}(N) \text{ is some orthogonal matrix.
        Therefore, the rank and eigenvalues of } \Sigma_0 \text{ are preserved}""",
    assumptions=[Definition("skipless OSA-only Transformer (no MLP), h = 1", by=last_tokens), ORTHOGONAL_WEIGHTS],
    name="kernel of the tokens through skipless layers", relation=Equal(),
    sizes={"N": (1, 5), "d": (1, 5), "l": (1, 2)}, uses=("osa.so-n",), proof=("osa.eq-19", "osa.f2-orthogonality"),
    note=r"""The eigenvalues are compared through $\operatorname{tr}(\Sigma/(1 + \operatorname{tr}\Sigma))^k$, $k = 1,
        \dots, N$, which determine them with their multiplicities. $A$ is the exact $\exp(S)$, not that of
        Newton-Schulz, which is orthogonal only in the limit; and $h = 1$ excludes the initialisation of Appendix C.2,
        which needs $2 d_v \le d$.""")  # fmt: skip


@THEOREM_22.inputs
def skipless_transformer(
    X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, left: LayerWeights, right: LayerWeights, alpha: Alpha
) -> dict[str, Any]:
    return orthogonal_layers(X, W_Q, W_K, left, right, alpha)


def _power_traces(Sigma: Any) -> Any:
    """tr (Sigma / (1 + tr Sigma))^k for k = 1, ..., N, all below 1, shape (1, N)."""
    scaled, N = Sigma / (1 + trace(Sigma)), Sigma.shape[0]
    powers = list(itertools.accumulate([scaled] * ((N + 1) // 2), lambda left, right: left @ right))
    # of a product of two of these the trace needs no other entries
    further = [total(hadamard(powers[-1], power.T)) for power in powers[: N - len(powers)]]
    return concatenate([ones(1, 1) * each for each in [*map(trace, powers), *further]], axis=1)


@THEOREM_22.formula
def kernel_of_layers(X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: Any, W_O: Any, alpha: Alpha) -> Any:
    """A Sigma_0 A^T with A = A_l ... A_1, then the power traces of Sigma_0, shape (N + 1, N) (Theorem 2.2)."""
    found, Sigma = attention_matrices(X, W_Q, W_K, W_V, W_O, alpha), X @ X.T
    A = product_of(found[::-1])
    return concatenate([A @ Sigma @ A.T, _power_traces(Sigma)], axis=0)


@THEOREM_22.oracle
def kernel_of_output(X: Tokens, W_Q: LayerQueries, W_K: LayerWeights, W_V: Any, W_O: Any, alpha: Alpha) -> Any:
    X_l = last_tokens(X, W_Q, W_K, W_V, W_O, alpha)
    return concatenate([X_l @ X_l.T, _power_traces(X_l @ X_l.T)], axis=0)


THEOREM_22.mutant("A^T Sigma_0 A", "A @ Sigma @ A.T -> A.T @ Sigma @ A")
THEOREM_22.mutant("A_1 ... A_l", "found[::-1] -> found")
THEOREM_22.mutant("Sigma_0 itself", "A @ Sigma @ A.T -> Sigma")
THEOREM_22.mutant("eigenvalues of the values, X W_1^V",
    "_power_traces(Sigma) -> _power_traces(X @ W_V[0] @ (X @ W_V[0]).T)")  # fmt: skip
