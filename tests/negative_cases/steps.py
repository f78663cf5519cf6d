"""What the steps of a derivation would prove if a condition of them were lost, and what is simplified first (`bounds`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

from tests.negative_cases.derivations import F, Holds, N, Silent, Unproved, m, n, numbers, raises
from verify.arithmetics.norms import input_matrix, nodes
from verify.arithmetics.norms.derivations import derived
from verify.matrix import (
    absolute,
    diag,
    each,
    eye,
    frobenius_norm,
    maximum,
    ones,
    rational,
    row_norms,
    singular_values,
    sqrt,
    step,
    total,
    vec_r,
)

#: What has no form: differences from numbers, sums and products of two matrices' singular values, multiples, single ones.
SINGULAR_VALUES: tuple[Callable[..., Any], ...] = (
    lambda A: maximum(absolute(1 - singular_values(A))),
    lambda A: maximum(absolute(sqrt(2) - singular_values(A))),
    lambda A: maximum(1 - absolute(singular_values(A))),
    lambda A: maximum(-singular_values(A)),
    lambda A: (-singular_values(A))[0],
    lambda A: (2 - singular_values(A))[-1],
    lambda A, C: maximum(absolute(singular_values(A) + singular_values(C))),
    lambda A, C: maximum(absolute(-singular_values(A) + singular_values(C))),
    lambda A, C: maximum(absolute(singular_values(A) - 2 * singular_values(C))),
    lambda A, C: maximum(absolute(singular_values(A) * singular_values(C))),
    lambda A: maximum(absolute(singular_values(A) - A)),
    lambda A: total(singular_values(A)),
    lambda A: frobenius_norm(singular_values(A)),
    lambda A: sum(singular_values(A)),
    lambda A: singular_values(A).shape[0],
    lambda A: singular_values(A) == 1,
    lambda A, C: total(absolute(singular_values(A) - singular_values(C))),
)

STEPS: dict[str, tuple[Silent | Unproved | Holds, ...]] = {
    # -- what norms are simplified by
    "transposes and vectors": (
        Unproved(lambda A: F(A), lambda A: N(A.T)),
        Unproved(lambda A: N(vec_r(A)), lambda A: N(A)),
        Holds(lambda: nodes.transposed(input_matrix("A", m, n).node) is not input_matrix("A", m, n).node),
    ),
    "diagonals and ones": (
        Unproved(lambda e: F(diag(e)), lambda e: maximum(absolute(e))),
        Unproved(lambda m, n: F(ones(m, n)), lambda m: sqrt(m)),
    ),
    "polynomials of singular values": (
        Holds(lambda: raises(lambda A: maximum(absolute(singular_values(A) * singular_values(A) - 1)))),
        Holds(
            lambda: raises(lambda A: maximum(absolute(singular_values(A) * singular_values(A) + singular_values(A))))
        ),
        Holds(lambda: raises(lambda A: maximum(singular_values(A)))),
        *(Holds(lambda made=made: raises(made)) for made in SINGULAR_VALUES),
        Unproved(lambda A: N(A), lambda A: maximum(absolute(-singular_values(A))) * rational(1, 2)),
        Unproved(lambda A: N(A), lambda A: maximum(absolute(singular_values(A) * 0))),
        Unproved(lambda A, w: maximum(absolute(w * singular_values(A))), lambda A, w: w * N(A)),
        Unproved(lambda A, C: maximum(absolute(singular_values(A) - singular_values(C))), lambda A, C: N(A - C) / 2),
    ),
    "||A||_2 = sqrt(c) where A^T A = c I": (
        Unproved(
            lambda T, w: N(T), lambda w, T: absolute(w) + 0 * F(T), zero=[lambda G, w, n: G.T @ G - w * w * eye(n)]
        ),
        Unproved(
            lambda G, T: N(G), lambda w, G: absolute(w) + 0 * F(G), zero=[lambda G, T, w, n: G.T @ T - w * w * eye(n)]
        ),
    ),
    "||y||^2 = sum_k c_k ||x_k||^2 for rows where y y^T = sum_k c_k x_k x_k^T": (
        Unproved(
            lambda v, G: F(v + v @ G),
            lambda v, w: sqrt(1 + w * w) * F(v),
            zero=[lambda G, w, n: G.T @ G - w * w * eye(n)],
        ),
    ),
    # -- steps
    "replacement": (
        Unproved(lambda A, B: 1 / (1 + F(A @ B)), lambda A, B: 1 / (1 + F(A) * F(B))),
        Unproved(lambda A, B: 1 - F(A @ B), lambda A, B: 1 - F(A) * F(B)),
        Unproved(lambda A, B, w: w * F(A @ B), lambda A, B, w: w * F(A) * F(B)),
        Unproved(lambda A, B: (1 - F(A @ B)) ** 2, lambda A, B: (1 - F(A) * F(B)) ** 2),
        Unproved(lambda A, C: F(C) - F(C) * absolute(A[0, 0]), lambda A, C: F(C) - F(C) * F(A)),
        Unproved(lambda A, B: (F(A @ B) - 1) ** 2, lambda A, B: (F(A) * F(B) - 1) ** 2),
        Unproved(lambda A, B: (F(A @ B) - 1) * (F(A @ B) - 2), lambda A, B: (F(A) * F(B) - 1) * (F(A) * F(B) - 2)),
    ),
    "sign of a number": (
        Unproved(lambda A: F(A), lambda A: F(A) * (1 + 1 / (F(A) * sqrt(2) / F(A) - 2))),
        Unproved(lambda A: F(A), lambda A: F(A) * (1 + 1 / (F(A) * sqrt(2) / F(A) - 2) ** 3)),
        Holds(lambda: not derived(numbers()[0], numbers()[0] * (1 + 1 / (sympy.E - 3))).proved),
        Holds(lambda: not derived(numbers()[0], numbers()[0] * (1 + 1 / (sympy.sqrt(3) - sympy.sqrt(5)))).proved),
        Unproved(lambda A: -F(A) / (F(A) * sqrt(2) / F(A) - 2), lambda A: 0 * F(A)),
    ),
    "comparison of squares": (
        Unproved(lambda A, B: F(A), lambda A, B: -sqrt(F(A) ** 2 + F(B) ** 2)),
        Unproved(lambda A, B, w: sqrt(F(A) ** 2 + F(B) ** 2), lambda A, B, w: w * (F(A) + F(B))),
        Unproved(lambda A, B: F(A) + F(B), lambda A, B: sqrt(F(A) ** 2 + F(B) ** 2)),
        Unproved(lambda A, B: sqrt(F(A) ** 2 + F(B) ** 2), lambda A, B: F(A) - 2 * F(B) - 2 * F(A)),
    ),
    "common denominator": (
        Unproved(lambda A, B: F(A), lambda A, B: F(A) / (1 - F(B))),
        Unproved(lambda A, B: F(A @ B) / (F(A) - F(B)), lambda A, B: F(A) * F(B) / (F(A) - F(B))),
        Unproved(lambda A, w: F(A) / w, lambda A, w: 2 * F(A) / w),
        Unproved(lambda A, w: -F(A) / (w - 1), lambda A: 0 * F(A)),
        Unproved(lambda A, B: F(A) / (F(A) - 2 * F(B)), lambda A, B: 2 * F(A) / (F(A) - 2 * F(B))),
        Unproved(lambda A: F(A), lambda A, w: w + 0 * F(A), nonnegative=[lambda A, w: (w - F(A)) / (w - 1)]),
    ),
    "sizes from 1 on": (
        Unproved(lambda A, n: 2 * F(A), lambda A, n: n * F(A)),
        Unproved(lambda A, w: F(A), lambda A, w: w * F(A)),
        Unproved(lambda A: F(A), lambda A, B: F(B) * F(A)),
        Unproved(lambda A, n: n * F(A), lambda A, n: sqrt(n) * F(A)),
    ),
    "term by term": (
        Unproved(lambda A, B, w: sqrt(F(A) ** 2 + F(B) ** 2) + F(A), lambda A, B, w: sqrt(F(A) ** 2 + F(B) ** 2) + w),
        Unproved(
            lambda A, B, C: sqrt(F(A) ** 2 + F(B) ** 2) + sqrt(F(A) ** 2 + F(B) ** 2),
            lambda A, B, C: sqrt(F(A) ** 2 + F(B) ** 2) + F(C),
        ),
    ),
    "assumed inequality": (
        Unproved(lambda A, w: F(A) * w * w, lambda A: F(A), nonnegative=[lambda w: 1 - w]),
        Unproved(lambda A, C: F(A), lambda C, A: F(C) + 0 * F(A), nonnegative=[lambda A, C: F(A) - F(C)]),
        Unproved(lambda A, w: w * F(A), lambda w: w, nonnegative=[lambda A: 1 - F(A)]),
    ),
    "largest in an assumption": (
        Unproved(
            lambda A: F(A), lambda C, A: F(C) + 0 * F(A), nonnegative=[lambda A, C, D: maximum([F(C), F(D)]) - F(A)]
        ),
    ),
    "assumed bound of entries": (
        Unproved(
            lambda A: maximum(absolute(A)),
            lambda A, w: w + 0 * F(A),
            nonnegative=[lambda A, w: w + absolute(A).reshape(-1)],
        ),
        Unproved(
            lambda A: maximum(absolute(A)),
            lambda A, w: w + 0 * F(A),
            nonnegative=[lambda A, w: 2 * w - absolute(A).reshape(-1)],
        ),
        Unproved(
            lambda C: maximum(absolute(C)),
            lambda C, w: w + 0 * F(C),
            nonnegative=[lambda A, w: w - absolute(A).reshape(-1)],
        ),
        Unproved(
            lambda A: maximum(absolute(A)), lambda A: 1 + 0 * F(A), nonnegative=[lambda A: [1 - absolute(A[0, 0])]]
        ),
    ),
    "assumed bound of a norm": (
        Unproved(lambda A: N(A), lambda A: 1 + 0 * F(A), nonnegative=[lambda A: N(A) - 1]),
        Unproved(lambda A: N(A), lambda A: 1 + 0 * F(A), nonnegative=[lambda A: 2 - N(A)]),
        Unproved(lambda A: N(A), lambda A: 1 + 0 * F(A), nonnegative=[lambda A, w: w - N(A)]),
    ),
    "equal signs": (
        Unproved(lambda A, C: F(step(A) - step(C)), lambda A: 0 * F(A), positive=[lambda A, C: -A * C]),
        Unproved(lambda A, C: F(step(A) - step(C)), lambda A: 0 * F(A), positive=[lambda A, C: A + C]),
        Unproved(lambda A, C: F(step(A) - step(C)), lambda A: 0 * F(A), positive=[lambda A, U: A * U]),
        Unproved(lambda A, C: F(step(A) - step(C)), lambda A: 0 * F(A), positive=[lambda A, C, w: w * (A * C)]),
        Unproved(
            lambda tall, wide: F(step(tall) - step(wide.reshape(2, 6))),
            lambda tall: 0 * F(tall),
            positive=[lambda tall, wide: tall.reshape(4, 3) * wide.reshape(4, 3).T.reshape(4, 3)],
        ),
    ),
    "orthonormal frame": (
        Unproved(lambda A: F(A), lambda A: 1 + 0 * F(A), zero=[lambda A, n: A.T @ A - eye(n)]),
        Unproved(lambda A: N(A), lambda A: 1 + 0 * F(A), zero=[lambda A, n: A.T @ A - 2 * eye(n)]),
        Unproved(lambda A: N(A), lambda A: 1 + 0 * F(A), zero=[lambda A, n: A.T @ A + eye(n)]),
        Unproved(lambda A: N(A), lambda A: 1 + 0 * F(A), zero=[lambda A, w, n: w * A.T @ A - w * eye(n)]),
        Unproved(lambda A: N(A), lambda A: 1 + 0 * F(A), zero=[lambda A, B, n: B @ A - eye(n)]),
        Unproved(lambda A, C: N(C), lambda C: 1 + 0 * F(C), zero=[lambda A, n: A.T @ A - eye(n)]),
    ),
    "multiple of the identity": (
        Unproved(
            lambda G, T: F(G @ T), lambda G, w, n: sqrt(n) * w**2, zero=[lambda G, T, w, n: w * (G @ T) - w**3 * eye(n)]
        ),
        Unproved(lambda G: F(G @ G), lambda G: 0 * F(G), zero=[lambda G, w: w * (G @ G)]),
        Unproved(lambda G: F(G @ G @ G), lambda G: 0 * F(G), zero=[lambda G, T: G @ T]),
        Unproved(lambda G, T: F(T @ T), lambda G: 0 * F(G), zero=[lambda G: G @ G]),
        Unproved(lambda G: F(G @ G.T), lambda G: 0 * F(G), zero=[lambda G: G @ G]),
    ),
    "root of squares": (
        Unproved(lambda A, B: F(A), lambda A, B: sqrt(F(A) ** 2 - F(B) ** 2)),
        Unproved(lambda A, B: N(A), lambda A, B: sqrt(F(A) ** 2 - F(B) ** 2 / 10**6)),
        Unproved(lambda A, B: F(A), lambda A, B: sqrt(F(A) ** 2 / 2 + F(B) ** 2)),
    ),
    "case of the largest": (
        Unproved(lambda A, B: maximum([F(A), F(B)]), lambda A, B: F(A)),
        Unproved(lambda A, B, w: w * maximum([F(A), F(B)]), lambda A, B, w: w * F(A)),
        Unproved(lambda A: maximum([A[0, 0], A[0, 1]]), lambda A: F(A) / 2),
    ),
    "entries in pairs": (
        Unproved(lambda A: maximum(absolute(A)), lambda A: absolute(A)),
        Unproved(lambda A: maximum(row_norms(A)), lambda A: row_norms(A)),
        Unproved(lambda A: maximum(1 / row_norms(A)), lambda A: 1 / row_norms(A)),
        Unproved(lambda e: maximum(absolute(e)), lambda e: absolute(e)),
        Unproved(lambda A: maximum(absolute(singular_values(A))), lambda A: absolute(singular_values(A))),
        Unproved(lambda A: [F(A[:1]), F(A)], lambda A: [F(A), F(A[:1])]),
        Unproved(lambda X, L: each(L, lambda i: F(X[i])), lambda X, L: each(L, lambda i: F(X[0]))),
        Unproved(lambda e: row_norms(e), lambda e: row_norms(e).T),
    ),
    "numbers of symbols": (
        Unproved(lambda A, n: F(A) * (2 if n % 6 == 0 else 1), lambda A: F(A)),
        Unproved(lambda A, n: F(A) * (2 if n == 7 else 1), lambda A: F(A)),
        Unproved(lambda A: F(A) * (1 if A.shape[0] != A.shape[1] else 2), lambda A: F(A)),
        Unproved(lambda A: F(A) * (2 if F(A) == 1 else 1), lambda A: F(A)),
        Unproved(lambda A: F(A) * (2 if A.shape[1] in (7, 9) else 1), lambda A: F(A)),
        Unproved(lambda A: F(A[2:4]), lambda A: F(A)),
        Unproved(lambda A: A[-1:].shape[0] + 0 * F(A), lambda A, m: m + 1 + 0 * F(A)),
        Unproved(lambda A, n: F(A.reshape(n, n)), lambda A: F(A)),
        Unproved(lambda A: F(A.sum(axis=-1).reshape(1, -1)), lambda A, m: F(ones(1, m) @ A)),
        Unproved(lambda A: F(A.reshape(-1) * A.reshape(-1, 1)), lambda A: F(A * A)),
    ),
}
