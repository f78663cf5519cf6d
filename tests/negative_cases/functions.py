"""What rules for norms of functions and of their derivatives would prove if a condition of them were lost (`bounds`)."""

from __future__ import annotations

import sympy

from tests.negative_cases.derivations import (
    ITERATION,
    F,
    Holds,
    K,
    N,
    Silent,
    Unproved,
    block_of,
    corner,
    differential_of,
    gram_of_rotation,
    largest_column_sum,
    less_a_weight,
    minor,
    numbers,
    of,
    raises_at_offset,
    third_moment,
    weights,
)
from tests.symbolic_cases import newton_schulz
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, SPECTRAL, mean_exponential
from verify.arithmetics.norms.bounded import total_of
from verify.arithmetics.norms.derivations import derived
from verify.arithmetics.norms.gaps import own_place, variances
from verify.arithmetics.norms.softmaxes import covariance_of
from verify.arithmetics.norms.world import world
from verify.arithmetics.tracing import value_of
from verify.matrix import (
    COLUMN,
    ROW,
    absolute,
    commutation_matrix,
    diag,
    exp,
    expm,
    eye,
    hadamard,
    inverse,
    iterated,
    kron,
    maximum,
    ones,
    rational,
    relu,
    row_norms,
    smallest_singular_value,
    softmax,
    sqrt,
    step,
    total,
    without_column,
    zeros,
)
from verify.oracles import jacobian

least = smallest_singular_value

