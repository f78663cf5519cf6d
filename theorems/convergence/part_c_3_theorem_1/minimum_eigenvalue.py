"""lambda_0, the smallest eigenvalue of the expected Gram matrix of the hidden layer: Eqs. (38)-(43), steps of Lemma 15.

Eqs. (39) and (43) are slips (absolute values, a variance); Eq. (42) bounds lambda_0 from above for any number of samples.
"""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import KeyWeights, QueryWeights, Samples, expected_relu_products
from theorems.convergence.part_c_1_lemmas.constants import ASSUMPTION_1, sample_bound, stacked
from theorems.convergence.part_d_1_limiting_kernel.gradients import attention_row
from theorems.convergence.settings import Features, Scale, Tokens, Variance
from verify.arithmetics import is_tensor
from verify.matrix import (
    absolute, concatenate, frobenius_norm, maximum, rational, relu, row_sums, singular_values, softmax, sqrt,
    stack_rows, symmetric_eigenvalues, trace,
)  # fmt: skip
from verify.vocabulary import (
    ArithmeticUnsupported, Assumption, AtMost, Claim, Construction, Convention, Definition, Equal, Reading, Setting,
    Shape, checked,
)  # fmt: skip

DATA = Setting(CONVERGENCE, "Lemma 15", sizes={"N": (1, 4), "d_s": (1, 3), "d": (1, 4), "d_m": (1, 2)})
ROWS = Setting(
    CONVERGENCE, "Eq. (43)", assumptions=[Definition("w ~ N(0, eta_V I)", by=expected_relu_products)],
    sizes={"N": (1, 3), "d": (1, 4)}, exact=True,
)  # fmt: skip
VARIANCE = Assumption("eta_V > 0", positive=lambda eta_V: eta_V)


def attention_of_first_tokens(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Any) -> list[Any]:
    """beta_{1,1}, ..., beta_{1,N}, each of shape (d_s, 1) (Lemma 15)."""
    return [attention_row(X[n], W_Q, W_K, tau_0, 0) for n in range(X.shape[0])]


def first_features(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Any) -> Any:
    """Phi, shape (N, d): row n is beta_{1,n}^T X_n (Lemma 15, Eqs. (47) and (53))."""
    betas = attention_of_first_tokens(X, W_Q, W_K, tau_0)
    return stack_rows([beta.T @ X[n] for n, beta in enumerate(betas)])


def smallest_eigenvalue(B: Any) -> Any:
    """lambda_min of a symmetric matrix, a scalar."""
    return symmetric_eigenvalues(B)[0]


def expected_gram(Phi: Features, eta_V: Any) -> Any:
    """E relu(Phi w) relu(Phi w)^T for w ~ N(0, eta_V I), shape (N, N)."""
    return expected_relu_products(Phi, Phi) * eta_V


def lambda_0(Phi: Features, eta_V: Any) -> Any:
    """lambda_min of the expected Gram matrix, a scalar (Lemma 15)."""
    return smallest_eigenvalue(expected_gram(Phi, eta_V))


def pi_in(x: Any) -> Any:
    """The number pi in the arithmetic of x."""
    import flint

    if is_tensor(x):
        import torch

        return torch.pi
    if isinstance(x, flint.arb):
        return flint.arb.pi()
    raise ArithmeticUnsupported("pi is irrational: evaluate in balls")


def similarity(X: Any, Y: Any) -> Any:
    """<X^T X, Y^T Y>, a scalar (Assumption 3)."""
    return trace((X.T @ X) @ (Y.T @ Y))


@checked
def eigenvalue_over_hermite_coefficient(Phi: Features, eta_V: Variance) -> Any:
    """lambda_0 / (eta_V mu^2) with mu = 1/2, a scalar (Eq. (38))."""
    return lambda_0(Phi, eta_V) * 4 / eta_V


