"""Algorithm 1, sampling from the Stiefel manifold, and footnote 5, truncation of square samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from theorems.osa import OSA
from theorems.osa.settings import UNTRAINED
from verify.oracles import SMALLEST_P, LawTest, kolmogorov_smirnov, moment_test, proportion_test, same_law
from verify.vocabulary import (
    Assumption, Claim, Definition, FollowsLaw, InputError, Setting, Size, require_sampling, subject,
)  # fmt: skip


def _factors(n: int, m: int, generator: Any, samples: int, dtype: Any = None, uniform: bool = False) -> tuple[Any, Any]:
    """Reduced QR of samples of Z, shapes (samples, n, m) and (samples, m, m); mutants draw Z uniform on [0, 1)."""
    import torch

    device = generator.device if generator is not None else "cpu"
    draw = torch.rand if uniform else torch.randn
    Z = draw(samples, n, m, generator=generator, dtype=dtype or torch.float64, device=device)
    Q, R = torch.linalg.qr(Z)
    return Q, R


TALL = Assumption("n >= m", sizes=lambda sizes: sizes["n"] >= sizes["m"])
ALGORITHM_1 = Claim(Setting(OSA, scales=[UNTRAINED.at(n=64, m=32)]), "osa.alg-1", label="Algorithm 1",
    statement=r"""\text{Sampling from } \mathcal{U}_{n\times m}:\ \text{Sample random matrix }
        \mathbf{Z}\in\mathbb{R}^{n\times m} \text{ with entries } Z_{ij}\stackrel{\text{i.i.d.}}{\sim}\mathcal{N}(0,1);\
        \text{Compute reduced QR decomposition: } \mathbf{Z}=\mathbf{Q}\mathbf{R};\
        s_i\leftarrow\operatorname{sign}(\mathbf{R}_{ii});\
        \mathbf{Q}\leftarrow\mathbf{Q}\cdot\operatorname{diag}(s_1,\dots,s_m);\ \text{return } \mathbf{Q}""",
    assumptions=[TALL, Definition("Z i.i.d. N(0, 1)", by=_factors)],
    name="sampling the Stiefel manifold", relation=FollowsLaw(), sizes={"n": (1, 5), "m": (1, 4)},
    note=r"""$\operatorname{sign}(0)$, an event of probability 0, is taken as $+1$: with $\operatorname{sign}(0) = 0$
        the algorithm would return a zero column. Multiplying the rows $i \le m$ by the signs instead of the columns is
        no wrong variant of Householder QR: it returns what the algorithm returns for $Z$ with the rows $i \le m$ and
        the columns multiplied by the signs, which leave the signs as they are and the law of $Z$ too.""",
)  # fmt: skip
ALGORITHM_1.inputs(n=Annotated[int, Size("n")], m=Annotated[int, Size("m")])


@ALGORITHM_1.formula
@subject("osa.stiefel_uniform")
def stiefel_uniform(n: int, m: int, generator: Any = None, samples: int = 1, dtype: Any = None) -> Any:
    """Random matrices with orthonormal columns, uniformly distributed, shape (samples, n, m) (Algorithm 1).

    Parameters
    ----------
    n: number of rows.
    m: number of columns, at most n.
    generator: a torch.Generator, on whose device the matrices lie; torch's default one if None.
    samples: how many independent matrices.
    dtype: torch.float32 or torch.float64; float64 if None.

    Raises `InputError`, naming the argument, if one does not fit.  Certified by osa.alg-1.

    Example
    -------
    >>> import torch, theorems
    >>> V = theorems.layers.stiefel_uniform(5, 2, samples=10)
    >>> bool(torch.allclose(V.mT @ V, torch.eye(2, dtype=V.dtype).expand(10, 2, 2)))
    True
    """
    for argument, value, least in (("m", m, 1), ("n", n, m), ("samples", samples, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(argument, f"an integer >= {least}", repr(value))
    require_sampling(generator, dtype)
    Q, R = _factors(n, m, generator, samples, dtype)
    return Q * _signs(R)[:, None, :]


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
    from_left, from_right = _reflection(n) @ other, other @ _reflection(m)
    for name, statistic in _STATISTICS.items():
        first = statistic(half)
        tests.append(same_law(f"left invariance, {name}", first, statistic(from_left)))
        tests.append(same_law(f"right invariance, {name}", first, statistic(from_right)))
    if n == m:
        tests.append(proportion_test("determinant positive", np.linalg.det(Q) > 0, 0.5))
        traces = Q.trace(axis1=1, axis2=2)
        tests += [moment_test("trace", traces, 0.0), moment_test("squared trace", traces**2, 1.0)]
    return tests


def _weighted_sum(Q: np.ndarray) -> np.ndarray:
    """A linear functional with all coefficients different, shape (samples,)."""
    return Q.reshape(len(Q), -1) @ np.arange(1.0, Q[0].size + 1)


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


TRUNCATION = Claim(OSA, "osa.fn-5", label="Footnote 5", name="truncating square orthogonal samples",
    statement=r"""\text{to sample from } \mathcal{U}_{n\times m}, \text{ we can equivalently sample from }
        \mathcal{U}_{n\times n} \text{ first and then truncate the matrix}""",
    assumptions=[TALL],
    relation=FollowsLaw(), sizes={"n": (1, 5), "m": (1, 4)},
    uses=("osa.alg-1",),
)  # fmt: skip
TRUNCATION.inputs(n=Annotated[int, Size("n")], m=Annotated[int, Size("m")])


@TRUNCATION.formula
def truncated_uniform(n: int, m: int, generator: Any = None, samples: int = 1) -> Any:
    """The first m columns of `samples` uniform orthogonal matrices, shape (samples, n, m) (Footnote 5)."""
    return stiefel_uniform(n, n, generator, samples)[..., :m]


TRUNCATION.part("laws")(uniform_on_stiefel)


def _normal(n: int, generator: Any, samples: int) -> Any:
    import torch

    return torch.randn(samples, n, n, generator=generator, dtype=torch.float64, device=generator.device)


@TRUNCATION.mutant("QR without sign correction, truncated")
def _(n: int, m: int, generator: Any, samples: int) -> Any:
    import torch

    return torch.linalg.qr(_normal(n, generator, samples)).Q[..., :m]


@TRUNCATION.mutant("rotations only: the first column turned to make the determinant 1")
def _(n: int, m: int, generator: Any, samples: int) -> Any:
    Q = stiefel_uniform(n, n, generator, samples)
    Q[..., 0] *= Q.det()[:, None]
    return Q[..., :m]


@TRUNCATION.mutant("columns normalised, not orthogonalised")
def _(n: int, m: int, generator: Any, samples: int) -> Any:
    Z = _normal(n, generator, samples)[..., :m]
    return Z / Z.norm(dim=1, keepdim=True)
