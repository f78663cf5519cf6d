"""Expressions at which the rules of the prover of identities must not fire, although they nearly could.

For each rule: an index that is used elsewhere, another row, the transpose, overlapping slices, an unknown sign, a power that
is not whole.  Every expression is evaluated in floats too, so that a rule that fires unnoticed is seen by its value.

X, Y (n, d), W (d, k), G, H (d, d), T (n, n), t (1, n), V (d + k, n), P (d k, n), c a real scalar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.symbolic_cases import corner, skew_inverse
from verify.matrix import (
    COLUMN,
    basis_vector,
    block_diag,
    concatenate,
    diag,
    diag_part,
    each,
    exp,
    expm,
    eye,
    indexed,
    inverse,
    iterated,
    kron,
    log,
    not_later,
    ones,
    row_sums,
    softmax,
    sqrt,
    step,
    stepped,
    trace,
    vec_r,
)
from verify.oracles import jacobian

Expression = Callable[..., Any]


def _blocks(*rows: list[Any]) -> Any:
    return concatenate([concatenate(row, axis=1) for row in rows], axis=0)


def _diagonal(t: Any) -> Any:
    return diag(t)


def _first(n: Any, width: Any) -> Any:
    return eye(n)[:, :width]


def _split(P: Any, first: Any, rest: Any) -> Any:
    return P.reshape(first, rest, P.shape[1])


#: By the name of the rule.
MUST_NOT_FIRE: dict[str, tuple[Expression, ...]] = {
    # -- products --------------------------------------------------------------------------------------------------
    "sums over Kronecker deltas": (lambda X, W: X @ W, lambda T: T * T.T),
    "softmax rows sum to one": (
        lambda T: ones(1, T.shape[0]) @ softmax(T),  # columns
        lambda T, X: softmax(T) @ X,  # the index is used elsewhere
        lambda T: row_sums(softmax(T) * T),
        lambda T: row_sums(softmax(T) * softmax(T)),
        lambda T: trace(softmax(T)),
    ),
    "a step is 0 or 1": (
        lambda X, Y: step(X) * step(Y),
        lambda G: step(G) * step(G.T),
        lambda X: step(X) @ step(X).T,  # another row
        lambda X: step(X) * step(-X),
        lambda X: X * X * step(X),
    ),
    "unit vectors are orthonormal": (
        lambda X: X @ basis_vector(X.shape[1], 0) @ basis_vector(X.shape[0], 0).T,
        lambda X, Y: X[:1].T @ Y[:, :1].T,
        lambda X: (basis_vector(X.shape[0], 0) * X) @ X.T,
        lambda T: basis_vector(T.shape[0], 0) @ basis_vector(T.shape[0], 0).T + T,  # both indices remain
    ),
    "an identity of a given size is a sum over unit vectors": (
        lambda X: kron(X, eye(5)),
        lambda X: X @ eye(X.shape[1]) @ X.T,
    ),
    "columns of the identity are orthonormal": (
        lambda W: _first(sum(W.shape), W.shape[0]).T @ eye(sum(W.shape))[:, W.shape[1] :],  # overlapping slices
        lambda V, W: _first(V.shape[0], W.shape[0]).T @ diag(V[:, :1]) @ _first(V.shape[0], W.shape[0]),
        lambda V, W: (V * V)[: W.shape[0]],
        lambda W: _first(sum(W.shape), W.shape[0]) @ _first(sum(W.shape), W.shape[0]).T,  # rows, not columns
    ),
    "of two comparisons of positions the narrower decides": (
        lambda T: (not_later(*T.shape) * T) @ not_later(*T.shape),  # of other positions
        lambda T: not_later(*T.shape, 1) * not_later(*T.shape, -1).T * T,
        lambda T, W: not_later(*T.shape, W.shape[0]) * not_later(*T.shape, W.shape[1]) * T,  # the sizes decide
        lambda T, W: not_later(*T.shape, W.shape[0] - W.shape[1]) * not_later(*T.shape) * T,
    ),
    "a position compared with itself": (
        lambda T: diag_part(not_later(*T.shape) @ T),
        lambda T, W: diag_part(not_later(*T.shape, W.shape[0] - W.shape[1]) * T),  # of either sign
        lambda T, W: diag_part(not_later(*T.shape, W.shape[0] - 2) * T),
        lambda T: trace(not_later(*T.shape) @ T),
    ),
    "the first position is not later than any": (
        lambda T: basis_vector(T.shape[0], 0).T @ not_later(*T.shape, 1) @ T,  # of the rows
        lambda T: not_later(*T.shape, -1) @ basis_vector(T.shape[0], 0),
        lambda T, W: not_later(*T.shape, W.shape[0] - W.shape[1]) @ basis_vector(T.shape[0], 0),
        lambda T: not_later(*T.shape) @ T @ basis_vector(T.shape[0], 0),
    ),
    "an index is its two parts": (
        lambda P, W: indexed("pqi,prj->(q i)(r j)", *[_split(P, *W.shape)] * 2),  # of the pair one part is shared
        lambda P, W: indexed("pqi,rqj->(p i)(r j)", *[_split(P, *W.shape)] * 2),
        lambda P, W: indexed("pqi,rsi->(p q)(r s)", _split(P, *W.shape), _split(P, *W.shape[::-1])),
        lambda P, W: indexed("pqi,pi->(q)(i)", _split(P, *W.shape), W[:, :1] @ P[:1]),
    ),
    "a function at equal indices is the function of the diagonal": (
        lambda T: exp(T) * exp(T.T),
        lambda T: step(T) @ ones(T.shape[0], 1),
        lambda X: log(1 + X * X) @ X.T,
    ),
    "exponentials and powers of one argument multiply": (
        lambda X, Y: exp(X) * exp(Y),
        lambda T: exp(T) * exp(T.T),
        lambda X: exp(X) @ exp(X).T,  # another row
        lambda X, Y: 1 / (1 + X * X) / (1 + Y * Y),
        lambda T: 1 / (1 + T * T) / (1 + T * T).T,
        lambda X: exp(X) / (1 + X * X),
    ),
    "an entry times its inverse power": (
        lambda X, Y: Y / (1 + X * X),
        lambda X, Y: X * Y / (1 + X * X),
        lambda X: X * X / row_sums(X * X),  # what is summed there is not summed here
        lambda X, W: (X * X / row_sums(X * X)) @ W,
        lambda T: T * T / (1 + T * T).T,
        lambda T: row_sums(T * T) / (ones(1, T.shape[0]) @ (T * T)),  # another row
        lambda X: X * X * sqrt(1 + X * X),
    ),
    "P P^T = (P + P^T) / 2c for the inverse P of c I + K, K skew": (
        lambda G: skew_inverse(G) @ skew_inverse(G),
        lambda G: skew_inverse(G) * skew_inverse(G),
        lambda G: skew_inverse(G) @ diag(G[:, :1]) @ skew_inverse(G).T,  # the index is used elsewhere
        lambda G: inverse(eye(G.shape[0]) + G) @ inverse(eye(G.shape[0]) + G).T,
    ),
    "a matrix times its inverse": (
        lambda G, H: inverse(G) @ H,
        lambda G: inverse(G) @ G.T,
        lambda G: inverse(G) * G,
        lambda G: inverse(G) * G.T,
        lambda G: inverse(G) @ diag(G[:, :1]) @ G,
        lambda G, X: inverse(G.T @ G) @ (G @ G.T),
    ),
    # -- exponentials of matrices ----------------------------------------------------------------------------------
    "exp(M) C exp(-N) = C where M C = C N": (
        lambda G, H: expm(G) @ expm(-H),
        lambda G: expm(G) @ expm(-G.T),
        lambda G: expm(G) @ expm(G),
        lambda G: expm(G) * expm(-G),
        lambda G: expm(G) @ diag(G[:, :1]) @ expm(-G),
        lambda G, H: expm(G) @ H @ expm(-G),
        lambda G, H: expm(G) @ (H * H) @ expm(-G),
    ),
    "push-through f(AB) A = A f(BA)": (
        lambda X, Y, G: expm(X @ G @ X.T) @ Y,
        lambda X, G, t: expm(X @ G @ X.T) @ diag(t) @ X,  # the index is used elsewhere
        lambda X, G, t: expm(X @ G @ X.T) * (ones(t.shape[1], 1) @ t),
        lambda X, G: (expm(X @ G @ X.T) * (X @ X.T)) @ X,
        lambda X, T: expm(X @ X.T + T) @ X,
    ),
    "M phi(M) = exp(M) - I": (
        lambda G, H: corner(G, eye(G.shape[0]), G * 0) @ H,
        lambda G: corner(G, eye(G.shape[0]), G * 0) @ G.T,
        lambda G: corner(G, eye(G.shape[0]), G * 0) * G,
        lambda G: corner(G, eye(G.shape[0]), G * 0) @ diag(G[:, :1]) @ G,
        lambda G: diag(G[:, :1]) @ corner(G, eye(G.shape[0]), G * 0),
    ),
    "M D(M, N) = D(M, N) N + exp(M) - exp(N)": (
        lambda G, H, W: corner(G, W @ W.T, H),
        lambda G, H: H @ corner(G, H @ H.T, H),
        lambda G, H: G * corner(G, H.T, H),
        lambda G, H: diag(G[:, :1]) @ corner(G, H.T, H),
    ),
    "int exp(s M) exp((1 - s) M) ds = exp(M)": (
        lambda G, H: corner(G, H, G),
        lambda G, H: corner(G, eye(G.shape[0]), H),
        lambda G: corner(G, G.T, G),
        lambda G: corner(G, diag(G[:, :1]), G),
    ),
    "exp(M) M = M exp(M)": (
        lambda G, H: expm(G) @ H,
        lambda G: expm(G) @ G.T,
        lambda G: expm(G) * G,
        lambda G: expm(G) @ diag(G[:, :1]) @ G,
        lambda G, H: expm(G @ H) @ H @ G,
    ),
    "exp(V M V^T) = I + V (exp(M) - I) V^T where V^T V = I": (
        lambda W, G: expm(W @ W.T @ G),
        lambda W: expm(W @ W.T),  # of W nothing is known
        lambda X, G: expm(X @ G @ X.T),
    ),
    "exp(V M V^-1) = V exp(M) V^-1": (
        lambda G, H: expm(G @ H @ inverse(G).T),
        lambda G, H: expm(G @ H @ inverse(H)),
        lambda G, H: expm(G @ H @ inverse(G) + H),  # V is not at the end of every term
        lambda G, H: expm(G @ H @ inverse(2 * G + H)),
        lambda G, H: expm(diag(G[:1]) @ H @ inverse(G)),
        lambda G, H: expm(H @ inverse(G)),
        lambda G, H: expm(G * H * inverse(G)),
    ),
    "exp(M) C = exp(M) + C - I where M C = M": (
        lambda G, W: expm(G) @ W @ W.T,
        lambda G, W: expm(G @ W @ W.T) @ W @ W.T,
        lambda G, W: expm(G @ W @ W.T) @ W @ diag(W[:1]) @ W.T,
    ),
    # -- softmax ---------------------------------------------------------------------------------------------------
    "softmax times its normaliser is the exponential": (
        lambda T: softmax(T) * row_sums(exp(2 * T)),
        lambda T: softmax(T) * row_sums(exp(T.T)),  # of another row
        lambda T: softmax(T) * (ones(1, T.shape[0]) @ exp(T)),
        lambda T: softmax(T) @ row_sums(exp(T)),
        lambda T: softmax(T) * exp(T.T),
    ),
    "exponentials over their sum are a softmax": (
        lambda T: exp(T) / row_sums(exp(T.T)),
        lambda T: exp(T) / row_sums(exp(2 * T)),
        lambda T: exp(T) / (1 + row_sums(exp(T))),
        lambda T: exp(T).T / row_sums(exp(T)),
        lambda T, X: exp(T) / (exp(T) @ X[:, :1]),
        lambda T: exp(T) / sqrt(row_sums(exp(T))),
    ),
    # -- functions of entries --------------------------------------------------------------------------------------
    "exp(log x) = x": (
        lambda X: exp(2 * log(1 + X * X)),
        lambda X: exp(row_sums(log(1 + X * X))),
        lambda X: exp(X * log(1 + X * X)),
        lambda X: log(1 + exp(X)),
    ),
    "log(exp x) = x": (
        lambda X: log(row_sums(exp(X))),
        lambda X: log(2 * exp(X)),
        lambda X: log(exp(X) + 1),
        lambda X: log(exp(X) * (1 + X * X)),
    ),
    "a step of a number of known sign": (
        lambda X, c: step(0 * X + c),
        lambda X, c: step(0 * X - c * c),
        lambda X: step(0 * X + (X.shape[1] - 3)),
    ),
    "step(c x) = step(x) for c > 0": (
        lambda X: step(-X),
        lambda X, c: step(c * X),
        lambda X: step((X.shape[1] - 3) * X),
        lambda X: step(X * X * X),
        lambda X: step(exp(X) - exp(2 * X)),  # both terms are positive
        lambda X: step(X @ exp(X).T),  # a positive factor that is summed
        lambda X: step(row_sums(X)),
    ),
    "(c x)^p = c^p x^p for whole p or c > 0": (
        lambda X, c: sqrt(c * X * X * X * X),
        lambda X: sqrt(-(X * 0 - 1 - X * X)),
        lambda X: sqrt((1 + X * X) * (1 + X * X)),
    ),
    "(x y)^p = x^p y^p for whole p": (
        lambda X, Y: sqrt(X * X * Y * Y),
        lambda X, Y: 1 / (X * X + Y * Y),
        lambda X, Y: 1 / row_sums(X * Y),
        lambda X, W: 1 / (X @ W),
    ),
    "(x^a)^p = x^(a p) for whole p or a root x^a": (
        lambda X: sqrt(X * X),
        lambda X: sqrt(1 / (X * X)),  # 1 / |x|, not 1 / x
        lambda X, Y: sqrt(1 / (X * X) / (Y * Y)),
        lambda X: sqrt(1 / (1 + X * X) / (1 + X * X)),
        lambda X, Y: sqrt(1 / (X * Y) / (X * Y)),
        lambda X: sqrt(row_sums(1 / (1 + X * X))),
    ),
    "exp(x)^p = exp(p x)": (
        lambda X: sqrt(1 + exp(X)),
        lambda X: 1 / row_sums(exp(X)),
        lambda T: 1 / (exp(T) @ exp(T)),
    ),
    "a softmax of equal entries is uniform": (
        lambda X: softmax(X),
        lambda T: softmax(row_sums(T).T),
        lambda T: softmax(T + row_sums(T)),
    ),
    "a softmax takes no notice of what is constant in its rows": (
        lambda T: softmax(T + row_sums(T).T),
        lambda T: softmax(2 * T),
        lambda T: softmax(T * row_sums(T)),
    ),
    # -- inverses and blocks ---------------------------------------------------------------------------------------
    "the inverse of a permutation is its transpose": (
        lambda G: inverse(G),
        lambda X: inverse(ones(X.shape[1], X.shape[1]) + eye(X.shape[1])),
        lambda G, W: inverse(kron(eye(W.shape[1]), G)),
        # vec(I) vec(I)^T: two deltas, within the rows and within the columns
        lambda G: inverse(vec_r(eye(G.shape[0])) @ vec_r(eye(G.shape[0])).T + eye(G.shape[0] ** 2)),
    ),
    "(c M)^-1 = M^-1 / c": (lambda G: inverse(G), lambda G, H: inverse(G @ H)),
    "the inverse of a transpose is the transpose of the inverse": (lambda G: inverse(G + G.T),),
    "f(I (x) K) = I (x) f(K)": (
        lambda G: expm(G),
        lambda X: expm(block_diag(each(X.shape[0], lambda i: X[i : i + 1].T @ X[i : i + 1]))),  # of different blocks
    ),
    "exponential and inverse of blocks on the diagonal": (
        lambda G: expm(G),
        lambda G, H: expm(_blocks([G, H], [0 * H, H])),
        lambda X, T: inverse(_blocks([eye(X.shape[1]), X.T], [X, T])),
    ),
    "exp [[M, E], [0, N]] has the integral of exp(s M) E exp((1 - s) N) as its corner": (
        lambda G, H: expm(_blocks([G, 0 * H], [0 * G, H])),
        lambda G, H: expm(_blocks([G, 0 * H], [H, G])),
        lambda G, H: expm(_blocks([G, H], [H, G])),
    ),
    "exp(Y Z) = I + Y phi(Z Y) Z": (
        lambda G, H: expm(_blocks([G, H], [H, G])),
        lambda G, X: expm(_blocks([G @ G, G @ X.T], [X @ G, X @ X.T + eye(X.shape[0])])),
    ),
    "the inverse of [[I, B], [C, D]] by D - C B": (
        lambda G, H: inverse(_blocks([G, H], [H, G])),
        lambda G, X: inverse(_blocks([2 * eye(G.shape[0]), X.T], [X, X @ X.T])),
        lambda G, H: inverse(_blocks([eye(G.shape[0]), 0 * G], [0 * G, H])),
    ),
    # -- derivatives and expectations ------------------------------------------------------------------------------
    "derivative of exp": (lambda X, W: jacobian(lambda X: X @ W @ W.T * row_sums(exp(W).T).T[:, :1], "X")(X),),
    "derivative of power": (lambda X, W: jacobian(lambda X: X @ W / (1 + row_sums(W * W)).T[:, :1], "X")(X),),
    "derivative of log": (lambda X, W: jacobian(lambda X: X @ log(1 + W * W), "X")(X),),
    "derivative of softmax": (lambda X, G: jacobian(lambda X: X @ softmax(G), "X")(X),),
    "derivative of inverse": (lambda X, G: jacobian(lambda X: X @ inverse(G), "X", COLUMN)(X),),
    "derivative of expm": (lambda X, G: jacobian(lambda X: X @ expm(G), "X")(X),),
    "derivative of iterate": (
        lambda X, G: jacobian(lambda X: X @ iterated(X.shape[1], lambda M: M @ M, G), "X")(X),
        lambda X: jacobian(lambda X: iterated(2, lambda M: M @ M.T @ M, X), "X")(X),
    ),
    "an iterate B of M has symmetric B^T M and B M^T, by induction": (
        lambda G, H: iterated(G.shape[0], lambda M: M @ M.T @ M / 8, G).T @ H,  # another start
        lambda G: iterated(G.shape[0], lambda M: M @ M.T @ M / 8, G) @ G,  # not the transpose
        lambda G: iterated(G.shape[0], lambda M: M @ M / 8, G).T @ G,  # a step that does not keep it
        lambda G, H: iterated(G.shape[0], lambda M: M @ M.T @ M / 8, G + H).T @ (G + H),  # a start that is no input
    ),
    "iterates commute with what each step commutes with, by induction": (
        lambda X, G: iterated(X.shape[0], lambda M: M @ M.T @ M / 8, X @ G),  # G is not orthogonal
        lambda X, G: iterated(X.shape[0], lambda M: M @ M.T @ M / 8, X @ G.T),
        lambda X, G: iterated(X.shape[0], lambda M: M + 1, X @ G),  # not linear
        lambda X, G, H: iterated(X.shape[0], lambda M: M / 2, X @ G + X @ H),  # two factors
        lambda X, W: iterated(X.shape[0], lambda M: M / 2, X @ W),  # not square
        lambda G: iterated(G.shape[0], lambda M: M @ M / 8, G @ G),
        lambda X, G: iterated(X.shape[0], lambda M: softmax(M), X @ G),
    ),
    "the unit vector of one step": (
        lambda X, T: stepped(X.shape[0], lambda k, M: T @ M / 8, X),  # nothing is read at the step
        lambda X, G: stepped(G.shape[0], lambda k, M: M * G[k] / 2, X),  # one thing is
        lambda X, G: stepped(G.shape[0], lambda k, M: M * G[k] / 2, stepped(G.shape[0], lambda k, M: M * G[k] / 2, X)),
    ),
    "what holds of the starts, and of all images of what it holds of, holds of the iterates, by induction": (
        lambda X, G: stepped(G.shape[0], lambda k, M: M * G[k] / 2, X) - X,
        lambda X, Y, G: stepped(G.shape[0], lambda k, M, P: (P, M), X, Y)[0],
    ),
    "terms of second order have no slope at 0": (
        lambda X: jacobian(lambda X: X * X, "X")(X),  # not at 0
        lambda X: jacobian(lambda Z: X * X + Z, "Z")(X * 0),
        lambda X, c: jacobian(lambda s: X * X * s, "s")(0 * X[:1, :1] + c),
    ),
    "equal entries of normal matrices in pairs": (lambda X: X @ X.T,),
}

#: By the property of X (n, d) or G (d, d) that is given; none of them reduces what stands here.
MUST_NOT_FIRE_THOUGH_GIVEN: dict[tuple[str, str], tuple[Expression, ...]] = {
    ("W", "has orthonormal columns"): (
        lambda W: W @ W.T,
        lambda W: W * W,
        lambda W: row_sums(W * W),
        lambda W: W.T @ diag(W[:, :1]) @ W,  # the index is used elsewhere
        lambda W, G: W.T @ G @ W,
    ),
    ("W", "has orthonormal rows"): (
        lambda W: W.T @ W,
        lambda W: ones(1, W.shape[0]) @ (W * W),
        lambda W: W @ diag(W[:1]) @ W.T,
        lambda W: W[:, :1] @ W[:, :1].T,
    ),
    ("X", "has unit rows"): (
        lambda X: X @ X.T,  # another row
        lambda X: ones(1, X.shape[0]) @ (X * X),  # columns
        lambda X: row_sums(X * X * X),
        lambda X, Y: row_sums(X * Y),
        lambda X: X.T @ X,
        lambda X, W: (X * X) @ W,  # the index is used elsewhere
    ),
    ("G", "is symmetric"): (lambda X, W: X @ W, lambda H: H - H.T),
    ("G", "is skew"): (lambda X, W: X @ W, lambda H: H + H.T),
    ("G", "is idempotent"): (
        lambda G: G.T @ G,
        lambda G: G @ G.T,
        lambda G: G * G,
        lambda G: G @ diag(G[:, :1]) @ G,  # the index is used elsewhere
        lambda G, H: G @ H @ G,
        lambda G: trace(G) * trace(G),
    ),
    ("P", "has skew blocks"): (lambda P, G: P, lambda P: P @ P.T, lambda P: P.T @ P),
    ("X", "has unit parts of width k"): (
        lambda X: X @ X.T,
        lambda X: ones(1, X.shape[0]) @ (X * X),
        lambda X, W: (X * X) @ W,
        lambda X, Y: row_sums(X * Y),
    ),
}