EQ_38 = Claim(CONVERGENCE, "convergence.eq-38", label="Eq. (38) (also first display of the proof of Lemma 18)",
    statement=r"""\lambda_0\ge\eta_V\mu(\sigma_r)^2\lambda_{\min}(\Phi\Phi^\top),\quad\mu(\sigma_r)\text{ the 1-st
        Hermite coefficient of ReLU},\ \mu(\sigma_r)>0""",
    assumptions=[
        Construction("Phi in R^{N x d}", shapes={"Phi": ("N", "d")}),
        Definition("mu(sigma_r) = E[g relu(g)] = 1/2 for g ~ N(0, 1)", by=eigenvalue_over_hermite_coefficient), VARIANCE,
    ],
    name="expected Gram matrix against linear features", relation=AtMost(left="lambda_min(Phi Phi^T)"),
    sizes={"N": (1, 4), "d": (1, 4)},
    note=r"""No Hermite series is needed, so the rows may have any norm: for numbers $u$, $v$ of a symmetric law,
        $\mathrm{relu}(u) = (u + |u|)/2$ and $E u|v| = 0$, hence the expectation is $(\Phi \Phi^\top + E|\Phi w|
        |\Phi w|^\top)/4$ for $\eta_V = 1$. For $N
        > d$ the right-hand side is 0.""")  # fmt: skip


EQ_38.formula(eigenvalue_over_hermite_coefficient)
EQ_38.oracle(lambda Phi, eta_V: smallest_eigenvalue(Phi @ Phi.T))
EQ_38.mutant("mu instead of mu^2", "4 -> 2")
EQ_38.mutant("mu = 1, as for the identity", "4 -> 1")
EQ_38.mutant("eta_V^2", lambda value, eta_V: value / eta_V)


# -- Phi Phi^T by traces -----------------------------------------------------------------------------------------------

GRAM = Claim(DATA, "convergence.lemma-15-gram", label="Proof of Lemma 15, rewriting of Phi Phi^T",
    statement=r"""(\Phi\Phi^\top)^{(i,j)}=\mathrm{Trace}(B_{ij}^\top C_{ij}),\ B_{ij}=\beta_{1,i}\beta_{1,j}^\top,\
        C_{ij}=X_iX_j^\top;\quad XX^\top\text{ is positive definite if }X\text{ has full row rank}""",
    name="Gram matrix of attention features by traces",
    relation=Equal(), at_sizes=True, sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 3), "d_m": (1, 2)}, exact=True,
    note=r"""The second part is decided through $\det(X X^\top)$ as the sum of the squared minors of $X$ of order $d_s$
        (Cauchy and Binet): positive exactly where some minor is not zero. The identities hold at any rank.""",
)  # fmt: skip


def _determinant(A: Any) -> Any:
    """det A by the Leibniz formula, a scalar."""
    n = A.shape[0]
    value: Any = 0
    for order in permutations(range(n)):
        sign = (-1) ** sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
        term: Any = sign
        for row, column in enumerate(order):
            term = A[row, column] * term
        value = term + value
    return value


def _squared_minors(X: Any) -> Any:
    """The sum of the squared minors of order d_s of X (d_s, d), a scalar; 0 for d_s > d."""
    d_s, d = X.shape
    return sum((_determinant(X[:, list(chosen)]) ** 2 for chosen in combinations(range(d), d_s)), X[0, 0] * 0)


def _traces(X: Any, betas: list[Any], transposed: bool = True, mixed: bool = True) -> Any:
    """Trace(B_ij^T C_ij) for all i, j, shape (N, N)."""
    rows = []
    for i, a in enumerate(betas):
        entries = []
        for j, b in enumerate(betas):
            B, C = a @ b.T, X[i] @ X[j if mixed else i].T
            entries.append(trace((B.T if transposed else B) @ C))
        rows.append(stacked(entries))
    return stack_rows(rows)


def _with_determinant(gram: Any, determinant: Any) -> Any:
    return concatenate([gram.reshape(1, -1), stacked([determinant]).reshape(1, 1)], axis=1)


