"""Where the rules for norms must not fire: what each of them would prove if a condition of it were lost.

A rule has matrices whose norm it says nothing of, or statements that are false, or say nothing, and that it would prove.
"""

from __future__ import annotations

from tests.negative_cases.derivations import (
    F,
    Holds,
    N,
    Silent,
    Unproved,
    is_by_boxes,
    is_range_of,
    largest_gap_of,
    m,
    n,
    names_of,
    raises,
    root_of_a_multiple_of_entries,
    tall_of,
)
from tests.negative_cases.functions import FUNCTIONS
from tests.negative_cases.steps import STEPS
from tests.negative_cases.two_blocks import TWO_BLOCKS
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, SPECTRAL
from verify.matrix import (
    COLUMN,
    absolute,
    block_diag,
    commutation_matrix,
    concatenate,
    diag,
    each,
    exp,
    expm,
    eye,
    hadamard,
    kron,
    maximum,
    normalize_rows,
    ones,
    rational,
    relu,
    row_norms,
    row_sums,
    singular_values,
    smallest_singular_value,
    softmax,
    spectral_radius,
    sqrt,
    stack_rows,
    summed,
    symmetric_eigenvalues,
    total,
    vec_r,
    without_column,
    zeros,
)
from verify.oracles import jacobian

least = smallest_singular_value