FUNCTIONS: dict[str, tuple[Silent | Unproved | Holds, ...]] = {
    # -- functions
    "softmax row": (Silent(SPECTRAL, lambda A: softmax(A)), Unproved(lambda A: N(softmax(A)), lambda A: 1 + 0 * F(A))),
    "softmax is 1/2-Lipschitz": (
        Silent(LARGEST, lambda A, C: softmax(A) - softmax(C)),
        Silent(FROBENIUS, lambda A, C: softmax(A) - 2 * softmax(C)),
        Silent(FROBENIUS, lambda A, m, n: softmax(A) - ones(m, n) / m),
    ),
    "softmax in the 1-norm": (
        Silent("", lambda A, C: total(absolute(softmax(A) - 2 * softmax(C)))),
        Silent("", lambda A, C: total(absolute(softmax(A) - relu(C)))),
        Silent("", lambda A, C: total(absolute(softmax(A).T - 2 * softmax(C).T))),
        Unproved(
            lambda A, C: total(absolute(softmax(A).T - softmax(C).T)), lambda A, C, n: n * maximum(absolute(A - C))
        ),
    ),
    "covariance of a softmax row": (
        Silent(SPECTRAL, lambda v, u: less_a_weight(softmax(v), softmax(u))),
        Silent(SPECTRAL, lambda v: diag(softmax(v).T) - 2 * softmax(v).T @ softmax(v)),
        Silent(SPECTRAL, lambda v: less_a_weight(v, v)),
        Silent(FROBENIUS, lambda v: less_a_weight(softmax(v), softmax(v))),
    ),
    "relu": (Silent(SPECTRAL, lambda A: relu(A)), Unproved(lambda A, C: N(relu(A) - relu(C)), lambda A, C: N(A - C))),
    "gate": (Silent(SPECTRAL, lambda A, C: hadamard(step(A), C)), Silent(FROBENIUS, lambda A, C: hadamard(relu(A), C))),
    "exponential of a skew matrix": (
        Silent(SPECTRAL, lambda G: expm(G)),
        Silent(FROBENIUS, lambda G: expm(G)),
        Silent(LARGEST, lambda S, n: expm(S) - eye(n)),
        Silent(FROBENIUS, lambda S, G: expm(S) - expm(G)),
    ),
    "similar matrices": (
        Silent(SPECTRAL, lambda G, S, H: expm(G @ S @ H)),
        Silent(FROBENIUS, lambda G, S: expm(G @ S @ inverse(G))),
    ),
    "product from below": (
        Unproved(lambda G: N(expm(G)), lambda G: N(G) / least(G)),
        Unproved(
            lambda S, A: N(expm(S @ (A.T @ A))), lambda A: N(A) / least(A)
        ),  # of a wide A the smallest is not that of n
        Unproved(lambda S, G: N(expm(S @ (G.T @ G))), lambda G: N(G) * least(G)),  # which may be 0
        Unproved(lambda S, G, H: N(expm(S @ (G.T @ G))), lambda G, H: N(H) / least(H)),
    ),
    "exponential that keeps lengths": (
        Unproved(lambda A, G: F(A @ expm(G)), lambda A: F(A)),
        Unproved(lambda A, T: F(A @ expm(T @ A.T @ A)), lambda A: F(A)),
        Unproved(lambda A, C, S: F(A @ expm(S @ C.T @ C)), lambda A: F(A)),
        Unproved(lambda A, B, S: F(B.T @ expm(S @ A.T @ A)), lambda B: F(B)),
        Unproved(lambda A, S: maximum(absolute(A @ expm(S @ A.T @ A))), lambda A: maximum(absolute(A))),
        Unproved(lambda A, S, H: F(H @ expm(S @ A.T @ A)), lambda H: F(H)),
    ),
    "exponentials that keep lengths": (
        Unproved(
            lambda S, T, G, H: N(G @ (expm(T @ H.T @ H) - expm(S @ G.T @ G))),
            lambda S, T, G, H: N(G) * N(T @ H.T @ H - S @ G.T @ G) * N(H) / least(H),
        ),
        Unproved(
            lambda S, G, H: N(G @ (expm(S @ H.T @ H) - expm(S @ H @ H.T))),
            lambda S, G, H: N(G) * N(S @ H.T @ H - S @ H @ H.T) * N(H) / least(H),
        ),
        Unproved(
            lambda S, G, H: N(G @ (expm(S @ H.T @ H) - expm(S @ G.T @ G))),
            lambda S, G, H: N(G) * N(S @ H.T @ H - S @ G.T @ G),
        ),
        Unproved(
            lambda S, A, C: N(A @ (expm(S @ C.T @ C) - expm(S @ A.T @ A))),
            lambda S, A, C: N(A) * N(S @ C.T @ C - S @ A.T @ A) * N(C) / least(C),
        ),
        Unproved(
            lambda S, G, H: N(G @ (expm(S @ H.T @ H) + expm(S @ G.T @ G))),
            lambda S, G, H: N(G) * N(S @ H.T @ H + S @ G.T @ G) * N(H) / least(H),
        ),
    ),
    "Gram matrix of a contraction": (
        Unproved(lambda A, m: N(A @ A.T - eye(m)), lambda A: 1 + 0 * N(A)),
        Unproved(lambda small, m: N(small @ small.T + eye(m)), lambda small: 1 + 0 * N(small)),
        Unproved(lambda small, m: N(small @ small.T * 3 - eye(m)), lambda small: 1 + 0 * N(small)),
        Unproved(lambda small, m: F(small @ small.T - eye(m)), lambda small: 1 + 0 * N(small)),
        Unproved(lambda small, A, m: N(small @ A.T - eye(m)), lambda small: 1 + 0 * N(small)),
    ),
    "softmax of larger logits": (
        Unproved(lambda A: F(softmax(A)), lambda A: F(softmax(A * rational(1, 2)))),
        Unproved(lambda A: F(softmax(A * -1)), lambda A: F(softmax(A))),
        Unproved(lambda A, w: F(softmax(A)), lambda A, w: F(softmax(A * (1 + w)))),
        Unproved(lambda A, C: F(softmax(A)), lambda A, C: F(softmax(C * 2))),
        Unproved(lambda A: N(softmax(A)), lambda A: N(softmax(A * 2))),
        Unproved(lambda A: maximum(absolute(A @ softmax(A).T)), lambda A: maximum(absolute(A @ softmax(A * 2).T))),
    ),
    "one of several": (
        Unproved(lambda A, C: N(A), lambda A, C: -maximum([-2 * N(A), -N(C)])),
        Unproved(lambda A, C: N(A) + N(C), lambda A, C: maximum([2 * N(A), 2 * N(C), 1 + 0 * N(A)]) / 2),
        Unproved(lambda A, w: N(A), lambda A, w: maximum([w * N(A), -w * N(A)])),
    ),
    "exponential of a dissipative matrix": (
        Silent(SPECTRAL, lambda P: expm(-P)),
        Silent(SPECTRAL, lambda P, w: expm(w * P)),
        Silent(SPECTRAL, lambda G: expm(G)),
        Silent(SPECTRAL, lambda P, G: expm(P @ G)),
    ),
    "exponential": (
        Silent(FROBENIUS, lambda G: expm(G)),
        Silent(FROBENIUS, lambda G, n: expm(G) - eye(n)),
        Silent(SPECTRAL, lambda G, n: expm(G) - 2 * eye(n)),
    ),
    "series of an exponential": (
        Silent(SPECTRAL, lambda P, G, H: corner(P, G, H)),
        Silent(FROBENIUS, lambda P, G, n: corner(P, G, zeros(n, n))),
    ),
    "mean of exponentials": (
        Holds(
            lambda: not derived(mean_exponential(-numbers()[2]), mean_exponential(-numbers()[0] * numbers()[1])).proved
        ),
        Holds(
            lambda: not derived(-mean_exponential(numbers()[2]), -mean_exponential(numbers()[0] * numbers()[1])).proved
        ),
    ),
    "integral of orthogonal matrices": (
        Silent(SPECTRAL, lambda G, S, n: corner(G, eye(n), S)),
        Silent(SPECTRAL, lambda S, G: corner(S, G, S)),
        Silent(FROBENIUS, lambda S, n: corner(S, eye(n), S)),
    ),
    "iterated polynomial": (
        Silent(SPECTRAL, lambda A: iterated(K, newton_schulz, A)),
        Silent(SPECTRAL, lambda small: iterated(K, newton_schulz, 2 * small)),
        Silent(SPECTRAL, lambda small: iterated(K, lambda M: 2 * newton_schulz(M), small)),
        Silent(FROBENIUS, lambda small: iterated(K, newton_schulz, small)),
    ),
    "chain rule": (
        Silent(SPECTRAL, lambda A, B: jacobian(lambda Y: softmax(Y), "Y", ROW)(A)),
        Silent(SPECTRAL, lambda A, B: jacobian(lambda Y: B @ softmax(Y) @ B, "Y", COLUMN)(A)),
    ),
    "sum of all absolute values": (
        Unproved(lambda A, C: F(A - C), lambda A, C: total(absolute(A + C))),
        Unproved(lambda A: 2 * F(A), lambda A: total(absolute(A))),
        Unproved(lambda A, m: sqrt(m) * F(A), lambda A: total(absolute(A))),
    ),
    # -- largest entries of products
    "lengths of rows and columns": (
        Unproved(lambda A, B: maximum(absolute(A @ B)), lambda A, B: maximum(row_norms(A)) * maximum(row_norms(B))),
        Unproved(lambda A, B: maximum(absolute(A @ B)), lambda A: maximum(row_norms(A))),
        Unproved(lambda A, B: N(A @ B), lambda A, B: maximum(row_norms(A)) * maximum(row_norms(B.T))),
    ),
    "largest entry of a product": (
        Unproved(lambda A, B: maximum(absolute(A @ B)), lambda A, B: maximum(absolute(B)) * largest_column_sum(A)),
        Unproved(lambda A, B: maximum(absolute(A @ B)), lambda A, B: maximum(absolute(A)) * maximum(absolute(B))),
    ),
    "average of rows": (Silent(LARGEST, lambda A, B: B @ softmax(A)), Silent(LARGEST, lambda A, B: relu(A) @ B)),
    "covariance of entries": (
        Silent(LARGEST, lambda G, H, v, u: G @ less_a_weight(softmax(v), softmax(u)) @ H),
        Silent(LARGEST, lambda G, H, v: G @ less_a_weight(v, v) @ H),
    ),
    "blocks of rows": (
        Silent(LARGEST, lambda G, H, A, n: kron(G, eye(n)) @ block_of(A) @ kron(H, H)),
        Silent(LARGEST, lambda G, H, A, n: kron(eye(n), G) @ block_of(A, 2) @ kron(H, H)),
    ),
    "mixed product": (Silent(LARGEST, lambda A, B: kron(A, B) @ kron(A, B)),),
    "permuted columns": (Silent(LARGEST, lambda A, B, m, n: kron(A, B) @ commutation_matrix(m, n) @ kron(A, B)),),
    # -- softmax rows by the gaps of their logits
    "softmax row less an entry": (
        Silent("", lambda v: total(without_column(relu(v), 0))),
        Silent("", lambda A: total(without_column(softmax(A), 0))),
    ),
    "sum of exponentials": (
        Unproved(
            lambda v: world().atom("total of exponentials", (value_of(v).node,)),
            lambda v: exp(world().atom("largest value", (value_of(v).node,), "real")),
        ),
    ),
    "trace of a covariance": (
        Holds(lambda: covariance_of((diag(weights("v").T) - 2 * weights("v").T @ weights("v")).node) is None),
        Unproved(
            lambda v: total_of(variances(value_of(softmax(v)).node)), lambda v: rational(1, 2) - F(softmax(v)) ** 2
        ),
    ),
    "variance of a softmax row": (
        Holds(lambda: own_place(weights("v").node) is None),
        Silent("", lambda v: total_of(variances(softmax(v).node))),
    ),
    "largest entry of a covariance": (Silent(LARGEST, lambda v, u: less_a_weight(softmax(v), softmax(u))),),
    "diagonal of a covariance": (Silent(LARGEST, lambda v: of(variances(softmax(v).node))),),
    "row of a covariance": (
        Silent(LARGEST, lambda v: without_column(less_a_weight(softmax(v), softmax(v))[:1], 1)),
        Silent(LARGEST, lambda v, u: without_column(less_a_weight(softmax(v), softmax(u))[:1], 0)),
    ),
    "covariance off the diagonal": (
        Silent(
            LARGEST,
            lambda v, n: hadamard(ones(n - 1, n - 1) - eye(n - 1), minor(less_a_weight(softmax(v), softmax(v)), 0, 1)),
        ),
        Silent(
            LARGEST,
            lambda v, n: hadamard(ones(n - 1, n - 1) + eye(n - 1), minor(less_a_weight(softmax(v), softmax(v)), 0, 0)),
        ),
    ),
    "product of two weights": (
        Silent(
            LARGEST,
            lambda v, n: hadamard(ones(n - 1, n - 1) - eye(n - 1), without_column(v, 0).T @ without_column(v, 0)),
        ),
        Silent(LARGEST, lambda v: without_column(softmax(v), 0).T @ without_column(softmax(v), 0)),
    ),
    "third central moment": (
        Silent(FROBENIUS, lambda v, x, e: third_moment(v, x, x, e)),
        Silent(FROBENIUS, lambda v, x, e: third_moment(v, x, e, x)),
        Silent(FROBENIUS, lambda v, x: third_moment(v, x, x, x, sign=1)),
    ),
    # -- derivatives
    "constant factors of a derivative": (
        Silent(SPECTRAL, lambda G, H: jacobian(lambda Y: Y @ H @ Y, "Y", COLUMN)(G)),
        Silent(FROBENIUS, lambda G, H: jacobian(lambda Y: H @ softmax(Y), "Y", COLUMN)(G)),
    ),
    "differential of the exponential": (
        Silent(FROBENIUS, lambda G, H: differential_of("exponential", G, H)),
        Silent(LARGEST, lambda S, H: differential_of("exponential", S, H)),
    ),
    "differential of softmax": (
        Silent(SPECTRAL, lambda A, C: differential_of("softmax", A, C)),
        Silent(LARGEST, lambda A, C: differential_of("softmax", A, C)),
    ),
    "differential of a normalisation": (
        Silent(SPECTRAL, lambda A, C: differential_of("normalised", A, C, data=(sympy.Integer(1),))),
        Holds(lambda: raises_at_offset(-1)),
        Holds(lambda: raises_at_offset(0)),
    ),
    "differential of an iteration": (
        Silent(FROBENIUS, lambda A, C: differential_of("iterate", A, C, data=ITERATION)),
        Silent(SPECTRAL, lambda small, C: differential_of("iterate", small, C, data=ITERATION)),
    ),
    "differential of an iteration beside its start": (
        Silent(FROBENIUS, lambda small, A, C: differential_of("iterate", small, C, data=ITERATION) @ A.T),
        Silent(FROBENIUS, lambda A, C: differential_of("iterate", A, C, data=ITERATION) @ A.T),
    ),
    "product rule": (
        Silent(SPECTRAL, lambda G, S, H: jacobian(lambda Y: expm(Y) @ Y @ H, "Y", ROW)(G) - kron(H.T, expm(G))),
        Silent(SPECTRAL, lambda G, S, H: jacobian(lambda Y: expm(Y) @ Y @ H, "Y", COLUMN)(G) + kron(H.T, expm(G))),
        Silent(SPECTRAL, lambda G, S, H: jacobian(lambda Y: expm(Y) @ Y @ H, "Y", COLUMN)(G) - kron(H, expm(G))),
    ),
    # -- singular values and rotations
    "Gram matrix of a rotation": (
        Silent(SPECTRAL, lambda A, S, n: gram_of_rotation(A, expm(S) - eye(n), sign=-1)),
        Silent(SPECTRAL, lambda A, G, n: gram_of_rotation(A, expm(G) - eye(n))),
    ),
    "mean of rotations": (
        Silent(SPECTRAL, lambda A, G, B, n: A @ (expm(G) - eye(n)) @ B),
        Silent(SPECTRAL, lambda A, S, B, n: A @ (expm(S) + eye(n)) @ B),
    ),
    "polynomial of a contraction": (
        Silent(SPECTRAL, lambda A, n: A @ (A.T @ A - eye(n)) @ A.T),
        Silent(SPECTRAL, lambda small, A, n: small @ (A.T @ A - eye(n)) @ small.T),
        Silent(FROBENIUS, lambda small, n: small @ (small.T @ small - eye(n)) @ small.T),
    ),
}