@GRAM.formula
def gram_by_traces(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale) -> Any:
    """Trace(B_ij^T C_ij) row by row, then the squared minors of X_1; shape (1, N^2 + 1) (proof of Lemma 15)."""
    betas = attention_of_first_tokens(X, W_Q, W_K, tau_0)
    return _with_determinant(_traces(X, betas), _squared_minors(X[0]))


@GRAM.oracle
def gram_of_features(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale) -> Any:
    Phi = first_features(X, W_Q, W_K, tau_0)
    return _with_determinant(Phi @ Phi.T, _determinant(X[0] @ X[0].T))


GRAM.mutant("B not transposed", transposed=False)
GRAM.mutant("C_ii for C_ij", mixed=False)
GRAM.mutant("one minor only", "_squared_minors(X[0]) -> _determinant(X[0][:min(X[0].shape), :min(X[0].shape)]) ** 2")


EQ_39 = Claim(DATA, "convergence.eq-39", label="Eq. (39)", name="Gershgorin bound",
    statement=r"""\exists k\in[N]:\ \lambda_{\min}(\Phi\Phi^\top)\ge\mathrm{Trace}(B_{kk}^\top C_{kk})-\sum_{j\ne
        k}\mathrm{Trace}(B_{kj}^\top C_{kj})""",
    assumptions=[
        Assumption(
            "X_n in R^{d_s x d} full row rank", sizes=lambda sizes: sizes["d_s"] <= sizes["d"],
            positive=lambda X: stacked([_determinant(X[n] @ X[n].T) for n in range(X.shape[0])]),
        ),
    ],
    relation=AtMost(left="-lambda_min(Phi Phi^T)", ascent=False, signed=True), expects="refuted", severity="slip",
    correction="convergence.eq-39-absolute-values", uses=("convergence.lemma-15-gram",),
    note="""Gershgorin's theorem has absolute values in the sum. Without them opposite samples break it for every $k$.
        Eq. (40) bounds the absolute values as well, so nothing after it changes.""")  # fmt: skip


def _largest_excess(X: Any, W_Q: Any, W_K: Any, tau_0: Any, size: Any, diagonal: int = 1) -> Any:
    """max_k of sum_{j != k} size(T_kj) - T_kk for the traces T: minus the best right-hand side of Eq. (39)."""
    T = _traces(X, attention_of_first_tokens(X, W_Q, W_K, tau_0))
    N = T.shape[0]
    rows = [sum((size(T[k, j]) for j in range(N) if j != k), -T[k, k] * diagonal) for k in range(N)]
    return maximum(stacked(rows))


@EQ_39.formula
def printed_gershgorin(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale) -> Any:
    """Minus the smallest of the printed lower bounds over k, a scalar: it bounds -lambda_min (Eq. (39))."""
    return _largest_excess(X, W_Q, W_K, tau_0, lambda t: t)


def _minus_smallest(X: Any, W_Q: Any, W_K: Any, tau_0: Any) -> Any:
    Phi = first_features(X, W_Q, W_K, tau_0)
    return -smallest_eigenvalue(Phi @ Phi.T)


EQ_39.oracle(lambda X, W_Q, W_K, tau_0: _minus_smallest(X, W_Q, W_K, tau_0))
EQ_39.mutant("off-diagonal traces added", size=lambda t: -t)
EQ_39.mutant("off-diagonal traces dropped", size=lambda t: t * 0)
EQ_39.counterexample("d = d_s = 1, the samples 1 and -1: lambda_min = 0, both right-hand sides are 2",
    X=[[[1]], [[-1]]], W_Q=[[0]], W_K=[[0]], tau_0=1)  # fmt: skip


EQ_39_ABSOLUTE = Claim(DATA, "convergence.eq-39-absolute-values", label="Eq. (39), with absolute values",
    statement=r"""\exists k\in[N]:\ \lambda_{\min}(\Phi\Phi^\top)\ge\mathrm{Trace}(B_{kk}^\top C_{kk})-\sum_{j\ne
        k}|\mathrm{Trace}(B_{kj}^\top C_{kj})|""",
    name="Gershgorin bound, corrected", relation=AtMost(left="-lambda_min(Phi Phi^T)", signed=True),
    corrects="convergence.eq-39", of_project=True,
)  # fmt: skip


