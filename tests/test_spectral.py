"""Norms, singular values and eigenvalues: enclosures against known spectra, against floats and against each other."""

from __future__ import annotations

import itertools

import flint
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.arithmetics import (
    BALL,
    EXACT,
    FLOAT64,
    FLOATS,
    JETS,
    SYMBOLIC,
    assert_same,
    integer_matrices,
    over,
    quietly,
    sizes,
)
from verify.arithmetics import precision, to_balls, to_rationals
from verify.checks.units import BITS, unit_at
from verify.matrix import (
    block_diag,
    condition_number,
    effective_condition_number,
    eigenvalues,
    eye,
    frobenius_norm,
    inverse,
    kron,
    ones,
    singular_values,
    smallest_singular_value,
    spectral,
    spectral_norm,
    spectral_radius,
    symmetric_eigenvalues,
    zeros,
)
from verify.matrix.spectral import _merged, _of_unit_size
from verify.vocabulary import ArithmeticUnsupported, load

pytestmark = pytest.mark.kept

#: Integer orthogonal matrices (up to the factor in the second place): Q Q^T = c^2 I.
SCALED_ORTHOGONAL = [
    (np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), 1),
    (np.array([[0, -1, 0], [0, 0, 1], [1, 0, 0]]), 1),
    (np.array([[1, 2, 2], [2, 1, -2], [2, -2, 1]]), 3),
    (np.array([[2, 3, 6], [3, -6, 2], [6, 2, -3]]), 7),
]
spectra = st.lists(st.integers(-3, 3), min_size=3, max_size=3)
frames = st.sampled_from(SCALED_ORTHOGONAL)


def assert_encloses(balls: np.ndarray, exact: list[int], radius: float = 1e-35) -> None:
    assert len(balls) == len(exact)
    for ball, number in zip(balls, exact, strict=True):
        assert flint.arb(ball).contains(number), f"{ball} misses {number}"
        assert float(flint.arb(ball).rad()) < radius


# -- eigenvalues -------------------------------------------------------------------------------------------------------


@over(EXACT, BALL)
@quietly
@given(frame=frames, spectrum=spectra)
def test_eigenvalues_of_matrices_with_a_known_spectrum(arithmetic, frame, spectrum):
    Q, c = frame
    B = Q @ np.diag(spectrum) @ Q.T  # repeated and zero eigenvalues included
    assert_encloses(symmetric_eigenvalues(arithmetic.lift(B)), sorted(c * c * x for x in spectrum))


@over(*FLOATS)
@quietly
@given(frame=frames, spectrum=spectra)
def test_float_eigenvalues_of_matrices_with_a_known_spectrum(arithmetic, frame, spectrum):
    Q, c = frame
    values = symmetric_eigenvalues(arithmetic.lift(Q @ np.diag(spectrum) @ Q.T))
    assert_same(values, arithmetic.lift(np.array(sorted(c * c * x for x in spectrum))), arithmetic)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_identity_ones_and_zero(n):
    assert_encloses(symmetric_eigenvalues(eye(n)), [1] * n)
    assert_encloses(symmetric_eigenvalues(ones(n, n)), [0] * (n - 1) + [n])
    assert_encloses(symmetric_eigenvalues(zeros(n, n)), [0] * n)
    assert symmetric_eigenvalues(zeros(0, 0)).shape == (0,)


def test_irrational_eigenvalues_are_enclosed_as_narrowly_as_the_precision_allows():
    B = to_rationals([[2, 1], [1, 1]])
    for bits in (100, 300, 1000):
        with precision(bits):
            low, high = symmetric_eigenvalues(B)
            golden = (1 + flint.arb(5).sqrt()) / 2
            assert high.overlaps(golden * golden) and low.overlaps(1 / (golden * golden))
            assert float(high.rad()) < 2.0 ** (20 - bits)


