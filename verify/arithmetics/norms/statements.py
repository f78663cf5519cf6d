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


rule("spectral radius", says="no eigenvalue is larger in absolute value than ||A||_2", rests_on=("spectral-radius",))
rule("spectral at most Frobenius", says="||A||_2 <= ||A||_F", rests_on=("spectral-frobenius",))
rule(
    "product",
    says="||AB||_2 <= ||A||_2 ||B||_2, ||AB||_F <= ||A||_2 ||B||_F and ||A||_F ||B||_2",
    rests_on=("product",),
)
rule("number among the factors", says="||A c B|| = |c| ||A B|| for a number c")
rule("triangle inequality", says="||A + B|| <= ||A|| + ||B||")
rule("reverse triangle inequality", says="||A|| <= ||A + B|| + ||B||")
rule(
    "difference of products",
    says="AB - A'B' = (A - A')B + A'(B - B')",
    rests_on=("difference-of-products", "difference-of-other-products"),
)
rule("Kronecker product", says="||A (x) B|| = ||A|| ||B||, in both norms", rests_on=("kronecker",))
rule("block", says="a block of rows or columns has no larger norm than the whole", rests_on=("block", "rearranged"))
rule("blocks", says="||[A; B]||^2 <= ||A||^2 + ||B||^2, with equality for ||.||_F", rests_on=("blocks",))
rule(
    "block diagonal",
    says="||diag(A_1, ..., A_n)||_2 = max_i ||A_i||_2, ||.||_F^2 = sum_i ||A_i||_F^2",
    rests_on=("block-diagonal",),
)
rule(
    "softmax row",
    says="a softmax row is not negative and sums to one, so that its Euclidean norm is at most 1",
    rests_on=("softmax-row",),
)
rule(
    "softmax is 1/2-Lipschitz",
    says="||softmax(T) - softmax(T')||_F <= ||T - T'||_F / 2",
    rests_on=("softmax-lipschitz",),
)
rule(
    "softmax in the 1-norm",
    says="sum_ij |softmax(T) - softmax(T')|_ij <= max|T - T'| for each row",
    rests_on=("softmax-1-norm",),
)
rule(
    "covariance of a softmax row",
    says="||diag(p) - p p^T||_2 <= 1/2, and so for a block diagonal of several",
    rests_on=("softmax-covariance", "block-diagonal"),
)
rule("relu", says="||relu(A)||_F <= ||A||_F, ||relu(A) - relu(B)||_F <= ||A - B||_F", rests_on=("relu",))
rule("gate", says="0 <= relu' <= 1, so that ||A o relu'(B)||_F <= ||A||_F", rests_on=("gate",))
rule(
    "entrywise product",
    says="||A o B||_F <= max|A| ||B||_F; ||A o B||_2 <= ||A||_2 ||B||_2",
    rests_on=("entrywise-product",),
)
rule("largest entry", says="max|A| <= ||A||_2", rests_on=("largest-entry", "spectral-frobenius"))
rule(
    "rank",
    says="||A||_F <= sqrt(min(m, n)) ||A||_2, and sqrt(r) ||A||_2 where A is a product A_1 A_2 with r columns of A_1",
    rests_on=("spectral-frobenius", "rank"),
)
rule(
    "exponential of a skew matrix",
    says="exp(S) is orthogonal for skew S; ||exp(S) - I|| <= ||S||, in both norms",
    rests_on=("exponential-of-skew",),
)
rule("similar matrices", says="exp(V A V^-1) = V exp(A) V^-1", rests_on=("exponential-of-similar", "product"))
rule(
    "exponential of a dissipative matrix",
    says="||exp(c M)||_2 <= 1 where c >= 0 and x^T M x <= 0 for all x",
    rests_on=("exponential-of-dissipative",),
)
rule("exponential", says="||exp(A)||_2 <= e^||A||_2, ||exp(A) - I||_2 <= e^||A||_2 - 1", rests_on=("exponential",))
rule("permutation", says="a permutation matrix has spectral norm 1", rests_on=("permutation",))
rule(
    "antisymmetric product",
    says="A B^T - B A^T = [A, B] J [A, B]^T with J orthogonal, so that its spectral norm is at most ||[A, B]||_2^2",
    rests_on=("antisymmetric-product",),
)
rule(
    "iterated polynomial",
    says="singular values s become s p(s^2), again at most 1 if p keeps [0, 1] so, from a start with ||M||_2 <= 1",
    rests_on=("iterated-polynomial",),
)
rule(
    "orthonormal",
    says="a matrix with orthonormal columns or rows has spectral norm at most 1",
    rests_on=("orthonormal",),
)
rule(
    "chain rule",
    says="d(A Y B) = (A (x) B^T) dY, d(Y + Z) = dY + dZ; normalisation y / ||y|| of rows has the blocks (I - "
    "y^T y / ||y||^2) / ||y||",
    rests_on=("chain-rule", "normalisation-jacobian"),
)
rule("projection", says="||I - a a^T / ||a||^2||_2 <= 1", rests_on=("projection",))
rule("largest of all entries", says="||A||_F <= sqrt(m n) max|A|", rests_on=("largest-entry",))
rule("unit direction", says="a direction along which a derivative is taken has Frobenius norm at most 1")
rule(
    "inner product", says="<x, y> = (||x + y||^2 - ||x||^2 - ||y||^2) / 2 for two columns", rests_on=("inner-product",)
)
rule("common factor", says="[A C; B C] = [A; B] C", rests_on=("common-factor",))
rule("unit rows", says="a matrix with n unit rows has ||.||_F = sqrt(n)", rests_on=("rows",))
rule("assumption", says="a norm is at most a number, by assumption")
rule(
    "Weyl", says="|sigma_i(A) - sigma_i(B)| <= ||A - B||_2 for singular values in decreasing order", rests_on=("weyl",)
)
rule("contraction", says="its singular values are at most 1, by assumption")
rule("row norms", says="the vector of row norms of A has Euclidean norm ||A||_F", rests_on=("rows",))
rule(
    "sum over an index",
    says="||sum_i A_i|| <= sum_i ||A_i||, and a sum of n numbers is at most n times a bound of each",
)
rule("Cauchy-Schwarz", says="sum_i |e_i| <= sqrt(n) ||e||_2", rests_on=("cauchy-schwarz",))
rule(
    "smaller denominator",
    says="a quotient of non-negative quantities grows as its denominator loses terms that are not negative",
)
rule("largest of several", says="what bounds each of several numbers bounds the largest")
rule("absolute values", says="||(|A|)||_F = ||A||_F, and their largest entries are equal in size")
rule("unit vector", says="no norm of a unit vector is above 1")
rule("mean of exponentials", says="(e^a - 1) / a = int_0^1 e^(t a) dt grows with a", rests_on=("mean-exponential",))
rule("transposes and vectors", rests_on=("rearranged",))
rule("diagonals and ones", rests_on=("diagonal",))
rule("||A||_2 = sqrt(c) where A^T A = c I", rests_on=("multiple-of-an-isometry",))
rule("||y||^2 = sum_k c_k ||x_k||^2 for rows where y y^T = sum_k c_k x_k x_k^T", rests_on=("multiple-of-an-isometry",))
rule("definition of the largest")