@EQ_39_ABSOLUTE.formula
def gershgorin_bound(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale) -> Any:
    """Minus the smallest of the lower bounds over k, a scalar."""
    return _largest_excess(X, W_Q, W_K, tau_0, absolute)


EQ_39_ABSOLUTE.oracle(lambda X, W_Q, W_K, tau_0: _minus_smallest(X, W_Q, W_K, tau_0))
EQ_39_ABSOLUTE.mutant("no absolute values, as printed", size=lambda t: t)
EQ_39_ABSOLUTE.mutant("diagonal counted twice", diagonal=2)
EQ_39_ABSOLUTE.mutant("off-diagonal traces halved", size=lambda t: absolute(t) * rational(1, 2))


TokenRow = Annotated[Any, Shape("1", "d_s", role="query")]


def _root_of_largest(C: Any) -> Any:
    return sqrt(symmetric_eigenvalues(C @ C.T)[-1])


def _members(u: Any, v: Any, X: Any, Y: Any, which: int = 0, largest: Any = _root_of_largest,
             last: Any = lambda b: 1) -> list[Any]:  # fmt: skip
    """|Trace|, then the members of Eq. (40) from the second on; u, v are the logits of the attention vectors."""
    a, b = softmax(u).T, softmax(v).T
    B, C = a @ b.T, X @ Y.T
    return [
        absolute(trace(B.T @ C)),
        singular_values(B)[0] * singular_values(C)[which],
        frobenius_norm(a) * frobenius_norm(b) * largest(C),
        frobenius_norm(a) * sqrt(trace(C @ C.T)) * last(b),
        frobenius_norm(a) * sqrt(similarity(X, Y)) * last(b),
    ]


EQ_40 = Claim(CONVERGENCE, "convergence.eq-40", label="Eq. (40)",
    statement=r"""\mathrm{Trace}(B_{kj}^\top
        C_{kj})\le\sigma_{\max}(B_{kj})\sigma_{\max}(C_{kj})=\|\beta_{1,k}\|_2\|\beta_{1,j}
        \|_2\sqrt{\lambda_{\max}(C_{kj}C_{kj}^\top)}\le\|\beta_{1,k}\|_2\sqrt{\mathrm{Trace}(C_{kj}C_{kj}^\top)}=\|
        \beta_{1,k}\|_2\sqrt{\langle X_k^\top X_k,X_j^\top X_j\rangle}""",
    assumptions=[
        Definition("B_kj = beta_{1,k} beta_{1,j}^T, of rank one", by=_members),
        Definition("beta_{1,k}, beta_{1,j} are softmax vectors, so that their norms are at most 1", by=softmax),
    ],
    name="von Neumann trace inequality for attention features", general="It holds of any weights in the place of the softmax.",
    relation=AtMost(), sizes={"d_s": (1, 3), "d": (1, 4)},
    note=r"""Each member is compared with its neighbours; equalities in both directions. The first inequality is checked
        for $|\mathrm{Trace}|$ as well, which the corrected Eq. (39) needs.""")  # fmt: skip


def _uppers(members: list[Any]) -> Any:
    m = members
    return stacked([m[1], m[2], m[1], m[3], m[4], m[3]])


@EQ_40.formula
def trace_bounds(u: TokenRow, v: TokenRow, X: Tokens, Y: Tokens) -> Any:
    """The larger member of each comparison, shape (6,) (Eq. (40))."""
    return _uppers(_members(u, v, X, Y))


@EQ_40.oracle
def smaller_members(u: TokenRow, v: TokenRow, X: Tokens, Y: Tokens) -> Any:
    m = _members(u, v, X, Y)
    return stacked([m[0], m[1], m[2], m[2], m[3], m[4]])


EQ_40.mutant("both attention norms in the last members", last=lambda b: frobenius_norm(b) * frobenius_norm(b))
EQ_40.mutant("smallest singular value of C", which=-1, largest=lambda C: singular_values(C)[-1])


