"""Steps of Appendix C between its displays: the remarks on two tokens, the product rule, the chains for Z_{2;i} and N."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import row_softmax, softmax_jacobian, softmax_second_derivative, third_central_moments
from theorems.hessian.part_3_structure.moments import Z_2_by_differentiation, row, third_cumulant
from theorems.hessian.part_c_moments.softmax import entry_hessian
from theorems.hessian.part_c_moments.two_tokens import TwoByTwo, second_derivative_for_two_tokens
from theorems.hessian.settings import Logits, Tokens
from verify.matrix import (
    basis_vector, block_diag, commutation_matrix, concatenate, diag, each, eye, hadamard, khatri_rao, kron, ones, softmax,
    summed,
)  # fmt: skip
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Definition, Equal, Setting

SOFTMAX = Definition("A is the row-wise softmax of T", by=softmax)
LAYOUT = Definition("second derivatives in the layout of Eq. (4)", by=hessian)
STEPS = Setting(HESSIAN, "Appendix C", assumptions=[SOFTMAX], sizes={"L": (1, 3), "d_V": (1, 3)}, exact=True)

# -- two tokens --------------------------------------------------------------------------------------------------------

TWO_TOKENS = Setting(HESSIAN, "Remark C.1", assumptions=[SOFTMAX], sizes={"L": (2, 2)}, exact=True)

CHAIN_RULE = Claim(TWO_TOKENS, "hessian.rem-C.1-chain-rule", label="Remark C.1, text below the second matrix",
    statement=r"""\text{``To obtain each entry of the matrix, we simply apply the chain rule. This means that each entry
        is a sum of products, where the first factor is the derivative of the entries of } \partial A/\partial T \text{
        w.r.t. } a_{i,j}\text{, and the second factor is the derivative of } a_{i,j}\text{ w.r.t. the entries of }
        T\text{. These derivatives can be found directly in the } \partial A/\partial T\text{ matrix''}""",
    assumptions=[LAYOUT],
    name="second softmax derivatives by the chain rule", relation=Equal(),
    uses=("hessian.lem-B.1", "hessian.rem-C.1-jacobian-corrected"),
    note=r"""The entries of $\partial A/\partial T$ are taken as the polynomials in $a_{i,j}$ that the remark prints,
        with the corrected entry $(4, 3)$.""")  # fmt: skip


@CHAIN_RULE.formula
def chain_rule_for_two_tokens(T: TwoByTwo) -> Any:
    """(d(dA/dT)/dA)(dA/dT), shape (16, 4) (Remark C.1)."""
    A = softmax(T)
    inner = softmax_jacobian(A)
    return jacobian(softmax_jacobian, "A")(A) @ inner


CHAIN_RULE.oracle(lambda T: hessian(row_softmax, ("T", "T"))(T))
CHAIN_RULE.mutant("the second factor left out", "inner -> eye(4)")
CHAIN_RULE.mutant("the second factor transposed in its sign", "inner -> -inner")

GENERAL = Claim(TWO_TOKENS, "hessian.lem-C.1-two-tokens", label="Appendix C.1, sentence before Lemma C.1",
    statement=r"\text{``Lemma C.1 generalizes the above observations to any sequence length } L\text{''}",
    name="Lemma C.1 at two tokens",
    general="""Both are expressions in $A$ and agree for every matrix in its place; that they are the derivatives is
        hessian.lem-C.1-structure-corrected.""",
    relation=Equal(),
    uses=("hessian.lem-C.1-structure-corrected", "hessian.lem-C.1-entry", "hessian.rem-C.1-second-corrected"),
    note="Compared at $L = 2$: the blocks of Lemma C.1 and the sixteen rows of Remark C.1, both as corrected.",
)  # fmt: skip


@GENERAL.formula
def lemma_for_two_tokens(T: TwoByTwo) -> Any:
    """blockdiag D_i of Lemma C.1 at L = 2, shape (16, 4)."""
    A = softmax(T)

    def block(i: int) -> Any:
        return concatenate([kron(basis_vector(2, i), entry_hessian(row(A, i), j)) for j in range(2)], axis=0)

    return block_diag([block(0), block(1)])


GENERAL.oracle(second_derivative_for_two_tokens)
GENERAL.mutant("e_j in the place of e_i", "basis_vector(2, i) -> basis_vector(2, j)")
GENERAL.mutant("entries of one row in the place of the other", "row(A, i) -> row(A, 1 - i)")

MIXED_ROWS = Claim(STEPS, "hessian.rem-C.1-mixed-rows", label="Remark C.1, on the blocks of zeros",
    statement=r"""\text{``The blocks of zeros occur because the softmax function is applied independently to each row, so
        the second derivative for mixed-row entries is always zero''}""",
    assumptions=[LAYOUT],
    name="second softmax derivatives in two rows", relation=Equal(), all_sizes=True, sizes={"L": (1, 3)},
    note="For every number of tokens; the remark has two.")  # fmt: skip


@MIXED_ROWS.formula
def second_derivatives_without_mixed_rows(T: Logits) -> Any:
    """d^2A/dT^2 with zeros wherever two different rows of T meet, shape (L^4, L^2) (Remark C.1)."""
    L = T.shape[0]
    same_row = kron(eye(L), ones(L, L))
    return hadamard(softmax_second_derivative(softmax(T)), kron(ones(L * L, 1), same_row))


MIXED_ROWS.oracle(lambda T: hessian(row_softmax, ("T", "T"))(T))
MIXED_ROWS.mutant("zeros within a row too", "kron(eye(L), ones(L, L)) -> eye(L * L)")
MIXED_ROWS.mutant("columns in the place of rows", "kron(eye(L), ones(L, L)) -> kron(ones(L, L), eye(L))")

# -- the product rule in the proof of Lemma C.1 ------------------------------------------------------------------------

LEIBNIZ = Claim(STEPS, "hessian.lem-C.1-proof-leibniz", label="Proof of Lemma C.1, the Leibniz rule",
    statement=r"""\frac{\partial^2A_{i,j}}{\partial T_{i,:}\partial T_{i,:}} = \frac{\partial(e_j - A_{i,:})}{\partial
        T_{i,:}}A_{i,j} + (e_j - A_{i,:})\frac{\partial A_{i,j}}{\partial T_{i,:}}""",
    name="product rule for a softmax entry", relation=Equal(), sizes={"L": (1, 4)}, uses=("hessian.lem-C.1-proof",),
)  # fmt: skip


def _deviation(t: Any, j: int) -> Any:
    """e_j - A_i as a column, for the row t of T."""
    return basis_vector(t.shape[1], j) - softmax(t).T


def _entry(t: Any, j: int) -> Any:
    return softmax(t)[:, j : j + 1]


@LEIBNIZ.formula
def product_rule_for_an_entry(T: Logits) -> Any:
    """The sum of both products for every entry of the first row, shape (L^2, L) (proof of Lemma C.1)."""
    t, L = T[:1], T.shape[0]
    products = []
    for j in range(L):
        first = jacobian(_deviation, "t")(t, j) * softmax(t)[0, j]
        second = _deviation(t, j) @ jacobian(_entry, "t")(t, j)
        products.append(first + second)
    return concatenate(products, axis=0)


LEIBNIZ.oracle(lambda T: hessian(row_softmax, ("T", "T"))(T[:1]))
LEIBNIZ.mutant("the first product left out", "first -> 0 * first")
LEIBNIZ.mutant("the second product with the wrong sign", "second -> -second")

# -- the chains for Z_{2;i} --------------------------------------------------------------------------------------------

Z2_STEPS = Claim(STEPS, "hessian.rem-3.1-proof-z2i-steps", label="Appendix C.2, the members of the chains for Z_{2;i}",
    statement=r"""Z_{2;i} = (X^\top\otimes X^\top\otimes X^\top)\Big((\mathbb{1}_{L,1}\otimes e_i) *
        \frac{\partial^2A_i}{\partial T_{i,:}\partial T_{i,:}}\Big)(X_{i,:}^\top\otimes X) = [x_1\otimes X^\top\otimes
        X^\top\dots x_L\otimes X^\top\otimes X^\top]\begin{bmatrix}e_i\otimes\frac{\partial^2A_{i,1}}{\partial
        T_{i,:}\partial T_{i,:}}\\\vdots\\e_i\otimes\frac{\partial^2A_{i,L}}{\partial T_{i,:}\partial
        T_{i,:}}\end{bmatrix}(X_{i,:}^\top\otimes X) = \Big(\sum_{j=1}^L(X_{j,:}\otimes X^\top\otimes
        X^\top)\big(e_i\otimes\frac{\partial^2A_{i,j}}{\partial T_{i,:}\partial T_{i,:}}\big)\Big)(X_{i,:}^\top\otimes
        X) = \Big(\sum_{j=1}^L(X_{j,:}\otimes X^\top)e_i\otimes X^\top\frac{\partial^2A_{i,j}}{\partial T_{i,:}\partial
        T_{i,:}}\Big)(X_{i,:}^\top\otimes X) = \sum_{j=1}^L(X_{j,:}\otimes X^\top)e_iX_{i,:}^\top\otimes
        X^\top\frac{\partial^2A_{i,j}}{\partial T_{i,:}\partial T_{i,:}}X;\ = \sum_{j=1}^LK_{d_V,d_V}(X_{i,:}X_{i,:}^\top
        \otimes X_{j,:})\otimes X^\top\frac{\partial^2A_{i,j}}{\partial T_{i,:}\partial T_{i,:}}X =
        \sum_{j=1}^L(K_{d_V,d_V}\otimes I_{d_V})\Big(X_{i,:}X_{i,:}^\top\otimes X_{j,:}\otimes
        X^\top\frac{\partial^2A_{i,j}}{\partial T_{i,:}\partial T_{i,:}}X\Big)""",
    name="second softmax derivatives, block by block, all members", relation=Equal(), all_sizes=True,
    uses=("hessian.rem-3.1-proof-z2i", "hessian.eq-6-10"),
    note="The first, sixth and last members are compared in hessian.rem-3.1-proof-z2i.")  # fmt: skip


def _curved(X: Any, T: Any, i: Any, j: Any) -> Any:
    """The Hessian of A_ij in T_i, shape (L, L)."""
    return entry_hessian(row(softmax(T), i), j)


@Z2_STEPS.formula
def members_between(X: Tokens, T: Logits) -> Any:
    """Seven members, each for every i, shape (7 L d_V^3, d_V^2) (Appendix C.2)."""
    L, d = X.shape
    K = commutation_matrix(d, d)

    def stack(i: Any) -> Any:
        return concatenate(each(L, lambda j: kron(basis_vector(L, i), _curved(X, T, i, j))), axis=0)

    def by_khatri_rao(i: Any) -> Any:
        units, hessians = each(L, lambda j: basis_vector(L, i)), each(L, lambda j: _curved(X, T, i, j))
        return kron(X.T, X.T, X.T) @ khatri_rao(units, hessians) @ kron(X[i : i + 1], X)

    def by_tokens(i: Any) -> Any:
        tokens = concatenate(each(L, lambda j: kron(row(X, j), X.T, X.T)), axis=1)
        return tokens @ stack(i) @ kron(X[i : i + 1], X)

    def summed_blocks(i: Any) -> Any:
        terms = summed(L, lambda j: kron(row(X, j), X.T, X.T) @ kron(basis_vector(L, i), _curved(X, T, i, j)))
        return terms @ kron(X[i : i + 1], X)

    def mixed(i: Any) -> Any:
        terms = summed(L, lambda j: kron(kron(row(X, j), X.T) @ basis_vector(L, i), X.T @ _curved(X, T, i, j)))
        return terms @ kron(X[i : i + 1], X)

    def placed(i: Any) -> Any:
        unit = basis_vector(L, i) @ X[i : i + 1]
        return summed(L, lambda j: kron(kron(row(X, j), X.T) @ unit, X.T @ _curved(X, T, i, j) @ X))

    def turned(i: Any) -> Any:
        square = row(X, i) @ X[i : i + 1]
        return summed(L, lambda j: kron(K @ kron(square, row(X, j)), X.T @ _curved(X, T, i, j) @ X))

    def turned_in_front(i: Any) -> Any:
        square, front = row(X, i) @ X[i : i + 1], kron(K, eye(d))
        return summed(L, lambda j: front @ kron(square, row(X, j), X.T @ _curved(X, T, i, j) @ X))

    members = [by_khatri_rao, by_tokens, summed_blocks, mixed, placed, turned, turned_in_front]
    return concatenate([each(L, member) for member in members], axis=0)


Z2_STEPS.oracle(lambda X, T: concatenate([Z_2_by_differentiation(X, T)] * 7, axis=0))
Z2_STEPS.mutant("no commutation matrix", "K -> eye(d * d)")
Z2_STEPS.mutant("e_j in the place of e_i", "units -> each(L, lambda j: basis_vector(L, j))")
Z2_STEPS.mutant("token i in the place of token j",
    "tokens -> concatenate(each(L, lambda j: kron(row(X, i), X.T, X.T)), axis=1)")  # fmt: skip

Z2_MOMENTS = Claim(STEPS, "hessian.rem-3.1-proof-z2i-moment", label="Appendix C.2, Z_{2;i} by the third moment",
    statement=r"Z_{2;i} = (K_{d_V,d_V}\otimes I_{d_V})(X_{i,:}X_{i,:}^\top\otimes[M_3]_{i,:})",
    assumptions=[Definition("M_3 of Definition 3.1", by=third_central_moments)],
    name="blocks of Z_2 by the third moment", relation=Equal(), all_sizes=True,
    uses=("hessian.rem-3.1-proof-z2i", "hessian.rem-3.1-proof-moment"))  # fmt: skip


@Z2_MOMENTS.formula
def z2_blocks_by_moments(X: Tokens, T: Logits) -> Any:
    """(K (x) I)(X_i X_i^T (x) M_{3,i}) for every i, shape (L d_V^3, d_V^2) (Appendix C.2)."""
    L, d = X.shape
    K, third = commutation_matrix(d, d), third_central_moments(softmax(T), X)
    blocks = each(L, lambda i: kron(K, eye(d)) @ kron(row(X, i) @ X[i : i + 1], third[i]))
    return concatenate(blocks, axis=0)


Z2_MOMENTS.oracle(lambda X, T: Z_2_by_differentiation(X, T))
Z2_MOMENTS.mutant("no commutation matrix", "commutation_matrix(d, d) -> eye(d * d)")
Z2_MOMENTS.mutant("attention transposed", "softmax(T) -> softmax(T).T")

# -- the members of N --------------------------------------------------------------------------------------------------

MOMENT_STEPS = Claim(STEPS, "hessian.rem-3.1-proof-moment-steps", label="Appendix C.2, the members on the way to N = M_3",
    statement=r"""[M_1]_{i,:}[M_1]_{i,:}^\top + X_{j,:}X_{j,:}^\top - X_{j,:}[M_1]_{i,:}^\top - [M_1]_{i,:}X_{j,:}^\top =
        ([M_1]_{i,:}-X_{j,:})([M_1]_{i,:}-X_{j,:})^\top;\
        \sum_{j=1}^LA_{i,j}X_{j,:}\otimes([M_1]_{i,:}[M_1]_{i,:}^\top - X^\top\operatorname{diag}(A_{i,:})X) =
        \Big(\sum_{j=1}^LA_{i,j}X_{j,:}\Big)\otimes([M_1]_{i,:}[M_1]_{i,:}^\top - X^\top\operatorname{diag}(A_{i,:})X) =
        [M_1]_{i,:}\otimes([M_1]_{i,:}[M_1]_{i,:}^\top - X^\top\operatorname{diag}(A_{i,:})X);\ N =
        \sum_{j=1}^LA_{i,j}X_{j,:}\otimes([M_1]_{i,:}[M_1]_{i,:}^\top - X^\top\operatorname{diag}(A_{i,:})X) +
        \sum_{j=1}^LA_{i,j}X_{j,:}\otimes([M_1]_{i,:}[M_1]_{i,:}^\top + X_{j,:}X_{j,:}^\top -
        [M_1]_{i,:}X_{j,:}^\top - X_{j,:}[M_1]_{i,:}^\top);\ N =
        -\sum_{j=1}^LA_{i,j}[M_1]_{i,:}\otimes([M_1]_{i,:}-X_{j,:})([M_1]_{i,:}-X_{j,:})^\top +
        \sum_{j=1}^LA_{i,j}X_{j,:}\otimes([M_1]_{i,:}-X_{j,:})([M_1]_{i,:}-X_{j,:})^\top""",
    assumptions=[Definition("M_1 = AX, and M_3 holds the third central moments of the tokens", by=third_cumulant)],
    name="third central moment from softmax derivatives, steps", relation=Equal(), all_sizes=True,
    uses=("hessian.rem-3.1-proof-moment", "hessian.eq-6-10"))  # fmt: skip


@MOMENT_STEPS.formula
def members_on_the_way_to_the_third_moment(X: Tokens, T: Logits) -> Any:
    """The square of a difference for all i, j, the product over a sum and two members of N for all i, in one matrix."""
    A, L = softmax(T), X.shape[0]
    mean = A @ X

    def weighted(i: Any, of: Callable[[Any], Any]) -> Any:
        return summed(L, lambda j: of(row(X, j)) * A[i, j])

    def gap(i: Any) -> Any:
        return row(mean, i) @ row(mean, i).T - X.T @ diag(A[i]) @ X

    def expanded(i: Any, x: Any) -> Any:
        mu = row(mean, i)
        return mu @ mu.T + x @ x.T - x @ mu.T - mu @ x.T

    def square(i: Any, x: Any) -> Any:
        return (row(mean, i) - x) @ (row(mean, i) - x).T

    def squares(i: Any) -> Any:
        return concatenate(each(L, lambda j: expanded(i, row(X, j))), axis=0)

    def spread(i: Any) -> Any:
        return weighted(i, lambda x: kron(x, gap(i)))

    def gathered(i: Any) -> Any:
        return kron(weighted(i, lambda x: x), gap(i))

    def both_sums(i: Any) -> Any:
        return spread(i) + weighted(i, lambda x: kron(x, expanded(i, x)))

    def centred(i: Any) -> Any:
        mu = row(mean, i)
        return weighted(i, lambda x: kron(x, square(i, x))) - weighted(i, lambda x: kron(mu, square(i, x)))

    return concatenate([each(L, member) for member in (squares, spread, gathered, both_sums, centred)], axis=0)


@MOMENT_STEPS.oracle
def squares_and_cumulants(X: Tokens, T: Logits) -> Any:
    A, L = softmax(T), X.shape[0]
    mean = A @ X

    def squares(i: Any) -> Any:
        def outer(j: Any) -> Any:
            return (X[j : j + 1] - mean[i : i + 1]).T @ (X[j : j + 1] - mean[i : i + 1])

        return concatenate(each(L, outer), axis=0)

    def product(i: Any) -> Any:
        return kron(row(mean, i), row(mean, i) @ mean[i : i + 1] - X.T @ diag(A[i]) @ X)

    product_of_means, third = each(L, product), each(L, lambda i: third_cumulant(A, X, i))
    return concatenate([each(L, squares), product_of_means, product_of_means, third, third], axis=0)


MOMENT_STEPS.mutant("a mixed term with the wrong sign", "x @ mu.T -> -(x @ mu.T)")
MOMENT_STEPS.mutant("the second moment left out", "X.T @ diag(A[i]) @ X -> 0 * X.T @ X")
MOMENT_STEPS.mutant("attention transposed", "softmax(T) -> softmax(T).T")
