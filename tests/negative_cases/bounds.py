"""Where the rules for norms must not fire: what each of them would prove if a condition of it were lost.

A rule has matrices whose norm it says nothing of, or statements that are false, or say nothing, and that it would prove.
"""

from __future__ import annotations

import sympy

from tests.negative_cases import two_blocks
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
    is_by_boxes,
    is_range_of,
    largest_column_sum,
    largest_gap_of,
    less_a_weight,
    m,
    minor,
    n,
    names_of,
    numbers,
    of,
    raises,
    raises_at_offset,
    root_of_a_multiple_of_entries,
    tall_of,
    third_moment,
    weights,
)
from tests.symbolic_cases import newton_schulz
from verify.arithmetics.norms import input_matrix, nodes
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, SPECTRAL, mean_exponential
from verify.arithmetics.norms.bounded import total_of
from verify.arithmetics.norms.derivations import derived
from verify.arithmetics.norms.gaps import covariance_of, own_place, variances
from verify.arithmetics.norms.world import world
from verify.arithmetics.tracing import value_of
from verify.matrix import (
    COLUMN,
    ROW,
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
    inverse,
    iterated,
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
    step,
    summed,
    symmetric_eigenvalues,
    total,
    vec_r,
    without_column,
    zeros,
)
from verify.oracles import jacobian

least = smallest_singular_value

CASES: dict[str, tuple[Silent | Unproved | Holds, ...]] = (
    two_blocks.CASES
    | {
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
                lambda A, B: maximum(
                    concatenate([ones(1, 1) * (F(A) - rational(1, 10**9)), ones(1, 1) * F(B)], axis=0)
                ),
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
        "absolute values": (
            Silent(SPECTRAL, lambda A: absolute(A)),
            Unproved(lambda A: N(absolute(A)), lambda A: N(A)),
        ),
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
                lambda G, H: N(G @ H),
                lambda G: 1 + 0 * N(G),
                zero=[lambda G, H, n: (n - 1) * (G @ H) - (n - 1) * eye(n)],
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
            Unproved(
                lambda A, B: least(A) * least(B), lambda A, B: least(A @ B)
            ),  # where A is wide and B is tall, it is 0
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
            Holds(
                lambda: not is_by_boxes(lambda t: 1 + t * rational(101, 100), exp) and is_by_boxes(lambda t: 1 + t, exp)
            ),
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
                lambda A, m, n: F(A),
                lambda w, m, n: sqrt(m) * w,
                nonnegative=[lambda A, w: w - absolute(A).reshape(-1)],
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
            Unproved(
                lambda A, B, C: maximum(absolute(A @ B - 2 * C @ B)), lambda A, B, C: maximum(absolute((A - C) @ B))
            ),
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
            Unproved(
                lambda X, L: F(block_diag(each(L, lambda i: X[i]))), lambda X, L: maximum(each(L, lambda i: F(X[i])))
            ),
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
        # -- functions
        "softmax row": (
            Silent(SPECTRAL, lambda A: softmax(A)),
            Unproved(lambda A: N(softmax(A)), lambda A: 1 + 0 * F(A)),
        ),
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
        "relu": (
            Silent(SPECTRAL, lambda A: relu(A)),
            Unproved(lambda A, C: N(relu(A) - relu(C)), lambda A, C: N(A - C)),
        ),
        "gate": (
            Silent(SPECTRAL, lambda A, C: hadamard(step(A), C)),
            Silent(FROBENIUS, lambda A, C: hadamard(relu(A), C)),
        ),
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
                lambda: (
                    not derived(mean_exponential(-numbers()[2]), mean_exponential(-numbers()[0] * numbers()[1])).proved
                )
            ),
            Holds(
                lambda: (
                    not derived(-mean_exponential(numbers()[2]), -mean_exponential(numbers()[0] * numbers()[1])).proved
                )
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
                lambda v, n: hadamard(
                    ones(n - 1, n - 1) - eye(n - 1), minor(less_a_weight(softmax(v), softmax(v)), 0, 1)
                ),
            ),
            Silent(
                LARGEST,
                lambda v, n: hadamard(
                    ones(n - 1, n - 1) + eye(n - 1), minor(less_a_weight(softmax(v), softmax(v)), 0, 0)
                ),
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
                lambda: raises(
                    lambda A: maximum(absolute(singular_values(A) * singular_values(A) + singular_values(A)))
                )
            ),
            Holds(lambda: raises(lambda A: maximum(singular_values(A)))),
        ),
        "||A||_2 = sqrt(c) where A^T A = c I": (
            Unproved(
                lambda T, w: N(T), lambda w, T: absolute(w) + 0 * F(T), zero=[lambda G, w, n: G.T @ G - w * w * eye(n)]
            ),
            Unproved(
                lambda G, T: N(G),
                lambda w, G: absolute(w) + 0 * F(G),
                zero=[lambda G, T, w, n: G.T @ T - w * w * eye(n)],
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
            Unproved(
                lambda A, B, w: sqrt(F(A) ** 2 + F(B) ** 2) + F(A), lambda A, B, w: sqrt(F(A) ** 2 + F(B) ** 2) + w
            ),
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
                lambda G, T: F(G @ T),
                lambda G, w, n: sqrt(n) * w**2,
                zero=[lambda G, T, w, n: w * (G @ T) - w**3 * eye(n)],
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
)