EQ_43 = Claim(ROWS, "convergence.eq-43", label="Eq. (43)", name="second moment of a ReLU feature",
    statement=r"""\mathbb
        E_w[\sigma_r(\Phi^{(n,:)}w)]^2=\frac{\eta_V}{2\pi}\|\Phi^{(n,:)}\|^2\arccos(-1)=\frac{\|\Phi^{(n,:)} \|^2}2""",
    assumptions=[Convention("E[sigma_r]^2 denotes the second moment", by=expected_relu_products)],
    relation=Equal(), expects="refuted", severity="slip", correction="convergence.eq-43-with-variance",
    note=r"""$\arccos(-1) = \pi$, so the second member is $\eta_V \|\Phi\|^2/2$: the last one lost $\eta_V$, and the
        next display of the paper has it again.""")  # fmt: skip


def _second_moments(Phi: Any, factor: Any) -> Any:
    """factor |Phi^(n,:)|^2 / 2, once for each of the two members; shape (N, 2)."""
    squares = row_sums(Phi * Phi) * rational(1, 2)
    return concatenate([squares * factor[0], squares * factor[1]], axis=1)


def _second_moments_by_angle(Phi: Any, eta_V: Any) -> Any:
    """The kernel at angle zero, row by row, shape (N, 2)."""
    rows = [expected_relu_products(Phi[n : n + 1], Phi[n : n + 1]) * eta_V for n in range(Phi.shape[0])]
    column = concatenate(rows, axis=0)
    return concatenate([column, column], axis=1)


@EQ_43.formula
def printed_second_moments(Phi: Features, eta_V: Variance) -> Any:
    """The second and third members, shape (N, 2) (Eq. (43))."""
    return _second_moments(Phi, (eta_V, 1))


EQ_43.oracle(lambda Phi, eta_V: _second_moments_by_angle(Phi, eta_V))
EQ_43.mutant("arccos(0) = pi/2", "eta_V -> eta_V / 2")
EQ_43.mutant("eta_V in the last member squared", "1 -> eta_V * eta_V")
EQ_43.counterexample("Phi = 1, eta_V = 1/2: the second moment is 1/4, the last member 1/2", Phi=[[1]], eta_V="1/2")


EQ_43_WITH_VARIANCE = EQ_43.corrected("convergence.eq-43-with-variance", label="Eq. (43), with eta_V",
    statement=r"\mathbb E_w[\sigma_r(\Phi^{(n,:)}w)^2]=\frac{\eta_V}{2}\|\Phi^{(n,:)}\|^2",
    name="second moment of a ReLU feature, corrected",
    note=r"Half of $E u^2$ for $u = \Phi^{(n,:)}w$, since $u$ and $-u$ have the same law. Checked against the "
         "arc-cosine kernel at angle 0.", assumptions=[])  # fmt: skip


@EQ_43_WITH_VARIANCE.formula
def second_moments(Phi: Features, eta_V: Variance) -> Any:
    """eta_V |Phi^(n,:)|^2 / 2 in both columns, shape (N, 2)."""
    return _second_moments(Phi, (eta_V, eta_V))


EQ_43_WITH_VARIANCE.mutant("eta_V missing, as printed", lambda Phi, eta_V: _second_moments(Phi, (eta_V, 1)))
EQ_43_WITH_VARIANCE.mutant("whole second moment", "eta_V -> eta_V * 2")


