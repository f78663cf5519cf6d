"""The rules of derivations by name: what each says, and which claims state it.

A rule is one object, declared at the function that applies it, `@rule("name", says=..., rests_on=...)`, or here where many
functions apply it.  A rule that rests on no claim is the definition of a norm, of a largest value or of a derivative's norm,
or quotes an assumption.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

#: The collection of claims that state rules.
COLLECTION = "norms"


@dataclass(frozen=True)
class Rule:
    """A rule: its name, what it says ("" where the name says it), the claims that state it, and the module that applies it."""

    name: str
    says: str = ""
    claims: tuple[str, ...] = ()
    module: str = ""


class RuleBound(NamedTuple):
    """What a rule says of one quantity: the name of the rule, or of several, the bound, and how the checker is told.

    `written` is a step of the checker, its rule and what that is of: nodes, scalars, indices, kinds of norms.  Or it is a
    function of the `Writer` that gives lists of such steps, of which the checker accepts one; what has to be made for the
    certificate alone is made there.  None where the checker sees no difference, or has no rule for it.
    """

    name: str
    bound: Any
    written: Any = None


def ways_of(written: Any, writer: Any) -> list[list[tuple[Any, ...]]]:
    """The lists of steps that a candidate may be written as."""
    if written is None:
        return [[]]
    return [[written]] if isinstance(written, tuple) else written(writer)  # type: ignore[no-any-return]


def in_turn(*parts: Any) -> Any:
    """How a bound is written that takes several ones in turn."""
    return lambda writer: [
        [step for steps in choice for step in steps]
        for choice in itertools.product(*(ways_of(written, writer) for written in parts))
    ]


#: All rules that are declared, by name.
RULES_BY_NAME: dict[str, Rule] = {}


def rule(name: str, says: str = "", rests_on: Sequence[str] = ()) -> Callable[[F], F]:
    """Declare a rule, for the function that yields candidates of this name; `rests_on` has claims of `COLLECTION`.

    Raises ValueError if there is a rule of this name.
    """
    if name in RULES_BY_NAME:
        raise ValueError(f"two rules for norms are called {name!r}")
    made = RULES_BY_NAME[name] = Rule(name, says, tuple(f"{COLLECTION}.{claim}" for claim in rests_on))

    def applied_by(function: F) -> F:
        RULES_BY_NAME[name] = replace(made, module=function.__module__)
        return function

    return applied_by


#: Rules that many functions apply, or none: what they say, and the claims that state them.
for _name, _says, *_claims in (
    ("spectral radius", "no eigenvalue is larger in absolute value than ||A||_2", "spectral-radius"),
    ("spectral at most Frobenius", "||A||_2 <= ||A||_F", "spectral-frobenius"),
    ("product", "||AB||_2 <= ||A||_2 ||B||_2, ||AB||_F <= ||A||_2 ||B||_F and ||A||_F ||B||_2", "product"),
    ("number among the factors", "||A c B|| = |c| ||A B|| for a number c"),
    ("triangle inequality", "||A + B|| <= ||A|| + ||B||"),
    ("reverse triangle inequality", "||A|| <= ||A + B|| + ||B||"),
    ("difference of products",
     "AB - A'B' = (A - A')B + A'(B - B')", "difference-of-products", "difference-of-other-products"),
    ("Kronecker product", "||A (x) B|| = ||A|| ||B||, in both norms", "kronecker"),
    ("block", "a block of rows or columns has no larger norm than the whole", "block", "rearranged"),
    ("blocks", "||[A; B]||^2 <= ||A||^2 + ||B||^2, with equality for ||.||_F", "blocks"),
    ("block diagonal", "||diag(A_1, ..., A_n)||_2 = max_i ||A_i||_2, ||.||_F^2 = sum_i ||A_i||_F^2", "block-diagonal"),
    ("softmax row",
     "a softmax row is not negative and sums to one, so that its Euclidean norm is at most 1", "softmax-row"),
    ("softmax is 1/2-Lipschitz", "||softmax(T) - softmax(T')||_F <= ||T - T'||_F / 2", "softmax-lipschitz"),
    ("softmax in the 1-norm", "sum_ij |softmax(T) - softmax(T')|_ij <= max|T - T'| for each row", "softmax-1-norm"),
    ("covariance of a softmax row",
     "||diag(p) - p p^T||_2 <= 1/2, and so for a block diagonal of several", "softmax-covariance", "block-diagonal"),
    ("relu", "||relu(A)||_F <= ||A||_F, ||relu(A) - relu(B)||_F <= ||A - B||_F", "relu"),
    ("gate", "0 <= relu' <= 1, so that ||A o relu'(B)||_F <= ||A||_F", "gate"),
    ("entrywise product", "||A o B||_F <= max|A| ||B||_F; ||A o B||_2 <= ||A||_2 ||B||_2", "entrywise-product"),
    ("largest entry", "max|A| <= ||A||_2", "largest-entry", "spectral-frobenius"),
    ("rank",
     "||A||_F <= sqrt(min(m, n)) ||A||_2, and sqrt(r) ||A||_2 where A is a product A_1 A_2 with r columns of A_1",
     "spectral-frobenius", "rank"),
    ("exponential of a skew matrix",
     "exp(S) is orthogonal for skew S; ||exp(S) - I|| <= ||S||, in both norms", "exponential-of-skew"),
    ("similar matrices", "exp(V A V^-1) = V exp(A) V^-1", "exponential-of-similar", "product"),
    ("exponential of a dissipative matrix",
     "||exp(c M)||_2 <= 1 where c >= 0 and x^T M x <= 0 for all x", "exponential-of-dissipative"),
    ("exponential", "||exp(A)||_2 <= e^||A||_2, ||exp(A) - I||_2 <= e^||A||_2 - 1", "exponential"),
    ("permutation", "a permutation matrix has spectral norm 1", "permutation"),
    ("antisymmetric product",
     "A B^T - B A^T = [A, B] J [A, B]^T with J orthogonal, so that its spectral norm is at most ||[A, B]||_2^2",
     "antisymmetric-product"),
    ("iterated polynomial",
     "singular values s become s p(s^2), again at most 1 if p keeps [0, 1] so, from a start with ||M||_2 <= 1",
     "iterated-polynomial"),
    ("orthonormal", "a matrix with orthonormal columns or rows has spectral norm at most 1", "orthonormal"),
    ("chain rule",
     "d(A Y B) = (A (x) B^T) dY, d(Y + Z) = dY + dZ; normalisation y / ||y|| of rows has the blocks (I - y^T y / "
     "||y||^2) / ||y||", "chain-rule", "normalisation-jacobian"),
    ("projection", "||I - a a^T / ||a||^2||_2 <= 1", "projection"),
    ("largest of all entries", "||A||_F <= sqrt(m n) max|A|", "largest-entry"),
    ("unit direction", "a direction along which a derivative is taken has Frobenius norm at most 1"),
    ("inner product", "<x, y> = (||x + y||^2 - ||x||^2 - ||y||^2) / 2 for two columns", "inner-product"),
    ("common factor", "[A C; B C] = [A; B] C", "common-factor"),
    ("unit rows", "a matrix with n unit rows has ||.||_F = sqrt(n)", "rows"),
    ("assumption", "a norm is at most a number, by assumption"),
    ("Weyl", "|sigma_i(A) - sigma_i(B)| <= ||A - B||_2 for singular values in decreasing order", "weyl"),
    ("contraction", "its singular values are at most 1, by assumption"),
    ("row norms", "the vector of row norms of A has Euclidean norm ||A||_F", "rows"),
    ("sum over an index", "||sum_i A_i|| <= sum_i ||A_i||, and a sum of n numbers is at most n times a bound of each"),
    ("Cauchy-Schwarz", "sum_i |e_i| <= sqrt(n) ||e||_2", "cauchy-schwarz"),
    ("smaller denominator",
     "a quotient of non-negative quantities grows as its denominator loses terms that are not negative"),
    ("largest of several", "what bounds each of several numbers bounds the largest"),
    ("absolute values", "||(|A|)||_F = ||A||_F, and their largest entries are equal in size"),
    ("unit vector", "no norm of a unit vector is above 1"),
    ("mean of exponentials", "(e^a - 1) / a = int_0^1 e^(t a) dt grows with a", "mean-exponential"),
    ("transposes and vectors", "", "rearranged"),
    ("diagonals and ones", "", "diagonal"),
    ("||A||_2 = sqrt(c) where A^T A = c I", "", "multiple-of-an-isometry"),
    ("||y||^2 = sum_k c_k ||x_k||^2 for rows where y y^T = sum_k c_k x_k x_k^T", "", "multiple-of-an-isometry"),
    ("definition of the largest", ""),
):  # fmt: skip
    rule(_name, _says, _claims)