CASES: dict[str, tuple[Silent | Unproved | Holds, ...]] = {
    **FUNCTIONS,
    **STEPS,
    **TWO_BLOCKS,
    # -- definitions
    "triangle inequality": (
        Unproved(lambda A, C: F(A - C), lambda A, C: F(A) - F(C)),
        Unproved(lambda A, C: absolute(F(A) - F(C)), lambda A, C: F(A) - F(C)),
    ),
    "reverse triangle inequality": (
        Unproved(lambda A, C: F(A), lambda A, C: F(A - C) - F(C)),
        Unproved(lambda A, C: F(A) + F(C), lambda A, C: F(A - C)),
    ),
    "sum over an index": (
        Unproved(lambda X, L: summed(L, lambda i: F(X[i])), lambda X, L: maximum(each(L, lambda i: F(X[i])))),
        Unproved(lambda e, n: -summed(n, lambda i: absolute(e[i, 0])), lambda e, n: -sqrt(n) * F(e)),
        Holds(lambda: not root_of_a_multiple_of_entries(-1) and root_of_a_multiple_of_entries(1)),
        Unproved(
            lambda e, n: summed(n, lambda i: absolute(e[i, 0]) / (1 - absolute(e[i, 0]))),
            lambda e, n: sqrt(n) * F(e) / (1 - maximum(absolute(e))),
        ),
    ),
    "smaller denominator": (
        Unproved(lambda A, n: 1 - 1 / (1 + n**8 * rational(1, 10**15) * F(A)), lambda A: F(A) / 100),
        Unproved(lambda A, w: w / (1 + F(A)), lambda A, w: w + 0 * F(A)),
        Unproved(lambda A: absolute(1 / (1 + F(A)) - 1), lambda A: 0 * F(A)),
        Unproved(lambda A: 1 / (1 + 1 / (1 + F(A))), lambda A: rational(1, 2) + 0 * F(A)),
    ),
    "largest of several": (
        Unproved(
            lambda A, B: maximum(concatenate([ones(1, 1) * (F(A) - rational(1, 10**9)), ones(1, 1) * F(B)], axis=0)),
            lambda A, B: F(A) + F(B) - rational(1, 10**9),
        ),
        Unproved(lambda A: maximum(-absolute(A)), lambda A: -maximum(absolute(A))),
        Unproved(lambda A: -maximum(1 / A), lambda A: 0 * F(A)),
        Unproved(lambda A: maximum(-1 / A), lambda A: -maximum(1 / A)),
        Unproved(lambda A, w: maximum(w * absolute(A)), lambda A, w: w * maximum(absolute(A))),
    ),
    "definition of the largest": (
        Unproved(lambda A: F(A) / maximum(row_norms(A)), lambda m: 1 + 0 * m),
        Unproved(lambda A: maximum(row_norms(A)) / F(A[:1]), lambda m: 1 + 0 * m),
        Unproved(lambda A, C: F(A[:1]) / maximum(row_norms(C)), lambda m: 1 + 0 * m),
        Unproved(lambda X, L: F(X[0]), lambda X, L: maximum(each(L, lambda i: F(X[i]))) / 2),
        Unproved(
            lambda X, L: maximum(each(L, lambda i: F(X[i]))), lambda X, L: maximum(each(L - 1, lambda i: F(X[i])))
        ),
        Unproved(lambda X: F(X[3]), lambda X: maximum(each(2, lambda i: F(X[i])))),
        Unproved(lambda A: absolute(A[0, 0]), lambda A: absolute(A[0, 1])),
    ),
    "absolute values": (Silent(SPECTRAL, lambda A: absolute(A)), Unproved(lambda A: N(absolute(A)), lambda A: N(A))),
    "weight of several": (
        Silent(LARGEST, lambda v: without_column(v, 0)),
        Silent(LARGEST, lambda A: without_column(softmax(A), 0)),
    ),
    "unit vector": (Silent(FROBENIUS, lambda e: e), Unproved(lambda n: F(ones(n, 1)), lambda n: 1 + 0 * n)),
    "unit direction": (Silent(FROBENIUS, lambda A: A), Silent(FROBENIUS, lambda small: small)),
    "derivative along a unit direction": (
        Silent(FROBENIUS, lambda A: jacobian(relu, "x", COLUMN)(A)),
        Silent(FROBENIUS, lambda S: jacobian(expm, "A", COLUMN)(S)),
    ),
    "assumption": (
        Unproved(lambda A: F(A), lambda A: 2 + 0 * F(A), nonnegative=[lambda A: 2 - N(A)]),
        Unproved(lambda C: N(C), lambda C: 2 + 0 * F(C), nonnegative=[lambda A: 2 - N(A)]),
        Unproved(lambda C: F(C), lambda A: F(A), nonnegative=[lambda A, C: F(A) ** 2 - F(A) * F(C)]),  # A may be 0
        Unproved(lambda C: F(C), lambda A: F(A), nonnegative=[lambda A, C, w: w**2 * (F(A) - F(C))]),
        Unproved(  # A may be 0 where the largest of both is not
            lambda C: F(C),
            lambda A: F(A),
            nonnegative=[lambda A, C: F(A) ** 2 - F(A) * F(C), lambda A, G, w: 1 / maximum([F(A), F(G)]) - w],
        ),
        Unproved(
            lambda C: F(C),
            lambda A: F(A),
            nonnegative=[lambda A, C: F(A) ** 2 - F(A) * F(C), lambda A, G: 1 / maximum([F(A), F(G)]) ** 2],
        ),
        Unproved(  # at n = 1 nothing is assumed
            lambda G, H: N(G @ H), lambda G: 1 + 0 * N(G), zero=[lambda G, H, n: (n - 1) * (G @ H) - (n - 1) * eye(n)]
        ),
    ),
    "contraction": (Silent(FROBENIUS, lambda small: small), Silent(SPECTRAL, lambda A: A)),
    "diagonal of a column": (
        Unproved(lambda v, u: F(diag(v) @ u.T), lambda v: F(v)),
        Unproved(lambda v, A: F(diag(v) @ A.T), lambda v, A: maximum(absolute(v)) * N(A)),
    ),
    "number among the factors": (Silent(FROBENIUS, lambda A, B: A @ B), Silent(LARGEST, lambda e, v: e @ v)),
    # -- smallest singular values
    "smallest singular value of a sum": (
        Unproved(lambda A, C: least(A) - N(C), lambda A, C: least(A - C) / 2),
        Unproved(lambda A, C: least(A) - least(C), lambda A, C: least(A - C)),
        Unproved(lambda A, C: 1 / least(A - C), lambda A, C: 1 / (least(A) - N(C))),  # which may be negative
        Unproved(lambda A, C: 1 / least(A - C), lambda A: 2 + 0 * N(A), nonnegative=[lambda A, C: least(A) - N(C)]),
    ),
    "smallest singular value of a product": (
        Unproved(lambda A, B: least(A) * least(B), lambda A, B: least(A @ B)),  # where A is wide and B is tall, it is 0
        Unproved(lambda wide, G: least(wide) * least(tall_of(4, 3)), lambda wide: least(wide @ tall_of(4, 3))),
        Unproved(lambda tall: least(tall_of(6, 2)) * least(tall), lambda tall: least(tall_of(6, 2) @ tall)),
        Unproved(lambda G, H: N(G) * least(H), lambda G, H: least(G @ H)),
    ),
    "smallest singular value of blocks side by side": (
        Unproved(lambda A, C: least(A), lambda A, C: least(concatenate([A, C], axis=1))),
        Unproved(lambda G, H: least(G) + least(H), lambda G, H: least(concatenate([G, H], axis=1))),
        Unproved(lambda G, H: N(G), lambda G, H: least(concatenate([G, H], axis=1))),
    ),
    "singular values of orthonormal columns": (
        Unproved(lambda A: 1 + 0 * N(A), lambda A: least(A)),
        Unproved(lambda A, n: 1 + 0 * N(A), lambda A, n: least(eye(n)[:2] @ A.T)),
        Unproved(lambda A, n: 2 + 0 * N(A), lambda n: least(eye(n + 3)[:n])),
        Unproved(lambda small: 1 + 0 * N(small), lambda small: least(small)),
    ),
    "softmax at the vector of ones": (
        Unproved(lambda A: 1 / N(softmax(A)), lambda A: 1 + 0 * N(A)),  # for a wide A it is too much
        Unproved(lambda A: 1 / N(A), lambda A: 1 + 0 * N(A)),
        Unproved(lambda G: 1 / least(softmax(G)), lambda G: 1 + 0 * N(G)),
    ),
    "smallest at most largest singular value": (
        Unproved(lambda A: N(A), lambda A: least(A)),
        Unproved(lambda A, C: least(A), lambda A, C: N(C)),
    ),
    "distance from rank one": (
        Unproved(lambda A: least(softmax(A)), lambda A, n: N(softmax(A)) / sqrt(n)),
        Unproved(lambda G: least(G), lambda G, n: F(G - ones(n, n) / n)),
    ),
    "weights beside the identity": (
        Holds(lambda: not names_of(SPECTRAL, lambda G, n: softmax(G) + eye(n))),
        Holds(lambda: not names_of(SPECTRAL, lambda G, n: softmax(G) - eye(n) / 2)),
        Holds(lambda: not names_of(SPECTRAL, lambda G, n: G - eye(n))),
    ),
    "columns of weights": (
        Holds(lambda: "columns of weights" not in names_of(SPECTRAL, lambda A: softmax(A))),
        Holds(lambda: "columns of weights" not in names_of(FROBENIUS, lambda G: softmax(G))),
    ),
    "softmax near the uniform matrix": (
        Holds(lambda: not names_of(FROBENIUS, lambda A, m, n: softmax(A) - ones(m, n) / m)),
        Holds(lambda: not names_of(FROBENIUS, lambda A, m, n: softmax(A) + ones(m, n) / n)),
    ),
    "chord of sinh": (
        Holds(lambda: "chord of sinh" not in names_of(FROBENIUS, lambda A, m, n: softmax(A) - ones(m, n) / n)),
    ),
    "weight by its gap": (
        Holds(lambda: largest_gap_of(-1) != -largest_gap_of(1)),  # max -a is not -max a
    ),
    "smallest eigenvalue of a Gram matrix": (
        Holds(lambda: raises(lambda G: symmetric_eigenvalues(G)[0])),
        Holds(lambda: raises(lambda G: symmetric_eigenvalues(-1 * G @ G.T)[0])),
        Holds(lambda: raises(lambda G: symmetric_eigenvalues(G @ G.T)[-1])),
        Unproved(lambda A: symmetric_eigenvalues(A @ A.T)[0], lambda A, n: F(A) * F(A) / n),
        Unproved(lambda A: symmetric_eigenvalues(A @ A.T)[0], lambda A, m: N(A) * N(A) / m),
    ),
    "shifted Gram matrix": (
        Unproved(lambda G: least(G) + 1, lambda G, n: least(G + eye(n))),
        Unproved(lambda G: least(G @ G.T) - 1, lambda G, n: least(G @ G.T - 2 * eye(n)) - 2),
        Unproved(lambda G, n: least(eye(n) - G @ G.T), lambda G: 1 - least(G @ G.T)),
        Unproved(lambda G: least(G @ G) + 1, lambda G, n: least(G @ G + eye(n))),
        Unproved(lambda G, n, w: least(G @ G.T * w + eye(n)), lambda G, w: w * least(G @ G.T) + 1),
    ),
    "rows of a given length": (
        Unproved(lambda A: F(A), lambda A, m: sqrt(m), zero=[lambda A, n: row_sums(A.T * A.T) - 1]),  # of columns
        Unproved(lambda A: F(A), lambda A, m: sqrt(m) / 2, zero=[lambda A: row_sums(A * A) * 2 - 1]),
        Unproved(lambda C: F(C), lambda C, m: sqrt(m), zero=[lambda A: row_sums(A * A) - 1]),
        Unproved(lambda A: F(A), lambda A, m: sqrt(m), zero=[lambda A, C: row_sums(A * C) - 1]),
        Unproved(lambda A: F(A), lambda A, m: sqrt(m), zero=[lambda A: row_sums(A) - 1]),
    ),
    "boxes": (
        Holds(lambda: not is_by_boxes(lambda t: 1 + t * rational(101, 100), exp) and is_by_boxes(lambda t: 1 + t, exp)),
        Holds(lambda: not is_by_boxes(lambda t: t * t, lambda t: t + 1)),
        Unproved(lambda n: sqrt(n), lambda n: (1 + n) * rational(49, 100)),
    ),
    "range": (
        Holds(lambda: not is_range_of(1, 1) and is_range_of(1, -1)),
        Unproved(lambda A: 0 * F(A), lambda A: maximum(A)),
    ),
    # -- norms of products, blocks and inputs
    "spectral radius": (
        Unproved(lambda G: N(G), lambda G: spectral_radius(G)),
        Holds(lambda: raises(lambda A: spectral_radius(A))),
    ),
    "spectral at most Frobenius": (Unproved(lambda A: F(A), lambda A: N(A)),),
    "rank": (
        Unproved(lambda A: F(A), lambda A, k: sqrt(k) * N(A)),
        Unproved(lambda A, B: F(A @ B), lambda A, B, k: sqrt(k) * N(A @ B)),
    ),
    "largest entry": (
        Unproved(lambda A: N(A), lambda A: maximum(absolute(A))),
        Unproved(lambda A: 1 - absolute(A[0, 0]), lambda A: 1 - F(A)),
        Unproved(lambda A: exp(-absolute(A[0, 0])), lambda A: exp(-F(A))),
    ),
    "largest of all entries": (
        Unproved(lambda A: F(A), lambda A, m: sqrt(m) * maximum(absolute(A))),
        Unproved(
            lambda A, m, n: F(A), lambda w, m, n: sqrt(m) * w, nonnegative=[lambda A, w: w - absolute(A).reshape(-1)]
        ),
    ),
    "product": (
        Silent(LARGEST, lambda A, B: A @ B),
        Unproved(  # which is negative at n = 3 alone
            lambda A, B, n: ((n - 3) ** 2 - 2) * F(A @ B), lambda A, B, n: ((n - 3) ** 2 - 2) * F(A) * N(B)
        ),
        Unproved(lambda A, B: absolute(F(A @ B) - F(A) * N(B)), lambda A, B: F(A) * N(B) / 2),
    ),
    "difference of products": (
        Unproved(lambda A, B, C: maximum(absolute(A @ B - C @ B)), lambda A, B, C: maximum(absolute((A + C) @ B))),
        Unproved(lambda A, B, C: maximum(absolute(A @ B - 2 * C @ B)), lambda A, B, C: maximum(absolute((A - C) @ B))),
        Unproved(lambda A, B, S: maximum(absolute(A @ B - A @ S @ B)), lambda A, B: maximum(absolute(A @ B))),
        Unproved(lambda A, B, C, D: F(A @ B - C @ D), lambda A, B, C, D: F(A - C) * N(B)),
        Unproved(lambda A, B, C, D: F(A @ B - 2 * C @ D), lambda A, B, C, D: F(A - C) * N(B) + N(C) * F(B - D)),
        Unproved(
            lambda X, Y, L: F(
                stack_rows(each(L, lambda i: vec_r(X[i]).T)) - stack_rows(each(L, lambda i: vec_r(Y[i]).T))
            ),
            lambda X, Y: F(X[0] - Y[0]),
        ),
    ),
    "Kronecker product": (Unproved(lambda A, B: N(kron(A, B)), lambda A, B: N(A) * maximum(absolute(B))),),
    "block": (
        Unproved(lambda A: F(A), lambda A: F(A[:1])),
        Unproved(lambda A: F(A[:1]), lambda A: F(A[1:2])),
        Silent(FROBENIUS, lambda tall, wide: tall.reshape(12, 1) - wide.reshape(12, 1)),
    ),
    "blocks": (
        Unproved(lambda A: F(concatenate([A[:2], A[1:]], axis=0)), lambda A: F(A)),
        Unproved(lambda A, C: N(concatenate([A, C], axis=0)), lambda A, C: maximum([N(A), N(C)])),
        Silent(LARGEST, lambda A, C: concatenate([A, C], axis=0)),
        Unproved(lambda A, C: sqrt(N(A) ** 2 + N(C) ** 2), lambda A, C: N(concatenate([A, C], axis=0))),
        Unproved(lambda A, C: sqrt(F(A) ** 2 + 2 * F(C) ** 2), lambda A, C: F(concatenate([A, C], axis=0))),
        Unproved(
            lambda X, L: L * maximum(each(L, lambda i: F(X[i]))),
            lambda X, L: F(concatenate(each(L, lambda i: X[i]), axis=0)),
        ),
    ),
    "block diagonal": (
        Unproved(lambda X, L: F(block_diag(each(L, lambda i: X[i]))), lambda X, L: maximum(each(L, lambda i: F(X[i])))),
    ),
    "common factor": (
        Silent(SPECTRAL, lambda A, B, C, D: concatenate([A @ B, C @ D], axis=0)),
        Silent(LARGEST, lambda A, B, C: concatenate([A @ B, C @ B], axis=0)),
    ),
    "entrywise product": (
        Unproved(lambda A, C: F(hadamard(A, C)), lambda A, C: maximum(absolute(A)) * maximum(absolute(C))),
        Unproved(lambda A, C: F(hadamard(A, C)), lambda A, C: N(A) * N(C)),
    ),
    "antisymmetric product": (
        Silent(SPECTRAL, lambda A, C: A @ C.T + C @ A.T),
        Silent(SPECTRAL, lambda A, C: A @ C.T - 2 * C @ A.T),
        Silent(FROBENIUS, lambda A, C: A @ C.T - C @ A.T),
    ),
    "permutation": (
        Silent(FROBENIUS, lambda m, n: commutation_matrix(m, n)),
        Unproved(lambda m, n: F(commutation_matrix(m, n)), lambda m, n: 1 + 0 * n),
    ),
    "orthonormal": (
        Silent(SPECTRAL, lambda A: A),
        Silent(SPECTRAL, lambda U: U),
        Silent(SPECTRAL, lambda Q: 2 * Q + zeros(n, m) - ones(n, m)),
    ),
    "projection": (
        Silent(SPECTRAL, lambda v, n: eye(n) - 2 * v.T @ v / row_norms(v) ** 2),
        Silent(SPECTRAL, lambda v, u, n: eye(n) - v.T @ v / row_norms(u) ** 2),
        Silent(FROBENIUS, lambda v, n: eye(n) - v.T @ v / row_norms(v) ** 2),
    ),
    "unit rows": (
        Silent(SPECTRAL, lambda U: U),
        Silent(FROBENIUS, lambda A: A),
        Silent(SPECTRAL, lambda A: normalize_rows(A)),
    ),
    "row norms": (Unproved(lambda A: F(row_norms(A)), lambda A: N(A)), Silent(LARGEST, lambda A: row_norms(A))),
    "Cauchy-Schwarz": (
        Unproved(lambda A: total(absolute(A)), lambda A: F(A)),
        Unproved(
            lambda A, m: summed(m, lambda i: F(A[i : i + 1]) * (1 - F(A[i : i + 1]))),
            lambda A, m: sqrt(m) * F(A) * (1 - F(A)),
        ),
    ),
    "Weyl": (
        Unproved(lambda A, C: maximum(absolute(singular_values(A) - singular_values(C))), lambda A: N(A)),
        Holds(lambda: raises(lambda A, C: maximum(singular_values(A) - singular_values(C)))),
    ),
}