EQ_42 = Claim(DATA, "convergence.eq-42", label="Eq. (42) and the upper bound after (43)",
    statement=r"""\lambda_0:=\lambda_{\min}(\mathbb E_wG)\le\frac{\mathrm{tr}(\mathbb E_wG)}N =\frac{\sum_{n=1}^N\mathbb
        E_w[\sigma_r(\Phi^{(n,:)}w)]^2}N,\ G:=\sigma_r(\Phi w)\sigma_r(\Phi w)^\top;\quad
        \lambda_0\le\frac{\sum_{n=1}^N\eta_V\|\Phi^{(n,:)}\|_2^2}{2N}\le\eta_Vd_sC_x^2\le\mathcal O(1);\ \text{our
        estimation on }\lambda_0\text{ is tight as its upper and lower bounds match with each other}""",
    assumptions=[ASSUMPTION_1, Definition(r"Phi^{(n,:)} = beta_{1,n}^T X_n", by=first_features), VARIANCE],
    name="upper bound of the expected Gram eigenvalue", relation=AtMost(), uses=("convergence.eq-43-with-variance",),
    presumes=("convergence.lemma-15",), expects="gap",
    reading=Reading("tight as its upper and lower bounds match with each other", r"""the bounds match in $N$ and $d_m$,
            while $d_s$, $C_x$ and $\eta_V$ are fixed"""),
    note=r"""The inequalities hold, with 1/2 to spare. The match presupposes the lower bound of Lemma 15, which is
        false: at fixed $d$ $\lambda_0$ tends to 0 as $N$ grows (convergence.lemma-18-closest-pair), so no lower bound
        that is uniform in $N$ can take its place; for separated samples convergence.lemma-15-separated has one. As
        printed the two differ by the factor $d_s^2 C_x^2$, so in $d_s$ they would not match even then.""")  # fmt: skip


@EQ_42.formula
def upper_bounds_of_lambda_0(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale, eta_V: Variance) -> Any:
    """The mean of the diagonal, sum_n eta_V |Phi_n|^2 / (2N), and eta_V d_s C_x^2; shape (3,) (Eq. (42) and after (43))."""
    Phi, C_x = first_features(X, W_Q, W_K, tau_0), sample_bound(X)
    mean = trace(expected_gram(Phi, eta_V)) / X.shape[0]
    return stacked([mean, (Phi * Phi).sum() * eta_V / (2 * X.shape[0]), eta_V * C_x * C_x * X.shape[1]])


@EQ_42.oracle
def bounded_members(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale, eta_V: Variance) -> Any:
    Phi = first_features(X, W_Q, W_K, tau_0)
    least = lambda_0(Phi, eta_V)
    return stacked([least, least, (Phi * Phi).sum() * eta_V / (2 * Phi.shape[0])])


EQ_42.mutant("trace over N^2", lambda value, X: stacked([value[0] / (4 * X.shape[0]), *value[1:]]))
EQ_42.mutant("eta_V C_x^2 / 4", lambda value, X: stacked([*value[:2], value[2] / (4 * X.shape[1])]))


ONE_DIMENSION = Claim(CONVERGENCE, "convergence.lemma-15-one-dimension", label="Lemma 15, at d = 1",
    statement=r"""d=1:\ \mathbb E_{w\sim N(0,\eta_V)}[\sigma_r(\Phi w)\sigma_r(\Phi w)^\top]
        =\tfrac{\eta_V}2\big(\sigma_r(\Phi)\sigma_r(\Phi)^\top+\sigma_r(-\Phi)\sigma_r(-\Phi)^\top\big)\text{, of rank at
        most 2, so that }\lambda_0=0\text{ for }N\ge3\text{ whatever the data}""",
    name="expected Gram matrix of scalar features", relation=Equal(), sizes={"N": (1, 4)}, exact=True, of_project=True,
)  # fmt: skip


@ONE_DIMENSION.formula
def gram_of_scalar_features(Phi: Annotated[Any, Shape("N", "1")], eta_V: Variance) -> Any:
    """eta_V / 2 times the two products of rank one, shape (N, N)."""
    positive, negative = relu(Phi), relu(-Phi)
    return (positive @ positive.T + negative @ negative.T) * eta_V * rational(1, 2)


ONE_DIMENSION.oracle(lambda Phi, eta_V: expected_gram(Phi, eta_V))
ONE_DIMENSION.mutant("positive parts alone", "negative @ negative.T -> 0 * Phi @ Phi.T")
ONE_DIMENSION.mutant("without 1/2", "rational(1, 2) -> 1")
