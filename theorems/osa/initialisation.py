"""Initialisation: the Jacobian of the layer (Theorem C.1), its weights (Theorem C.2) and how to sample them (Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from theorems.osa import OSA
from theorems.osa.definitions import (
    SHAPES,
    Alpha,
    KeyWeights,
    OutputWeights,
    QueryWeights,
    Tokens,
    ValueWeights,
    attention,
    attention_matrix,
    orthonormal_columns,
    query_key_generator,
    whole_heads,
)
from theorems.osa.experiments import decided_at_the_experiments
from verify.matrix import COLUMN, concatenate, eye, kron, ones, rational, total
from verify.oracles import SMALLEST_P, LawTest, jacobian, kolmogorov_smirnov, moment_test, proportion_test, same_law
from verify.vocabulary import Assumption, Claim, Equal, FollowsLaw, HasStructure, InputError, Shape, Size, subject

# -- the Jacobian of the layer -----------------------------------------------------------------------------------------

THEOREM_C1 = Claim(
    OSA,
    "osa.thm-c.1",
    label="Theorem C.1, Eqs. (12)-(13), (50)",
    statement=r"\mathbf{J}(\mathbf{X})=\frac{\partial\operatorname{vec}\mathrm{OSA}(\mathbf{X})}{\partial\operatorname{vec}"
    r"\mathbf{X}}=\underbrace{(\mathbf{X}\mathbf{W}^V\mathbf{W}^O\otimes\mathbf{I}_N)^\top\frac{\partial\operatorname{vec}"
    r"\mathbf{A}(\mathbf{X})}{\partial\operatorname{vec}\mathbf{X}}}_{\mathbf{J}_1}+\underbrace{(\mathbf{W}^V\mathbf{W}^O)"
    r"^\top\otimes\mathbf{A}(\mathbf{X})}_{\mathbf{J}_2}\in\mathbb{R}^{Nd\times Nd}",
    assumptions=[SHAPES, "single head", "column-major vec"],
    relation=Equal(),
    sizes={"N": (1, 4), "d": (1, 4), "d_v": (1, 4)},
    where=whole_heads,
    proof=("osa.eq-47", "osa.kron-vec", "osa.eq-48", "osa.eq-49"),
    exact=True,
    note="The factor of Eq. (49) is misprinted; its term is multiplied by d vec(W^V W^O)/d vec X = 0.",
)


def _two_terms(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, *, first: Any = kron, second: Any = kron
) -> Any:
    """J_1 + J_2, with the two products in which mutants differ."""
    A, W = attention_matrix(X, W_Q, W_K, alpha), W_V @ W_O
    dA = jacobian(attention_matrix, "X", COLUMN)(X, W_Q, W_K, alpha)
    return first(X @ W, eye(X.shape[0])).T @ dA + second(W.T, A)


@THEOREM_C1.inputs
def layer(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha
) -> dict[str, Any]:
    # A scale that is no dyadic rational is rounded by balls too: for parallel Q and K, exact in balls otherwise, they
    # then see the cancellation in Q K^T - K Q^T that floats suffer.
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O, "alpha": alpha * rational(1, 3)}


@THEOREM_C1.formula
def attention_jacobian(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha
) -> Any:
    """J = (X W_V W_O (x) I_N)^T dvec A/dvec X + (W_V W_O)^T (x) A, shape (N d, N d), column-major (Theorem C.1)."""
    return _two_terms(X, W_Q, W_K, W_V, W_O, alpha)


THEOREM_C1.oracle(lambda X, W_Q, W_K, W_V, W_O, alpha: jacobian(attention, "X", COLUMN)(X, W_Q, W_K, W_V, W_O, alpha))
THEOREM_C1.mutant("W_V W_O not transposed in J_2", second=lambda WT, A: kron(WT.T, A))
THEOREM_C1.mutant("A transposed in J_2", second=lambda WT, A: kron(WT, A.T))
THEOREM_C1.mutant("factors of J_2 exchanged, as for row-major vec", second=lambda WT, A: kron(A, WT))
THEOREM_C1.mutant("factors of J_1 exchanged", first=lambda XW, identity: kron(identity, XW))
THEOREM_C1.mutant("J_1 dropped", first=lambda XW, identity: kron(XW, identity) * 0)


# -- the weights of queries and keys -----------------------------------------------------------------------------------

THEOREM_C2 = Claim(
    OSA,
    "osa.thm-c.2",
    label="Theorem C.2, Eq. (14)",
    statement=r"\kappa(\tilde{\mathbf{W}})=1; \text{ the non-zero singular values of } \tilde{\mathbf{W}} \text{ are } 1",
    assumptions=[
        "2 d_v <= d",
        Assumption(
            "[W^Q, W^K] in R^{d x 2 d_v} has orthonormal columns",
            zero=lambda W_Q, W_K: (
                concatenate([W_Q, W_K], axis=1).T @ concatenate([W_Q, W_K], axis=1) - eye(2 * W_Q.shape[1])
            ),
        ),
    ],
    relation=HasStructure(),
    sizes={"d": (2, 6), "d_v": (1, 3)},
    where=lambda sizes: 2 * sizes["d_v"] <= sizes["d"],
    proof=("osa.eq-53",),
    exact=True,
)
decided_at_the_experiments(THEOREM_C2)


@THEOREM_C2.inputs
def orthonormal_queries_and_keys(frame: Annotated[Any, Shape("d", "d")], d_v: Annotated[int, Size("d_v")]) -> Any:
    W = orthonormal_columns(frame, 2 * d_v)
    return {"W_Q": W[:, :d_v], "W_K": W[:, d_v:]}


@THEOREM_C2.formula
def query_key_matrix(W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    """W~ = W_Q W_K^T - W_K W_Q^T, shape (d, d) (Theorem C.2)."""
    return query_key_generator(W_Q, W_K)


@THEOREM_C2.part("structure")
def nonzero_singular_values_are_one(value: Any, W_Q: QueryWeights) -> Any:
    """W W^T W - W vanishes exactly if every nonzero singular value of W is 1; ||W||_F^2 then counts them.

    The count, 2 d_v, is what Eqs. (51)-(53) give; without it W = 0, which has no condition number, would pass.
    """
    cube = value @ value.T @ value - value
    excess = total(value * value) - 2 * W_Q.shape[1]
    return concatenate([cube, ones(1, value.shape[1]) * excess], axis=0)


THEOREM_C2.mutant("skew part with its factor 1/2", lambda W_Q, W_K: (W_Q @ W_K.T - W_K @ W_Q.T) * rational(1, 2))
THEOREM_C2.mutant("second product dropped", lambda W_Q, W_K: W_Q @ W_K.T)
THEOREM_C2.mutant("key instead of query in the first product", lambda W_Q, W_K: W_K @ W_K.T - W_K @ W_Q.T)


# -- sampling from the Stiefel manifold --------------------------------------------------------------------------------

ALGORITHM_1 = Claim(
    OSA,
    "osa.alg-1",
    label="Algorithm 1",
    statement=r"\text{QR of a Gaussian matrix with columns of } \mathbf{Q} \text{ multiplied by }"
    r" \operatorname{sign}(\mathbf{R}_{ii}) \text{ samples } \mathcal{U}_{n\times m}, \text{ the uniform distribution on }"
    r" V_m(\mathbb{R}^n)",
    assumptions=["n >= m", "Z i.i.d. N(0, 1)"],
    relation=FollowsLaw(),
    sizes={"n": (1, 5), "m": (1, 4)},
    where=lambda sizes: sizes["n"] >= sizes["m"],
    note="sign(0), an event of probability 0, is taken as +1: with sign(0) = 0 the algorithm would return a zero column."
    " Multiplying the rows i <= m by the signs instead of the columns is no wrong variant of Householder QR: it returns what the"
    " algorithm returns for Z with the rows i <= m and the columns multiplied by the signs, which leave the signs as they are"
    " and the law of Z too.",
)
decided_at_the_experiments(ALGORITHM_1, n=64, m=32)


@ALGORITHM_1.inputs
def dimensions(n: Annotated[int, Size("n")], m: Annotated[int, Size("m")]) -> Any:
    return {"n": n, "m": m}


@ALGORITHM_1.formula
@subject("osa.stiefel_uniform")
def stiefel_uniform(n: int, m: int, generator: Any = None, samples: int = 1, dtype: Any = None) -> Any:
    """`samples` independent uniform points of V_m(R^n), shape (samples, n, m), columns orthonormal (Algorithm 1).

    `generator` is a torch.Generator (torch's default one if None), on whose device the samples lie; `dtype` a torch
    dtype, float64 unless given.  Certified by osa.alg-1.
    """
    for argument, value, least in (("m", m, 1), ("n", n, m), ("samples", samples, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(argument, f"an integer >= {least}", repr(value))
    Q, R = _factors(n, m, generator, samples, dtype)
    return Q * _signs(R)[:, None, :]


def _factors(n: int, m: int, generator: Any, samples: int, dtype: Any = None, uniform: bool = False) -> tuple[Any, Any]:
    """Reduced QR of samples of Z, shapes (samples, n, m) and (samples, m, m); mutants draw Z uniform on [0, 1)."""
    import torch

    device = generator.device if generator is not None else "cpu"
    draw = torch.rand if uniform else torch.randn
    Z = draw(samples, n, m, generator=generator, dtype=dtype or torch.float64, device=device)
    Q, R = torch.linalg.qr(Z)
    return Q, R


def _signs(R: Any) -> Any:
    """The signs (+1 or -1, shape (samples, m)) of the diagonals of R (samples, m, m)."""
    diagonal = R.diagonal(dim1=-2, dim2=-1)
    return diagonal.new_ones(()).where(diagonal >= 0, -1.0)


ALGORITHM_1.mutant("no sign correction", lambda n, m, generator, samples: _factors(n, m, generator, samples)[0])


@ALGORITHM_1.mutant("sign of |R_ii|")
def _(n: int, m: int, generator: Any, samples: int) -> Any:
    Q, R = _factors(n, m, generator, samples)
    return Q * _signs(R.abs())[:, None, :]


@ALGORITHM_1.mutant("only the first column corrected")
def _(n: int, m: int, generator: Any, samples: int) -> Any:
    Q, R = _factors(n, m, generator, samples)
    signs = _signs(R)
    signs[:, 1:] = 1
    return Q * signs[:, None, :]


@ALGORITHM_1.mutant("Z uniform on [0, 1) instead of normal")
def _(n: int, m: int, generator: Any, samples: int) -> Any:
    Q, R = _factors(n, m, generator, samples, uniform=True)
    return Q * _signs(R)[:, None, :]


@ALGORITHM_1.mutant("columns normalised, not orthogonalised")
def _(n: int, m: int, generator: Any, samples: int) -> Any:
    Q, R = _factors(n, m, generator, samples)
    Z = Q @ R
    return Z / Z.norm(dim=1, keepdim=True)


@ALGORITHM_1.part("laws")
def uniform_on_stiefel(formula: Any, generator: Any, samples: int, n: int, m: int) -> list[LawTest]:
    """What characterises U_{n x m}, at the drawn sizes and at the square ones where a lost sign shows most."""
    tests = []
    for rows, columns in dict.fromkeys([(n, m), (1, 1), (2, 2)]):
        Q = formula(rows, columns, generator, samples)
        tests += [replace(test, name=f"{rows} x {columns}: {test.name}") for test in _tests(Q.cpu().numpy())]
    return tests


def _tests(Q: np.ndarray) -> list[LawTest]:
    """Tests that samples Q (samples, n, m) are uniform on the Stiefel manifold."""
    samples, n, m = Q.shape
    defect = float(np.abs(Q.transpose(0, 2, 1) @ Q - np.eye(m)).max())
    tests = [LawTest("columns orthonormal", 1.0 if defect < 1e-12 else SMALLEST_P, samples)]
    corners = {"first entry": Q[:, 0, 0], "last entry": Q[:, -1, -1]}
    if n == 1:
        return tests + [proportion_test(f"{name} positive", entry > 0, 0.5) for name, entry in corners.items()]
    tests += [kolmogorov_smirnov(name, entry, lambda q: _entry_cdf(q, n)) for name, entry in corners.items()]
    # invariance from the left characterises the uniform law; independent halves are compared, one of them reflected
    half, other = Q[: samples // 2], Q[samples // 2 :]
    left, right = _reflection(n), _reflection(m)
    for name, statistic in _STATISTICS.items():
        tests.append(same_law(f"left invariance, {name}", statistic(half), statistic(left @ other)))
        tests.append(same_law(f"right invariance, {name}", statistic(half), statistic(other @ right)))
    if n == m:
        tests.append(proportion_test("determinant positive", np.linalg.det(Q) > 0, 0.5))
        traces = Q.trace(axis1=1, axis2=2)
        tests += [moment_test("trace", traces, 0.0), moment_test("squared trace", traces**2, 1.0)]
    return tests


def _weighted_sum(Q: np.ndarray) -> np.ndarray:
    """A linear functional with all coefficients different, shape (samples,)."""
    return (Q * np.arange(1, Q[0].size + 1).reshape(Q[0].shape)).sum((1, 2))


#: Scalar functions of Q (samples, n, m) whose laws are compared before and after a rotation.
_STATISTICS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "first entry": lambda Q: Q[:, 0, 0],
    "weighted sum": _weighted_sum,
    "product of the corners": lambda Q: Q[:, 0, 0] * Q[:, -1, -1],
}


def _reflection(n: int) -> np.ndarray:
    """A fixed orthogonal matrix, shape (n, n), without zero entries: it maps the vector (1, ..., n) to its negative."""
    v = np.arange(1.0, n + 1)
    return np.eye(n) - 2 * np.outer(v, v) / (v @ v)


def _entry_cdf(q: np.ndarray, n: int) -> np.ndarray:
    """P(Q_11 <= q) for Q_11^2 ~ Beta(1/2, (n-1)/2) with symmetric sign: density proportional to (1 - q^2)^((n-3)/2), n >= 2.

    With q = sin t the density is cos^(n-2) t, integrated by the reduction formula.
    """

    def below(t: np.ndarray | float, power: int) -> np.ndarray | float:
        if power == 0:
            return t + math.pi / 2
        if power == 1:
            return np.sin(t) + 1
        return np.cos(t) ** (power - 1) * np.sin(t) / power + (power - 1) / power * below(t, power - 2)

    return np.asarray(below(np.arcsin(np.clip(q, -1, 1)), n - 2) / below(math.pi / 2, n - 2))
