"""Norms, singular values and eigenvalues: floats through LAPACK, balls through rigorous enclosures.

Ball eigenvalues of a symmetric B: an approximate eigenvector matrix V is computed in float64, turned where eigenvalues
are too near for floats, and refined to the precision asked for.  Then C = V^-1 B V is formed in balls.  C is similar to B, so
Gershgorin's discs of C, merged where they overlap, enclose the spectrum of B whatever the quality of V.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import flint
import numpy as np

from verify.arithmetics import Constant, Kind, exact_scalar, has_jets, is_tensor, kind_of, midpoint, primitive, sqrt
from verify.matrix.layout import require_matrix, require_square
from verify.matrix.products import concatenate
from verify.vocabulary.errors import ArithmeticUnsupported, InputError


def frobenius_norm(A: Any) -> Any:
    """sqrt(sum of squared entries), a scalar; any shape."""
    if isinstance(A, Constant):
        A = A.array
    return sqrt((A * A).sum())


def _balls_only(name: str, A: Any) -> np.ndarray:
    if isinstance(A, Constant):
        A = A.array
    if has_jets(A):
        raise ArithmeticUnsupported(f"{name} is not differentiable by jets; differentiate the matrix instead")
    kind = kind_of(A)
    if kind in (Kind.SYMBOLIC, Kind.POLYNOMIAL):
        raise ArithmeticUnsupported(f"{name} of symbolic matrices is not supported; use balls or floats")
    return np.array([_ball(entry) for entry in A.flat], dtype=object).reshape(A.shape)


def _where_finite(values_of: Callable[[Any], Any], A: Any) -> Any:
    """Values of a matrix, NaN where it is not finite: LAPACK raises for the whole batch where one matrix is not."""
    import torch

    finite = A.isfinite().all(-1).all(-1)
    A = torch.where(finite, A, torch.zeros_like(A))
    # LAPACK scales by itself; solvers of accelerators stop at errors of one size, whatever the matrix
    values = values_of(A) if A.device.type == "cpu" else _of_unit_size(values_of, A)
    return torch.where(finite, values, torch.full_like(values, torch.nan))


def _of_unit_size(values_of: Callable[[Any], Any], A: Any) -> Any:
    """Values that scale with a finite matrix (n, m), from one whose largest entry is between 1/2 and 1, by a power of two."""
    import torch

    largest = A.detach().abs().amax((-2, -1), keepdim=True) if A.numel() else A.new_zeros(1, 1)
    exponent = torch.frexp(largest).exponent
    halves = (exponent // 2, exponent - exponent // 2)  # the power itself may be no number where its halves are
    one = torch.ones_like(largest)  # torch.ldexp has no derivative in what it scales by a negative power
    down, further = (torch.ldexp(one, -half) for half in halves)
    up, back = (torch.ldexp(one, half)[..., 0] for half in halves)
    return values_of(A * down * further) * up * back


def _ball(entry: Any) -> flint.arb:
    return entry if isinstance(entry, flint.arb) else flint.arb(exact_scalar(entry))


@primitive
def symmetric_eigenvalues(B: Any) -> Any:
    """Eigenvalues of a symmetric matrix (n, n) in ascending order, shape (n,); rationals and balls give enclosures."""
    require_square("B", B)
    if is_tensor(B):
        import torch

        return _where_finite(torch.linalg.eigvalsh, B)
    B = _balls_only("symmetric_eigenvalues", B)
    n = B.shape[0]
    if n == 0:
        return B.reshape(0)
    for i, j in np.ndindex(n, n):
        if not B[i, j].overlaps(B[j, i]):
            raise InputError("B", "a symmetric matrix", f"entries {B[i, j]} and {B[j, i]} across the diagonal")
    if n == 1:  # its only entry, as the products below would give it with wider bounds
        return B.reshape(1)
    balls = flint.arb_mat(B.tolist())
    C = _nearly_diagonal(balls)
    if C is None:
        V = _eigenvectors_in_full(B)
        C = V.inv() * balls * V
    discs = []
    for i in range(n):
        spread = sum((abs(C[i, j]) for j in range(n) if j != i), flint.arb(0))
        discs.append((C[i, i] - spread).union(C[i, i] + spread))
    return np.array(_merged(discs), dtype=object)


#: Refinements of eigenvectors at most; each doubles the digits that are right.
REFINEMENTS = 10
#: How often eigenvectors are turned within spaces of eigenvalues that floats cannot tell apart; each time separates 50 bits more.
TURNS = 4
#: How many roundings of the largest entry may be left off the diagonal.
LEFT_OVER = 2**12


def _nearly_diagonal(B: flint.arb_mat) -> flint.arb_mat | None:
    """V^-1 B V for eigenvectors V of B (n, n) from float64; None where they do not come out, as of some spectra of many sizes.

    B itself where an entry has no value, and so no disc either.
    """
    n = B.nrows()
    midpoint = B.mid()
    if not all(entry.is_finite() for entry in midpoint.entries()):
        return B
    scale = max((abs(entry) for entry in midpoint.entries()), key=float)
    if scale.is_zero():
        return B
    S = midpoint * (1 / scale)
    S = ((S + S.transpose()) / 2).mid()
    floats = np.array([float(entry) for entry in S.entries()]).reshape(n, n)
    if float(scale) == 0.0 or not np.isfinite(floats).all():  # too small or too far apart for floats
        return None
    V = flint.arb_mat(np.linalg.eigh(floats)[1].tolist())
    for _ in range(TURNS):
        for _ in range(REFINEMENTS):
            V, step = _refined(S, V)
            if not float(step) < 0.1 or bool(step < flint.arb(2) ** -(flint.ctx.prec // 2 + 4)):
                break  # it does not converge, or has: the error that is left is the square of the step
        try:
            C = V.inv() * B * V
        except ZeroDivisionError:
            return None
        off = [C[i, j] for i in range(n) for j in range(n) if i != j]
        allowed = scale * LEFT_OVER * flint.arb(2) ** -flint.ctx.prec + LEFT_OVER * max(
            (entry.rad() for entry in off), key=float, default=flint.arb(0)
        )
        if all(entry.is_finite() and bool(abs(entry.mid()) < allowed) for entry in off):
            return C
        turned = _turned(S, V)
        if turned is None:
            return None
        V = turned
    return None


def _turned(S: flint.arb_mat, V: flint.arb_mat) -> flint.arb_mat | None:
    """Refined eigenvectors V of S (n, n), turned within each space of eigenvalues too near for them; None where there is none.

    There V^T S V is a multiple of the identity and a small matrix, whose eigenvectors floats find after scaling.
    """
    n = S.nrows()
    T = (V.transpose() * S * V).mid()
    off = max((abs(T[i, j]) for i in range(n) for j in range(n) if i != j), key=float, default=flint.arb(0))
    order = sorted(range(n), key=lambda i: float(T[i, i]))
    spaces = [[order[0]]]
    for before, i in itertools.pairwise(order):
        near = bool(abs(T[i, i] - T[before, before]) <= 2 * n * off)
        spaces[-1].append(i) if near else spaces.append([i])
    turn, found = flint.arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)]), False
    for space in spaces:
        small = [[T[i, j] - (T[space[0], space[0]] if i == j else 0) for j in space] for i in space]
        largest = max((abs(entry) for row in small for entry in row), key=float)
        if float(largest) == 0.0:
            continue
        scaled = np.array([[float(entry / largest) for entry in row] for row in small])
        if not np.isfinite(scaled).all():
            return None
        found = True
        vectors = np.linalg.eigh((scaled + scaled.T) / 2)[1]
        for (row, i), (column, j) in itertools.product(enumerate(space), repeat=2):
            turn[i, j] = flint.arb(float(vectors[row, column]))
    return (V * turn).mid() if found else None


def _refined(S: flint.arb_mat, V: flint.arb_mat) -> tuple[flint.arb_mat, flint.arb]:
    """Approximate eigenvectors V of a symmetric S (n, n) with twice as many right digits, and the relative step to them.

    After Ogita and Aishima (2018).
    """
    n = S.nrows()
    across = range(0, n * n, n + 1)  # the places of the diagonal among the entries
    R = (flint.arb_mat(n, n, 1) - V.transpose() * V).mid().entries()
    T = (V.transpose() * S * V).mid().entries()
    values = [(T[k] / (1 - R[k])).mid() for k in across]
    off = max((abs(T[k]) for k in range(n * n) if k % (n + 1)), key=float, default=flint.arb(0))
    apart = 2 * n * (off + max(map(abs, R), key=float))
    step = []
    for (i, value), (j, other) in itertools.product(enumerate(values), repeat=2):
        gap, k = other - value, i * n + j
        near = i == j or bool(abs(gap) <= apart)  # any basis of the space of equal eigenvalues will do
        step.append((R[k] / 2 if near else (T[k] + other * R[k]) / gap).mid())
    return (V + V * flint.arb_mat(n, n, step)).mid(), max(map(abs, step), key=float)


def _eigenvectors_in_full(B: np.ndarray) -> flint.arb_mat:
    """Approximate eigenvectors of B (n, n) in floating point of the precision of the balls.

    They separate eigenvalues that are closer than floats can tell, whatever the entries are.
    """
    import mpmath

    n = B.shape[0]
    middle = flint.arb_mat(B.tolist()).mid()
    with mpmath.workprec(flint.ctx.prec + 16):
        S = mpmath.matrix(n, n)
        for i, j in np.ndindex(n, n):
            S[i, j] = mpmath.ldexp(*map(int, ((middle[i, j] + middle[j, i]) / 2).mid().man_exp()))
        _, vectors = mpmath.eigsy(S)
    return flint.arb_mat([[flint.arb(vectors[i, j]).mid() for j in range(n)] for i in range(n)])


def _merged(discs: list[flint.arb]) -> list[flint.arb]:
    """Ascending enclosures: every disc replaced by the hull of its connected component."""
    discs = sorted(discs, key=functools.cmp_to_key(_by_midpoint))
    components: list[list[flint.arb]] = []
    for disc in discs:
        component = [disc]
        # a wide disc may reach back over several components
        while components and any(disc.overlaps(other) for other in components[-1]):
            component = components.pop() + component
        components.append(component)
    result = []
    for component in components:
        hull = component[0]
        for disc in component[1:]:
            hull = hull.union(disc)
        result.extend([hull] * len(component))
    return result


def _by_midpoint(one: flint.arb, other: flint.arb) -> int:
    """The order of two midpoints, which may differ by less than floats can tell."""
    difference = one.mid() - other.mid()
    return int(bool(difference > 0)) - int(bool(difference < 0))


@primitive
def singular_values(A: Any) -> Any:
    """The min(m, n) singular values of A (m, n) in descending order; rationals and balls give enclosures."""
    require_matrix("A", A)
    if is_tensor(A):
        import torch

        # CUDA's own choice, by Jacobi's method, errs by ten and more roundings of 1 x 3 matrices
        driver = "gesvd" if A.is_cuda else None
        return _where_finite(functools.partial(torch.linalg.svdvals, driver=driver), A)
    A = _balls_only("singular_values", A)
    gram = A @ A.T if A.shape[0] <= A.shape[1] else A.T @ A
    eigenvalues = symmetric_eigenvalues(gram)
    return np.array([_root_of_nonnegative(value) for value in eigenvalues[::-1]], dtype=object)


def _root_of_nonnegative(value: flint.arb) -> flint.arb:
    """sqrt of an enclosure of a number known to be nonnegative."""
    clipped = value.nonnegative_part()
    return clipped.upper().sqrt().union(clipped.lower().nonnegative_part().sqrt())


@primitive
def spectral_norm(A: Any) -> Any:
    """The largest singular value of A (m, n), a scalar; 0 for an empty matrix."""
    values = singular_values(A)
    if len(values) == 0:
        return A.new_zeros(()) if is_tensor(A) else flint.arb(0)
    return values[0]


def smallest_singular_value(A: Any) -> Any:
    """The last of the min(m, n) singular values of A (m, n), a scalar."""
    return singular_values(A)[-1]


@primitive
def smallest_gain(A: Any) -> Any:
    """min |A x| over unit vectors x, a scalar: the last singular value of A (m, n) for m >= n, and 0 for m < n."""
    values = singular_values(A)
    return values[-1] if A.shape[0] >= A.shape[1] else 0 * values[0]


def condition_number(A: Any) -> Any:
    """sigma_max / sigma_min over all min(m, n) singular values of A (m, n), a scalar; infinite if A is rank deficient."""
    values = singular_values(A)
    return values[0] / values[-1]


def effective_condition_number(A: Any, rank: int) -> Any:
    """sigma_max over the smallest of the `rank` nonzero singular values of A (m, n) (OSA paper, footnote 3)."""
    values = singular_values(A)
    if not 1 <= rank <= len(values):
        raise InputError("rank", f"between 1 and {len(values)}", str(rank))
    return values[0] / values[rank - 1]


def _lapack_eigenvalues(A: Any) -> Any:
    """The eigenvalues of a tensor (n, n), complex, shape (n,); NaN where A is not finite."""
    import torch

    # LAPACK's iteration for real matrices fails to converge on one anti-symmetric matrix of order 3 in ten thousand and is
    # wrong in the first digits on others (MKL's, where OpenBLAS is right); the one for complex matrices was right on all of
    # 1.2 million of orders 2 to 8.
    return _where_finite(lambda A: torch.linalg.eigvals(A + 0j), A)


def _enclosed_eigenvalues(A: Any) -> list[flint.acb]:
    """The eigenvalues of a ball matrix (n, n), multiple ones included."""
    try:
        found = flint.acb_mat([[flint.acb(entry) for entry in row] for row in A]).eig(multiple=True)
    except ValueError as problem:
        raise ArithmeticUnsupported(f"the eigenvalues could not be enclosed: {problem}") from None
    # The float route computes those of A + E, by a backward stable kernel with an error of up to 8 n roundings of |A|: to 3,
    # 17, 23 and 26 roundings for orders 2, 3, 4 and 6 and normal A.  Balls can be sharper, exact for diagonal A even, so
    # this is added.
    size = sum((flint.arb(entry) * flint.arb(entry) for entry in A.flat), flint.arb(0)).sqrt().abs_upper()
    spread = flint.arb(0, size * 8 * A.shape[0] * flint.arb(2) ** -flint.ctx.prec)
    return [value + flint.acb(spread, spread) for value in found]


@primitive
def spectral_radius(A: Any) -> Any:
    """The largest absolute value of the eigenvalues of A (n, n), a scalar; balls enclose it."""
    if is_tensor(A):
        return _lapack_eigenvalues(A).abs().max()
    largest = flint.arb(0)
    for value in _enclosed_eigenvalues(A):
        largest = largest.max(abs(value))
    return largest


def eigenvalues(A: Any) -> Any:
    """Real and imaginary parts of the eigenvalues of A (n, n), imaginary parts ascending, shape (n, 2); balls enclose them."""
    if is_tensor(A):
        import torch

        values = _lapack_eigenvalues(A)
        order = values.imag.argsort()
        return torch.stack([values.real[order], values.imag[order]], dim=1)
    enclosed = sorted(_enclosed_eigenvalues(A), key=lambda value: midpoint(value.imag))
    return np.array([[value.real, value.imag] for value in enclosed], dtype=object).reshape(len(enclosed), 2)


@primitive
def inverse(A: Any) -> Any:
    """A^-1 for a nonsingular A (n, n)."""
    require_square("A", A)
    if is_tensor(A):
        import torch

        return torch.linalg.inv(A)
    if isinstance(A, Constant):
        A = A.array
    if has_jets(A):
        raise ArithmeticUnsupported("inverse of jet matrices is not supported")
    n = A.shape[0]
    kind = kind_of(A)
    if kind is Kind.BALL:
        rows = flint.arb_mat([[_ball(entry) for entry in row] for row in A]).inv().tolist()
    elif kind is Kind.EXACT:
        solved = flint.fmpq_mat([[exact_scalar(entry) for entry in row] for row in A]).inv()
        rows = [[solved[i, j] for j in range(n)] for i in range(n)]
    elif kind is Kind.POLYNOMIAL:
        rows = _by_cofactors(A)
    else:
        import sympy

        rows = sympy.Matrix(A).inv().tolist()
    return np.array(rows, dtype=object).reshape(n, n)


def _by_cofactors(A: np.ndarray) -> list[list[Any]]:
    """The inverse (n, n) as cofactors over the determinant, which becomes one denominator of all entries."""
    n = A.shape[0]
    minors = [[determinant(np.delete(np.delete(A, j, 0), i, 1)) for j in range(n)] for i in range(n)]
    reciprocal = 1 / sum(A[0, j] * minors[j][0] * (-1) ** j for j in range(n))
    return [[reciprocal * minors[i][j] * (-1) ** (i + j) for j in range(n)] for i in range(n)]


@primitive
def determinant(A: Any) -> Any:
    """The determinant of A (n, n), a scalar: expanded along the first row up to n = 5, without division; by elimination beyond."""
    require_square("A", A)
    if A.shape[0] > 5:
        if is_tensor(A):
            import torch

            return torch.linalg.det(A)
        return flint.arb_mat(_balls_only("determinant", A).tolist()).det()
    if A.shape[0] <= 1:
        return A[0, 0] if A.shape[0] else 1
    determinants = [determinant(concatenate([A[1:, :j], A[1:, j + 1 :]], axis=1)) for j in range(A.shape[0])]
    return sum(A[0, j] * minor * (-1) ** j for j, minor in enumerate(determinants))
