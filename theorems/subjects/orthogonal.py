"""What the gate knows about the definitions of orthogonal self-attention, as `papers` does of the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from theorems.osa import definitions as osa
from theorems.osa.settings import newton_schulz_attention_matrix
from theorems.osa.shapes import Epsilon
from theorems.subjects.papers import TOKENS_ARE_ROWS
from verify.checks.settings import Settings
from verify.gate.profiles import Profile
from verify.matrix import exp, eye, rational, sqrt
from verify.oracles import SMALLEST_P, LawTest, same_law
from verify.vocabulary import Shape, Size

SKEW = Profile("osa.skew_matrix", layout=TOKENS_ARE_ROWS, where=osa.whole_heads)
SKEW.variant(
    "the scale 1/sqrt(d_v) is missing",
    lambda X, W_Q, W_K, alpha: osa.skew_matrix(X, W_Q, W_K, alpha) * sqrt(W_Q.shape[1]),
)


@SKEW.variant("Q K^T + K Q^T: symmetric instead of skew")
def _(X: Any, W_Q: Any, W_K: Any, alpha: Any) -> Any:
    Q, K = X @ W_Q * (alpha / sqrt(W_Q.shape[1])), X @ W_K
    return Q @ K.T + K @ Q.T


SKEW.variant(
    "the second product is missing: Q K^T alone is not skew",
    lambda X, W_Q, W_K, alpha: X @ W_Q * (alpha / sqrt(W_Q.shape[1])) @ (X @ W_K).T,
)

OSA = Profile("osa.attention", layout=TOKENS_ARE_ROWS, where=osa.whole_heads)
OSA.variant(
    "the scale 1/sqrt(d_v) is missing",
    lambda X, W_Q, W_K, W_V, W_O, alpha: osa.attention(X, W_Q, W_K, W_V, W_O, alpha * sqrt(W_Q.shape[1])),
)


@OSA.variant("the exponential acts on Q K^T, which is not skew")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    S = X @ W_Q * (alpha / sqrt(W_Q.shape[1])) @ (X @ W_K).T
    return osa.matrix_exponential(S) @ X @ W_V @ W_O


OSA.variant(
    "the output projection is missing, where it is square",
    lambda X, W_Q, W_K, W_V, W_O, alpha: osa.attention_matrix(X, W_Q, W_K, alpha) @ X @ W_V,
)

EXPONENTIAL = Profile("osa.matrix_exponential", layout="square matrices, skew or not")


def _small(exponent: int) -> Callable[..., None]:
    def edit(arrays: dict[str, Any], sizes: Any, rng: Any) -> None:
        arrays["S"] *= 2.0**exponent

    return edit


# libraries choose the length of their series by the norm, so each choice has to be met
for exponent in range(-10, -2):
    EXPONENTIAL.domain(f"entries about 2^{exponent}", _small(exponent))

EXPONENTIAL.variant("the exponential is taken entry by entry", lambda S: exp(S))
EXPONENTIAL.variant("the series is cut after its linear term", lambda S: S + eye(S.shape[0]))

ITERATE = Profile("osa.newton_schulz_iterate", layout="columns of M are orthogonalised")
BASIS = Profile(
    "osa.newton_schulz_basis",
    layout="columns of M are orthogonalised, M divided by ||M||_F + epsilon first",
    without_domains={"kinks": "M may vanish", "repeated singular values": "||M||_F leaves the rationals"},
)


@ITERATE.inputs
def iterate_inputs(M: Annotated[Any, Shape("N", "m")], K: Annotated[int, Size("K")]) -> dict[str, Any]:
    return {"M": M * rational(1, 8), "steps": K}


@BASIS.inputs
def basis_inputs(M: Annotated[Any, Shape("N", "m")], K: Annotated[int, Size("K")], epsilon: Epsilon) -> dict[str, Any]:
    return {"M": M, "steps": K, "epsilon": epsilon}


ITERATE.variant("one step too many", lambda M, steps: osa.newton_schulz_iterate(M, steps + 1))
ITERATE.variant("one step too few", lambda M, steps: osa.newton_schulz_iterate(M, max(steps - 1, 0)))

BASIS.variant(
    "one Newton-Schulz step too few", lambda M, steps, epsilon: osa.newton_schulz_basis(M, max(steps - 1, 0), epsilon)
)


@ITERATE.variant("the factor 1/2 of each step is missing")
def _(M: Any, steps: Any) -> Any:
    for _ in range(steps):
        M = M @ (3 * eye(M.shape[1]) - M.T @ M)
    return M


BASIS.variant("M is not normalised", lambda M, steps, epsilon: osa.newton_schulz_iterate(M, steps))
BASIS.variant("epsilon is missing", lambda M, steps, epsilon: osa.newton_schulz_basis(M, steps, epsilon * 0))

Profile("osa.qr_basis", layout="columns of M are orthogonalised", largest=33)
OSA_MATRIX = Profile(
    "osa.newton_schulz_attention_matrix", layout=TOKENS_ARE_ROWS, where=osa.whole_heads, largest=33
)  # fmt: skip


@OSA_MATRIX.variant("one Newton-Schulz step too few")
def _(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: Any) -> Any:
    return newton_schulz_attention_matrix(X, W_Q, W_K, alpha, epsilon, max(K - 1, 0))


STIEFEL = Profile("osa.stiefel_uniform", layout="samples along the first axis, orthonormal columns of shape (n, m)")

#: Sizes (n, m) by effort, beyond those of the paper's claims, and numbers of samples.
LAW_SIZES = {"quick": ((6, 2), (9, 9), (24, 8)), "ci": ((6, 2), (9, 9), (24, 8), (64, 32)),
             "deep": ((6, 2), (9, 9), (24, 8), (64, 32), (129, 16))}  # fmt: skip
LAW_SAMPLES = {"quick": 2_000, "ci": 4_000, "deep": 20_000}


@STIEFEL.laws
def _(sampler: Any, definition: Any, settings: Settings) -> list[LawTest]:
    """Two-sample Kolmogorov-Smirnov tests beside Algorithm 1.

    Their p-values 2 exp(-N D^2) hold for every law and two samples of N >= 458 (Wei and Dudley, 2012).
    """
    import torch

    count, found = LAW_SAMPLES[settings.effort.name], []
    for n, m in LAW_SIZES[settings.effort.name]:
        own, other = (torch.Generator(settings.device).manual_seed(2 * settings.seed + i) for i in (0, 1))
        yours, truth = (
            law(n, m, generator, count, None).cpu() for law, generator in ((sampler, own), (definition, other))
        )
        defect = float((yours.mT @ yours - torch.eye(m, dtype=yours.dtype)).abs().max())
        distinct = len(yours.flatten(1).unique(dim=0))
        tests = [
            LawTest("columns orthonormal", 1.0 if defect < 1e-12 * n else SMALLEST_P, count),
            LawTest("samples differ", 1.0 if distinct == count else SMALLEST_P, count),
        ]
        tests += [same_law(name, of(yours), of(truth)) for name, of in _statistics(n, m).items()]
        found += [replace(test, name=f"{n} x {m}: {test.name}") for test in tests]
    return found


def _statistics(n: int, m: int) -> dict[str, Callable[[Any], Any]]:
    """Scalar functions of samples (samples, n, m): entries, squared norms of rows, fourth powers, and sums with signs."""
    import torch

    signs = torch.tensor([[(-1.0) ** (i * j // 2) for j in range(m)] for i in range(n)], dtype=torch.float64)
    found: dict[str, Callable[[Any], Any]] = {
        "first entry": lambda Q: Q[:, 0, 0],
        "last entry": lambda Q: Q[:, -1, -1],
        "sum with signs": lambda Q: (Q * signs).sum((1, 2)),
        "product of diagonal entries": lambda Q: Q[:, 0, 0] * Q[:, m - 1, m - 1],
        "fourth powers": lambda Q: (Q**4).sum((1, 2)),
    }

    def of_column(j: int) -> Callable[[Any], Any]:
        return lambda Q: (Q[:, :, j] ** 4).sum(1)

    def of_row(i: int) -> Callable[[Any], Any]:
        return lambda Q: Q[:, i].square().sum(1)

    found |= {f"fourth powers of column {j + 1}": of_column(j) for j in (0, m - 1)}
    found |= {f"length of row {i + 1}": of_row(i) for i in range(n if m < n else 0)}
    if n == m:
        found["determinant"] = lambda Q: torch.linalg.det(Q).sign()
        found["trace"] = lambda Q: Q.diagonal(dim1=1, dim2=2).sum(1)
    return found