def test_eigenvalues_of_wide_balls_enclose_those_of_every_matrix_inside():
    middles, radii = [0.0, 1.0, 2.0], [0.1, 0.1, 3.0]
    B = np.zeros((3, 3), dtype=object)
    for i, (middle, radius) in enumerate(zip(middles, radii, strict=True)):
        B[i, i] = flint.arb(middle, radius)
    enclosures = symmetric_eigenvalues(B)
    for signs in itertools.product([-1, 0, 1], repeat=3):
        inside = sorted(m + s * r * 0.999 for m, s, r in zip(middles, signs, radii, strict=True))
        assert all(ball.contains(value) for ball, value in zip(enclosures, inside, strict=True))


def rotated(spectrum):
    """A symmetric matrix of balls with this spectrum, its eigenvectors those of a Cayley transform of rationals."""
    n = len(spectrum)
    G = np.array([[flint.fmpq((3 * i + 5 * j) % 7 - 3, 4) for j in range(n)] for i in range(n)], dtype=object)
    Q = (eye(n) - G + G.T) @ inverse(eye(n) + G - G.T)
    return np.array([flint.arb(x) for x in (Q @ (Q.T * np.array(spectrum, dtype=object)[:, None])).flat]).reshape(n, n)


SPECTRA_IN_BALLS = {
    "separate": [flint.fmpq(k * k, 3) for k in range(6)],
    "repeated": [flint.fmpq(2)] * 3 + [flint.fmpq(-1)] * 2,
    "rank one": [flint.fmpq(0)] * 4 + [flint.fmpq(7)],
    "1e-9 apart": [flint.fmpq(1), 1 + flint.fmpq(1, 10**9), flint.fmpq(3)],
    "1e-20 apart": [flint.fmpq(1), 1 + flint.fmpq(1, 10**20), flint.fmpq(3)],
    "1e-20 and 1e-45 apart": [flint.fmpq(1), 1 + flint.fmpq(1, 10**45), 1 + flint.fmpq(1, 10**20), flint.fmpq(3)],
    "of all sizes": [flint.fmpq(10**20), flint.fmpq(1), flint.fmpq(1, 10**20)],
    "tiny": [flint.fmpq(k, 10**400) for k in (1, 2, 5)],
    "huge": [flint.fmpq(k * 10**400) for k in (1, 2, 5)],
}


@pytest.mark.parametrize("bits", [24, 53, 300, 1000])
@pytest.mark.parametrize("name", SPECTRA_IN_BALLS)
def test_eigenvalues_are_as_narrow_as_from_eigenvectors_of_full_precision(name, bits, monkeypatch):
    spectrum = SPECTRA_IN_BALLS[name]
    with precision(bits):
        B = rotated(spectrum)
        found = symmetric_eigenvalues(B)
        assert all(ball.contains(number) for ball, number in zip(found, sorted(spectrum), strict=True))
        monkeypatch.setattr(spectral, "_nearly_diagonal", lambda B: None)
        known = symmetric_eigenvalues(B)
        widest = [max((ball.rad() for ball in balls), key=float) for balls in (found, known)]
        assert bool(widest[0] <= 8 * widest[1]) or bool(widest[0] == widest[1])


@pytest.mark.parametrize("name", ["separate", "repeated", "rank one", "1e-9 apart", "1e-20 apart"])
def test_refined_eigenvectors_suffice(name, monkeypatch):
    monkeypatch.setattr(spectral, "_eigenvectors_in_full", None)  # not called
    for bits in (53, 300, 1000):
        with precision(bits):
            found = symmetric_eigenvalues(rotated(SPECTRA_IN_BALLS[name]))
            assert all(ball.contains(x) for ball, x in zip(found, sorted(SPECTRA_IN_BALLS[name]), strict=True))
    if name == "1e-20 apart":  # found last, in 1000 bits
        assert all(bool(one < other) for one, other in itertools.pairwise(found))
        monkeypatch.setattr(spectral, "_turned", lambda S, V: None)
        with precision(300), pytest.raises(TypeError):  # without it the eigenvectors in full are asked for
            symmetric_eigenvalues(rotated(SPECTRA_IN_BALLS[name]))


