"""What each rule for norms says, by its name."""

from __future__ import annotations

from verify.arithmetics.norms import entries

#: What each rule says.
STATEMENTS = {
    "spectral radius": "no eigenvalue is larger in absolute value than ||A||_2",
    "spectral at most Frobenius": "||A||_2 <= ||A||_F",
    "product": "||AB||_2 <= ||A||_2 ||B||_2, ||AB||_F <= ||A||_2 ||B||_F and ||A||_F ||B||_2",
    "number among the factors": "||A c B|| = |c| ||A B|| for a number c",
    "triangle inequality": "||A + B|| <= ||A|| + ||B||",
    "reverse triangle inequality": "||A|| <= ||A + B|| + ||B||",
    "difference of products": "AB - A'B' = (A - A')B + A'(B - B')",
    "Kronecker product": "||A (x) B|| = ||A|| ||B||, in both norms",
    "block": "a block of rows or columns has no larger norm than the whole",
    "blocks": "||[A; B]||^2 <= ||A||^2 + ||B||^2, with equality for ||.||_F",
    "block diagonal": "||diag(A_1, ..., A_n)||_2 = max_i ||A_i||_2, ||.||_F^2 = sum_i ||A_i||_F^2",
    "softmax row": "a softmax row is not negative and sums to one, so that its Euclidean norm is at most 1",
    "softmax is 1/2-Lipschitz": "||softmax(T) - softmax(T')||_F <= ||T - T'||_F / 2",
    "softmax in the 1-norm": "sum_ij |softmax(T) - softmax(T')|_ij <= max|T - T'| for each row",
    "covariance of a softmax row": "||diag(p) - p p^T||_2 <= 1/2, and so for a block diagonal of several",
    "relu": "||relu(A)||_F <= ||A||_F, ||relu(A) - relu(B)||_F <= ||A - B||_F",
    "gate": "0 <= relu' <= 1, so that ||A o relu'(B)||_F <= ||A||_F",
    "entrywise product": "||A o B||_F <= max|A| ||B||_F; ||A o B||_2 <= ||A||_2 ||B||_2",
    "largest entry": "max|A| <= ||A||_2",
    **entries.STATEMENTS,
    "rank": "||A||_F <= sqrt(min(m, n)) ||A||_2, and sqrt(r) ||A||_2 where A is a product A_1 A_2 with r columns of A_1",
    "exponential of a skew matrix": "exp(S) is orthogonal for skew S; ||exp(S) - I|| <= ||S||, in both norms",
    "similar matrices": "exp(V A V^-1) = V exp(A) V^-1",
    "exponential of a dissipative matrix": "||exp(c M)||_2 <= 1 where c >= 0 and x^T M x <= 0 for all x",
    "exponential": "||exp(A)||_2 <= e^||A||_2, ||exp(A) - I||_2 <= e^||A||_2 - 1",
    "integral of orthogonal matrices": "int_0^1 exp((1 - s) P) exp(s R) ds, a block of exp [[P, I], [0, R]], is a mean of "
    "orthogonal matrices for skew P and R, so that its spectral norm is at most 1",
    "permutation": "a permutation matrix has spectral norm 1",
    "antisymmetric product": "A B^T - B A^T = [A, B] J [A, B]^T with J orthogonal, so that its spectral norm is at most "
    "||[A, B]||_2^2",
    "iterated polynomial": "singular values s become s p(s^2), again at most 1 if p keeps [0, 1] so, from a start with "
    "||M||_2 <= 1",
    "orthonormal": "a matrix with orthonormal columns or rows has spectral norm at most 1",
    "chain rule": "d(A Y B) = (A (x) B^T) dY, d(Y + Z) = dY + dZ; normalisation y / ||y|| of rows has the blocks "
    "(I - y^T y / ||y||^2) / ||y||",
    "projection": "||I - a a^T / ||a||^2||_2 <= 1",
    "largest of all entries": "||A||_F <= sqrt(m n) max|A|",
    "unit direction": "a direction along which a derivative is taken has Frobenius norm at most 1",
    "common factor": "[A C; B C] = [A; B] C",
    "unit rows": "a matrix with n unit rows has ||.||_F = sqrt(n)",
    "assumption": "a norm is at most a number, by assumption",
    "Weyl": "|sigma_i(A) - sigma_i(B)| <= ||A - B||_2 for singular values in decreasing order",
    "contraction": "its singular values are at most 1, by assumption",
    "row norms": "the vector of row norms of A has Euclidean norm ||A||_F",
    "sum over an index": "||sum_i A_i|| <= sum_i ||A_i||, and a sum of n numbers is at most n times a bound of each",
    "Cauchy-Schwarz": "sum_i |e_i| <= sqrt(n) ||e||_2",
    "smaller denominator": "a quotient of non-negative quantities grows as its denominator loses terms that are not negative",
    "largest of several": "what bounds each of several numbers bounds the largest",
    "absolute values": "||(|A|)||_F = ||A||_F, and their largest entries are equal in size",
    "unit vector": "no norm of a unit vector is above 1",
}

#: What else a derivation does, and under which condition.
STEPS = {
    "replacement": "a quantity gives way to a bound where the whole certainly grows with it",
    "sign of a number": "a number is positive or negative where balls tell it from 0",
    "comparison of squares": "a <= b where a^2 <= b^2, for a and b that are not negative",
    "common denominator": "a quotient is not negative where numerator and denominator are not",
    "sizes from 1 on": "a size is (1 + t)^2 for some t >= 0",
    "term by term": "a sum is at most another where each term is at most one of the other's, each taken once, and none is negative",
    "assumed inequality": "non-negative multiples of what an assumption says is not negative are subtracted",
    "largest in an assumption": "what is not negative at the largest of several numbers, and falls with it, is so at each",
    "assumed bound of entries": "c - |A_ij| >= 0 for all entries says max|A| <= c",
    "assumed bound of a norm": "c - ||A|| >= 0 says ||A|| <= c",
    "equal signs": "A o B > 0 says that A and B have steps that agree",
    "orthonormal frame": "c (W^T W - I) = 0 for c != 0 says that W, and its blocks, have spectral norm at most 1",
    "multiple of the identity": "c A B + d I = 0 says A B = -d/c I where c or d is not 0; c A^2 = 0 says A^2 = 0 where c is not 0",
    "root of squares": "a root of a sum of squares is at least each of them, where none is taken off",
    "case of the largest": "what holds of each of several numbers holds of their largest",
    "entries in pairs": "entry by entry, in one order and of one shape, or each beside a single number",
    "numbers of symbols": "a formula does not decide on a symbol, and a slice lies within its axis",
}
