"""Derivatives: the chain rule, and norms of differentials of softmax, exponential, normalisation and iterations."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.shared.matrices import orthogonal_matrix
from theorems.norms.settings import SKEW, SMALL, Logits, Matrix, Next, Share, Square, Steps, number, two_norms
from verify.matrix import (
    COLUMN, block_diag, column, diag, each, expm, eye, frobenius_norm, iterated, kron, maximum, normalize_rows, rational,
    row_norms, softmax, spectral_norm, sqrt, total, unvec_r, vec_r,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Real, Shape, realises

Before = Annotated[Any, Shape("p", "m", role="query")]
After = Annotated[Any, Shape("n", "p")]
Offset = Annotated[Any, Real(2.0**-6, 1.0)]
Frame = Annotated[Any, Shape("r", "r")]


def along(J: Any, E: Any) -> Any:
    """The differential along E, J vec(E) in the shape of E (row-major)."""
    return unvec_r(J @ vec_r(E), *E.shape)


# -- the chain rule ----------------------------------------------------------------------------------------------------


def between(A: Before, Y: Logits, B: After) -> Any:
    """A softmax(Y) B, shape (p, p)."""
    return A @ softmax(Y) @ B


CHAIN = Claim(SMALL, "norms.chain-rule", label="Chain rule for products", name="derivative of a product with constant factors",
    statement=r"\partial(A\,f(Y)\,B) = (A\otimes B^\top)\,\partial f(Y),\text{ row-major, with } f = \operatorname{softmax}",
    relation=Equal(), sizes=("m", "n", "p"), all_sizes=True)  # fmt: skip


@CHAIN.formula
def factors_times_jacobian(A: Before, Y: Logits, B: After) -> Any:
    """(A (x) B^T) dsoftmax(Y), shape (p p, m n)."""
    return kron(A, B.T) @ jacobian(softmax, "T")(Y)


CHAIN.oracle(lambda A, Y, B: jacobian(between, "Y")(A, Y, B))
CHAIN.mutant("second factor not transposed", "kron(A, B.T) -> kron(B.T, A)")
CHAIN.mutant("no softmax", "jacobian(softmax, 'T')(Y) -> eye(Y.shape[0] * Y.shape[1])")

CONSTANTS = Claim(SMALL, "norms.constant-factors", label="Constant factors of a derivative",
    statement=r"\|\partial(A\,f(Y)\,B)\|_2 \le \|A\|_2\,\|\partial f(Y)\|_2\,\|B\|_2,\text{ with } f = \operatorname{softmax}",
    relation=AtMost(left="||d(A softmax(Y) B)||_2", ascent=False), sizes=("m", "n", "p"), uses=("norms.chain-rule",),
    name="norm of a derivative with constant factors")  # fmt: skip


@CONSTANTS.formula
def norms_of_factors(A: Before, Y: Logits, B: After) -> Any:
    """||A||_2 ||dsoftmax(Y)||_2 ||B||_2, a scalar."""
    return spectral_norm(A) * spectral_norm(jacobian(softmax, "T")(Y)) * spectral_norm(B)


CONSTANTS.oracle(lambda A, Y, B: spectral_norm(jacobian(between, "Y")(A, Y, B)))
CONSTANTS.mutant("nine tenths", lambda value: value * rational(9, 10))
CONSTANTS.mutant(
    "a fifth in the place of the derivative", lambda A, B: spectral_norm(A) * spectral_norm(B) * rational(1, 5)
)

NORMALISED = Claim(SMALL, "norms.normalisation-jacobian", label="Derivative of normalised rows",
    statement=r"\partial\frac{y}{\|y\|} = \frac{1}{\|y\|}\Big(I - \frac{y^\top y}{\|y\|^2}\Big)\text{ for every row }y",
    assumptions=[Assumption("no row vanishes", positive=lambda Y: row_norms(Y))], name="derivative of the normalisation of rows",
    relation=Equal(), sizes=("m", "n"), all_sizes=True)  # fmt: skip


@NORMALISED.formula
def projections_over_norms(Y: Matrix) -> Any:
    """blockdiag over the rows y of (I - y^T y / ||y||^2) / ||y||, shape (m n, m n)."""
    unit, radii = normalize_rows(Y), row_norms(Y)
    blocks = each(Y.shape[0], lambda i: (eye(Y.shape[1]) - unit[i : i + 1].T @ unit[i : i + 1]) / radii[i, 0])
    return block_diag(blocks)


NORMALISED.oracle(lambda Y: jacobian(normalize_rows, "A")(Y))
NORMALISED.mutant("no projection", "eye(Y.shape[1]) - unit[i:i + 1].T @ unit[i:i + 1] -> eye(Y.shape[1])")
NORMALISED.mutant("one norm for all rows", "radii[i, 0] -> radii[0, 0] * 2")


def weights_times_rows(X: Logits, D: Annotated[Any, Shape("n", "m")], C: Next) -> Any:
    """A(X) X C with A(X) = softmax(X D), shape (m, p)."""
    return softmax(X @ D) @ X @ C


def weights_of_rows(X: Logits, D: Annotated[Any, Shape("n", "m")]) -> Any:
    """A(X) = softmax(X D), shape (m, m)."""
    return softmax(X @ D)


PRODUCT_RULE = Claim(SMALL, "norms.product-rule", label="Product rule", name="derivative of a product of two functions",
    statement=r"""\partial\operatorname{vec}(AXC) = ((XC)^\top\otimes I)\,\partial\operatorname{vec}A + (C^\top\otimes A)\,
        \partial\operatorname{vec}X,\text{ column-major, with } A = \operatorname{softmax}(XD)""",
    relation=Equal(), sizes=("m", "n", "p"), all_sizes=True)  # fmt: skip


@PRODUCT_RULE.formula
def two_terms(X: Logits, D: Annotated[Any, Shape("n", "m")], C: Next) -> Any:
    """((X C)^T (x) I) d vec A + C^T (x) A, shape (m p, m n)."""
    A, slope = weights_of_rows(X, D), jacobian(weights_of_rows, "X", COLUMN)(X, D)
    return kron((X @ C).T, eye(X.shape[0])) @ slope + kron(C.T, A)


PRODUCT_RULE.oracle(lambda X, D, C: jacobian(weights_times_rows, "X", COLUMN)(X, D, C))
PRODUCT_RULE.mutant("wrong sign", "kron(C.T, A) -> -kron(C.T, A)")
PRODUCT_RULE.mutant("rows held fixed", lambda value, X, D, C: value - kron(C.T, weights_of_rows(X, D)))

# -- differentials -----------------------------------------------------------------------------------------------------

SOFTMAX = Claim(SMALL, "norms.softmax-differential", label="Differential of the softmax",
    statement=r"""\|dP\|_F \le \max_i\|\operatorname{diag}p_i - p_ip_i^\top\|_2\,\|dT\|_F \le \tfrac12\|dT\|_F\text{ for } P =
        \operatorname{softmax}(T)\text{ with rows } p_i""",
    name="norm of the differential of the softmax", sizes=("m", "n"),
    relation=AtMost(left="||dP||_F, and again", ascent=False))  # fmt: skip


def covariances(P: Any) -> Any:
    """The spectral norms of diag(p) - p p^T for the rows p of P, shape (m, 1)."""
    return column(*[spectral_norm(diag(P[i]) - P[i : i + 1].T @ P[i : i + 1]) for i in range(P.shape[0])])


@SOFTMAX.formula
def slopes_times_change(T: Logits, E: Matrix) -> Any:
    """max_i ||diag(p_i) - p_i p_i^T||_2 ||E||_F and ||E||_F / 2, shape (2, 1)."""
    return column(maximum(covariances(softmax(T))) * frobenius_norm(E), frobenius_norm(E) * rational(1, 2))


SOFTMAX.oracle(lambda T, E: column(*[frobenius_norm(along(jacobian(softmax, "T")(T), E))] * 2))
SOFTMAX.mutant("the first row", "maximum(covariances(softmax(T))) -> covariances(softmax(T))[0, 0]")
SOFTMAX.mutant("nine twentieths", "rational(1, 2) -> rational(9, 20)")

EXPONENTIAL = Claim(SMALL, "norms.exponential-differential", label="Differential of the exponential at a skew matrix",
    statement=r"\|d\exp(S)\| \le \|dS\|\text{ for skew } S,\text{ in }\|\cdot\|_2\text{ and }\|\cdot\|_F", sizes=("n",),
    assumptions=[SKEW], relation=AtMost(left="norms of d exp(S)", ascent=False),
    name="norm of the differential of the exponential")  # fmt: skip


@EXPONENTIAL.inputs
@realises({"S is skew": reached.SKEW})
def skew_and_change(G: Square, E: Square) -> dict[str, Any]:
    return {"S": (G - G.T) * rational(1, 3), "E": E}


@EXPONENTIAL.formula
def norms_of_change(E: Square) -> Any:
    """||E||_2 and ||E||_F for the change E of S, shape (2, 1)."""
    return two_norms(E)


EXPONENTIAL.oracle(lambda S, E: two_norms(along(jacobian(expm, "A")(S), E)))
EXPONENTIAL.mutant("nine tenths", lambda value: value * rational(9, 10))
EXPONENTIAL.mutant("the larger norm halved", "two_norms(E) -> two_norms(E) * rational(1, 2)")

NORMALISATION = Claim(SMALL, "norms.normalisation-differential", label="Differential of a normalisation",
    statement=r"\Big\|d\,\frac{M}{\|M\|_F + \varepsilon}\Big\|_F \le \frac{1}{\varepsilon}\|dM\|_F", sizes=("m", "n"),
    assumptions=[
        Assumption("epsilon > 0", positive=lambda epsilon: epsilon), Assumption("M is not 0", positive=lambda M: total(M * M))],
    name="derivative of a matrix over its norm", relation=AtMost(left="||d(M / (||M||_F + epsilon))||_F", ascent=False),
    note="At M = 0 the map has the derivative I / epsilon.")  # fmt: skip


def normalised(M: Matrix, epsilon: Offset) -> Any:
    """M / (||M||_F + epsilon), shape (m, n)."""
    return M / (frobenius_norm(M) + epsilon)


@NORMALISATION.formula
def one_over_epsilon(M: Matrix, epsilon: Offset) -> Any:
    """1 / epsilon, a scalar: the norm of the Jacobian."""
    return 1 / epsilon + 0 * total(M)


NORMALISATION.oracle(lambda M, epsilon: spectral_norm(jacobian(normalised, "M")(M, epsilon)))
NORMALISATION.mutant("nine tenths", lambda value: value * rational(9, 10))
NORMALISATION.mutant("an epsilon more", "1 / epsilon -> 1 / (epsilon + epsilon)")

# -- iterations --------------------------------------------------------------------------------------------------------


def iterate(M: Matrix, u: Share, K: Steps) -> Any:
    """M_K after K steps M -> (1 - u) M + u M (3 I - M^T M) / 2, shape (m, n): on singular values increasing and concave."""
    return iterated(K, lambda M: M * (1 - u) + M @ (3 * eye(M.shape[1]) - M.T @ M) * u * rational(1, 2), M)


@realises(
    but=(
        "a block of a frame of fewer than m + n columns has some singular values equal to 1; every matrix with singular values"
        " of at most 1 is a block of a frame of m + n columns, and those are drawn too"
    )
)
def contraction(G: Frame, A: Matrix, E: Matrix, u: Share, K: Steps) -> dict[str, Any]:
    """A block of an orthogonal matrix: any matrix with singular values at most 1 is one, for frames large enough."""
    m, n = A.shape
    return {"M": orthogonal_matrix(G)[:m, :n], "E": E, "u": u, "K": K}


ITERATIONS = SMALL.extended("Iterations",
    assumptions=[
        Definition(
            "M_0 = M, M_{k+1} = (1 - u) M_k + u M_k (3 I - M_k^T M_k) / 2: a singular value s of M_k becomes g(s), with g(s) ="
            " (1 - u) s + u s (3 - s^2) / 2", by=iterate),
        Assumption("no singular value of M is above 1", nonnegative=lambda M: 1 - spectral_norm(M)),
        Assumption("0 <= u <= 1", nonnegative=lambda u: column(u, 1 - u)),
    ],
    sizes={"m": (1, 2), "n": (1, 2), "r": (2, 4), "K": (0, 3)}, inputs=contraction)  # fmt: skip

ITERATION = Claim(ITERATIONS, "norms.iteration-differential", label="Differential of an iteration",
    statement=r"\|dM_K\|_F \le (\max_{[-1, 1]}|g'|)^K\,\|dM\|_F,\quad g(s) = (1-u)s + us(3 - s^2)/2,\ \max|g'| = 1 + u/2",
    name="differential of a polynomial iteration", relation=AtMost(left="||dM_K||_F", ascent=False),
    sizes=("m", "n", "r", "K"))  # fmt: skip


@ITERATION.formula
def powers_of_the_slope(E: Matrix, u: Share, K: Steps) -> Any:
    """(1 + u/2)^K ||E||_F, a scalar."""
    return (1 + u * rational(1, 2)) ** K * frobenius_norm(E)


ITERATION.oracle(lambda M, E, u, K: frobenius_norm(along(jacobian(iterate, "M")(M, u, K), E)))
ITERATION.mutant("a smaller slope", "rational(1, 2) -> rational(2, 5)")
ITERATION.mutant("one step", "(1 + u * rational(1, 2)) ** K -> 1 + u * rational(1, 2) * min(K, 1)")

BESIDE = Claim(ITERATIONS, "norms.iteration-beside-its-start", label="Differential of an iteration beside its start",
    statement=r"""\|dM_K\,M^\top\|_F,\ \|dM_K^\top\,M\|_F \le \sqrt2\,\|dM\|_F\text{ for } g\text{ increasing and concave on }[0,
        1],\ g(0) = 0,\ g(1) \le 1,\ M_K\text{ with the singular vectors of }M\text{ and the singular values }g(\sigma_i(M))""",
    note="""Tried for the $g$ of $K$ steps, the function of one step applied $K$ times. The proof is that in the note of
        osa.newton-schulz-differential, which uses of $g$ only what is stated.""",
    name="differential of an iteration times its start", sizes=("m", "n", "r", "K"),
    relation=AtMost(left="||dM_K M^T||_F, ||dM_K^T M||_F", ascent=False))  # fmt: skip


@BESIDE.formula
def root_of_two(E: Matrix) -> Any:
    """sqrt(2) ||E||_F twice, shape (2, 1)."""
    return column(sqrt(2) * frobenius_norm(E), sqrt(2) * frobenius_norm(E))


@BESIDE.oracle
def changes_beside_the_start(M: Any, E: Any, u: Any, K: int) -> Any:
    change = along(jacobian(iterate, "M")(M, u, K), E)
    return column(frobenius_norm(change @ M.T), frobenius_norm(change.T @ M))


BESIDE.mutant("one half", "sqrt(2) -> rational(1, 2)")
BESIDE.mutant("slope lost with each step", lambda value, K: value / (K + 1))

SYMMETRIC = Claim(ITERATIONS, "norms.iterate-and-start", label="An iterate and its start",
    statement=r"M_K^\top M = M^\top M_K", name="a symmetric product of an iterate and its start", relation=Equal(),
    all_sizes=True, sizes=("m", "n", "r", "K"))  # fmt: skip


@SYMMETRIC.formula
def iterate_times_start(M: Matrix, u: Share, K: Steps) -> Any:
    """M_K^T M, shape (n, n)."""
    return iterate(M, u, K).T @ M


SYMMETRIC.oracle(lambda M, u, K: M.T @ iterate(M, u, K))
SYMMETRIC.mutant("the start alone", "iterate(M, u, K).T @ M -> M.T @ M")
SYMMETRIC.mutant("a power more", "iterate(M, u, K).T @ M -> iterate(M, u, K).T @ M @ M.T @ M")

CONTRACTION = Claim(ITERATIONS, "norms.iterated-polynomial", label="Iterated polynomial",
    statement=r"""\|M_K\|_2 \le 1\text{ from }\|M\|_2 \le 1\text{ for } M_{k+1} = M_kp(M_k^\top M_k),\ |sp(s^2)|
        \le 1\text{ for every }s\text{ in }[0, 1]""",
    name="an iteration that keeps contractions",
    note=r"""Tried for $p(x) = 1 - u + u(3 - x)/2$. For every polynomial $p$ the singular values of $M_{k+1}$ are the
        $|sp(s^2)|$ for those $s$ of $M_k$.""",
    relation=AtMost(left="||M_K||_2", ascent=False), sizes=("m", "n", "r", "K"))  # fmt: skip


@CONTRACTION.formula
def one(M: Matrix) -> Any:
    """1, a scalar."""
    return number(1, M)


CONTRACTION.oracle(lambda M, u, K: spectral_norm(iterate(M, u, K)))
CONTRACTION.mutant("nine tenths", "number(1, M) -> number(rational(9, 10), M)")
CONTRACTION.mutant("the norm of the start", "number(1, M) -> spectral_norm(M)")