def test_eigenvectors_that_are_wrong_widen_the_enclosure_and_do_not_shift_it(monkeypatch):
    spectrum = SPECTRA_IN_BALLS["separate"]
    wrong = flint.arb_mat([[flint.fmpq(int(i == j)) + flint.fmpq((i * j) % 3, 10) for j in range(6)] for i in range(6)])
    monkeypatch.setattr(spectral, "_refined", lambda S, V: ((V * wrong).mid(), flint.arb(0)))
    monkeypatch.setattr(spectral, "_eigenvectors_in_full", lambda B: wrong)
    found = symmetric_eigenvalues(rotated(spectrum))
    assert all(ball.contains(x) for ball, x in zip(found, sorted(spectrum), strict=True))
    assert float(found[0].rad()) > 1e-3


def test_entries_without_a_value_have_no_eigenvalues():
    values = symmetric_eigenvalues(np.array([[flint.arb("nan"), flint.arb(1)], [flint.arb(1), flint.arb(2)]]))
    assert not any(value.is_finite() for value in values)


def test_wide_entries_off_the_diagonal_split_a_repeated_eigenvalue():
    wide = flint.arb(0, 1)
    low, high = symmetric_eigenvalues(np.array([[flint.arb(3), wide], [wide, flint.arb(3)]], dtype=object))
    for t in (0, 0.5, 1):  # the eigenvalues of [[3, t], [t, 3]] are 3 - t and 3 + t
        assert low.contains(3 - t) and high.contains(3 + t)


@quietly
@given(A=integer_matrices(3, 3), E=integer_matrices(3, 3))
def test_eigenvalues_of_perturbed_matrices_lie_in_the_enclosure(A, E):
    S, width = A + A.T, 0.01
    B = np.array([flint.arb(int(x), width) for x in S.flat], dtype=object).reshape(3, 3)
    inside = to_rationals(S + width * (E + E.T) / 8)
    for wide, narrow in zip(symmetric_eigenvalues(B), symmetric_eigenvalues(inside), strict=True):
        assert wide.contains(narrow)


# LAPACK's iteration for real matrices fails to converge on the first two, reflected by I - 2 v v^T / v^T v for v = (1, sqrt(2),
# sqrt(3)), and is 5 % off on the third.
@pytest.mark.parametrize(
    "above", [(4.73643214842872e-08, 2.7601834534129085e-08, 1.7464883085973856e-09),
              (-0.036097620522919587, -0.3477109919072351, -0.11748124825031084),
              (-2.9253983443202052e-08, 6.159803200213316e-08, 1.257792169710745e-07)],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_float_eigenvalues_of_anti_symmetric_matrices_of_order_three(above, dtype):
    a, b, c = above
    A = torch.tensor([[0, a, b], [-a, 0, c], [-b, -c, 0]], dtype=dtype)
    size = torch.linalg.vector_norm(A) / 2**0.5
    v = torch.tensor([[1.0], [2**0.5], [3**0.5]], dtype=dtype)
    P = torch.eye(3, dtype=dtype) - v @ v.T / 3
    for matrix in (A, P @ A @ P):
        found = eigenvalues(matrix) / size
        expected = torch.tensor([[0, -1], [0, 0], [0, 1]], dtype=dtype)
        assert (found - expected).abs().max() < 50 * torch.finfo(dtype).eps
        assert abs(spectral_radius(matrix) / size - 1) < 50 * torch.finfo(dtype).eps


# -- singular values ---------------------------------------------------------------------------------------------------

KNOWN = {
    "identity": ([[1, 0], [0, 1]], [1, 1]),
    "scaled orthogonal": ([[1, 2, 2], [2, 1, -2], [2, -2, 1]], [3, 3, 3]),
    "signs and repeats": ([[0, -2, 0], [2, 0, 0], [0, 0, 5]], [5, 2, 2]),
    "rank one": ([[1, 2], [2, 4]], [5, 0]),
    "rank deficient": ([[3, 0, 0], [0, 4, 0], [0, 0, 0]], [4, 3, 0]),
    "zero": ([[0, 0, 0], [0, 0, 0]], [0, 0]),
    "row": ([[2, 3, 6]], [7]),
    "column": ([[2], [3], [6]], [7]),
    "one by one": ([[-4]], [4]),
    "wide": ([[0, 3, 0], [4, 0, 0]], [4, 3]),
    "tall and repeated": ([[1, 0], [0, 1], [0, 0]], [1, 1]),
}


@over(EXACT, BALL, *FLOATS)
@pytest.mark.parametrize("name", KNOWN)
def test_known_singular_values(arithmetic, name):
    matrix, expected = KNOWN[name]
    A = arithmetic.lift(np.array(matrix))
    for M in (A, A.T):
        values = singular_values(M)
        if arithmetic in FLOATS:
            assert_same(values, arithmetic.lift(np.array(expected)), arithmetic)
        else:
            assert_encloses(values, expected)
            assert_encloses([spectral_norm(M)], expected[:1])
            assert_encloses([smallest_singular_value(M)], expected[-1:])


@quietly
@given(data=st.data(), m=st.integers(1, 4), n=st.integers(1, 4))
def test_enclosures_are_ordered_nonnegative_and_near_the_floats(data, m, n):
    A = data.draw(integer_matrices(m, n))
    enclosures, values = singular_values(to_rationals(A)), singular_values(FLOAT64.lift(A)).tolist()
    assert len(enclosures) == min(m, n)
    for ball, value in zip(enclosures, values, strict=True):
        # [0, u] is stored as a midpoint and a radius of 30 bits, so its lower end may be a hair below 0
        assert ball.lower() >= -ball.rad() * 1e-6
        # LAPACK is backward stable: the float is the ball's value up to a few units of the largest
        assert flint.arb(value, 1e-13 * (1 + values[0])).overlaps(ball)
    mids = [float(ball.mid()) for ball in enclosures]
    assert mids == sorted(mids, reverse=True)


@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_singular_values_of_products_with_identities(data, m, n):
    A = data.draw(integer_matrices(m, n))
    values = singular_values(to_rationals(A))
    doubled = singular_values(kron(eye(2), to_rationals(A)))
    stacked = singular_values(block_diag([to_rationals(A), to_rationals(A)]))
    for i, value in enumerate(values):
        assert all(value.overlaps(other[2 * i]) and value.overlaps(other[2 * i + 1]) for other in (doubled, stacked))


@over(EXACT, BALL, FLOAT64)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_spectral_and_frobenius_norms_sandwich_each_other(arithmetic, data, m, n):
    matrix = data.draw(integer_matrices(m, n))
    A = arithmetic.lift(matrix)
    rank = flint.fmpz_mat(matrix.tolist()).rank()
    spectral, frobenius = spectral_norm(A), frobenius_norm(to_balls(matrix) if arithmetic is EXACT else A)
    slack = 1e-30 if arithmetic is not FLOAT64 else 1e-12
    assert spectral <= frobenius + slack
    assert frobenius * frobenius <= rank * spectral * spectral + slack
    if rank == 1:
        assert abs(spectral - frobenius) < slack


def test_norms_of_constants_and_of_empty_matrices():
    assert_encloses([spectral_norm(ones(2, 8))], [4])
    assert spectral_norm(zeros(0, 3)) == 0
    assert spectral_norm(torch.zeros(0, 3)) == 0


def test_condition_numbers():
    A = to_rationals([[0, 6, 0], [2, 0, 0]])
    assert_encloses([condition_number(A)], [3])
    deficient = to_rationals([[6, 0, 0], [0, 2, 0], [0, 0, 0]])
    assert_encloses([effective_condition_number(deficient, rank=2)], [3])
    assert not condition_number(deficient).is_finite()
    assert condition_number(FLOAT64.lift(np.diag([1, 0]))) == torch.inf


# -- where they do not exist -------------------------------------------------------------------------------------------


@over(SYMBOLIC, *JETS)
@pytest.mark.parametrize("function", [singular_values, spectral_norm, symmetric_eigenvalues, smallest_singular_value])
def test_spectra_of_symbols_and_jets_are_refused(arithmetic, function):
    because = "not differentiable by jets" if arithmetic in JETS else "of symbolic matrices is not supported"
    with pytest.raises(ArithmeticUnsupported, match=because):
        function(arithmetic.lift(np.eye(2, dtype=int)))


def test_eigenvalues_that_floats_cannot_tell_apart_come_in_their_order() -> None:
    Q = to_rationals(np.array([[1, -2, 2], [2, -1, -2], [2, 2, 1]])) / 3  # orthogonal
    near = [flint.fmpq(1) + flint.fmpq(k, 2**90) for k in (1, -1, 0)]
    B = Q @ np.diag(np.array(near, dtype=object)) @ Q.T
    found = symmetric_eigenvalues(to_balls(B))
    for ball, value in zip(found, sorted(near), strict=True):
        assert ball.contains(flint.arb(value)) and float(ball.rad()) < 1e-60
    assert condition_number(to_balls(B)) > 1
    backwards = [flint.arb(value) for value in sorted(near, reverse=True)]
    assert [bool(a < b) for a, b in itertools.pairwise(_merged(backwards))] == [True, True]


# -- orthonormalisation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "name", "corner"), [(torch.float32, "float32", 0.5), (torch.float64, "float64", 1.0)]
)
def test_lyapunov_exponents_in_floats_are_within_their_units_where_small_entries_of_a_frame_come_to_light(
    dtype, name, corner
):
    """The small entry of the first Jacobian's first column is what is left of the second's large one."""
    jacobians = {
        "J_0": [[7.915496826171875e-05, -0.00029754638671875], [1.5, -0.00018978118896484375]],
        "J_1": [[corner, -4.76837158203125e-05], [-0.00016021728515625, -1.811981201171875e-05]],
        "J_2": [[-8.0108642578125e-05, 0.000213623046875], [-0.000301361083984375, 1.239776611328125e-05]],
    }
    claim = load()["dynamics.lyapunov-qr"]
    inputs = {key: torch.tensor(value, dtype=dtype) for key, value in jacobians.items()}
    gap = claim.evaluate(claim.the_formula, inputs).double() - claim.evaluate(claim.the_oracle, inputs).double()
    raw = {key: np.array(value) for key, value in jacobians.items()}
    assert float(gap.abs().max()) < unit_at(claim, [claim.the_formula, claim.the_oracle], raw, BITS[name]).value


def test_one_matrix_of_a_batch_that_is_not_finite_leaves_the_others_their_eigenvalues() -> None:
    """LAPACK raises for the whole batch; whether it does depends on the entries and on the library."""
    wild = torch.full((3, 3), torch.inf, dtype=torch.float64)
    batch = torch.stack([torch.eye(3, dtype=torch.float64), wild, wild * 0])
    found = torch.func.vmap(symmetric_eigenvalues)(batch)
    assert found[0].tolist() == [1.0, 1.0, 1.0] and bool(found[1:].isnan().all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_of_matrices_of_any_size_come_from_matrices_of_unit_size(dtype: torch.dtype) -> None:
    seen: list[float] = []

    def of_some_size(A: torch.Tensor) -> torch.Tensor:
        """As solvers of accelerators: an error of one size, whatever the matrix."""
        seen.extend(A.abs().amax((-2, -1)).flatten().tolist())
        return torch.linalg.svdvals(A) + 1e-6

    A = torch.randn(5, 3, 4, dtype=dtype, generator=torch.Generator().manual_seed(0))
    exact = torch.linalg.svdvals(A.double())
    for power in (-120, -60, 0, 60, 120):
        scale = 2.0**power
        found = _of_unit_size(of_some_size, A * scale)
        assert ((found.double() / scale - exact).abs() < 1e-5).all(), power
        assert power > -60 or ((of_some_size(A * scale).double() / scale - exact).abs() > 1).all()
    assert all(0.5 <= size < 1 for size in seen[: len(A)]) and not _of_unit_size(torch.linalg.svdvals, 0 * A).any()
    assert _of_unit_size(torch.linalg.svdvals, A.new_zeros(0, 3)).shape == (0,)
    S = A.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: _of_unit_size(torch.linalg.svdvals, x / 1024), S)
