"""Appendix C.3: the constant C_lambda of Assumption 2, attended tokens, and the Lipschitz constant of the ReLU."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import KeyWeights, QueryWeights, Samples, ValueWeights
from theorems.convergence.part_c_1_lemmas.constants import ASSUMPTION_1, PositiveScale, sample_bound, stacked
from theorems.convergence.part_c_3_theorem_1.minimum_eigenvalue import smallest_eigenvalue
from theorems.convergence.part_d_1_limiting_kernel.gradients import attention_row
from theorems.convergence.settings import Tokens
from verify.matrix import determinant, each, frobenius_norm, maximum, rational, relu, sqrt, summed
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Shape

OtherSamples = Annotated[Any, Shape("N", "d_s", "d")]

C_LAMBDA = Claim(CONVERGENCE, "convergence.lemma-15-c-lambda", label="Proof of Lemma 15, C_lambda",
    statement=r"""\text{Due to Assumption 2, for any data }X\text{, the matrix }XX^\top\text{ is positive definite and thus
        has positive
        minimum eigenvalue. We denote it as }\lambda_{\min}(XX^\top)\ge C_\lambda\text{. \dots\ where }C_\lambda\text{ is some
        positive constant.}""",
    name="one constant below the smallest eigenvalues", relation=AtMost(left="det(X X^T)", ascent=False),
    assumptions=[
        Assumption("d_s <= d, without which no X has full row rank", sizes=lambda sizes: sizes["d_s"] <= sizes["d"]),
        Definition("the explicit constant: the least of det(X X^T) over (d_s C_x^2)^{d_s - 1}", by=determinant),
    ],
    sizes={"d_s": (1, 3), "d": (1, 4)}, uses=("convergence.lemma-15-gram",),
    note=r"""A constant needs Assumption 2 for every $X$ of the sample space, which is compact by Section 3.1: $\det(XX^\top)$ is
        continuous and positive there, hence at least some $c > 0$, and $\lambda_{\min}(XX^\top) \ge \det(XX^\top) /
        \|X\|_F^{2(d_s - 1)}$, which is compared, gives $C_\lambda = c / (d_s C_x^2)^{d_s - 1}$. Full row rank with probability 1
        is not enough: $X = \sqrt U$ at $d = d_s = 1$ with $U$ uniform on $[0, 1]$ has no such constant. For the given samples the
        least of their eigenvalues would do, but that falls as $N$ grows.""",
)  # fmt: skip


@C_LAMBDA.formula
def eigenvalue_times_squared_norms(X: Tokens) -> Any:
    """lambda_min(X X^T) ||X||_F^{2 (d_s - 1)}, a scalar (proof of Lemma 15)."""
    return smallest_eigenvalue(X @ X.T) * (X * X).sum() ** (X.shape[0] - 1)


C_LAMBDA.oracle(lambda X: determinant(X @ X.T))
C_LAMBDA.mutant("without the norms", "X.shape[0] - 1 -> 0")
C_LAMBDA.mutant("nine tenths", lambda value: value * rational(9, 10))


BOUNDED = Claim(CONVERGENCE, "convergence.c3-bounded-features", label="C.3, before Eq. (54)",
    statement=r"""\text{Lastly, note that the activation function in the output layer }\sigma_r\text{ is 1-Lipschitz and is
        applied to
        }\sigma_r(W_VX^\top\beta_i)\text{, where }X^\top\beta_i\text{ is bounded due to the softmax's property in Lemma 8}""",
    name="attended tokens and the ReLU", relation=AtMost(ascent=False), all_sizes=True, uses=("convergence.lemma-8",),
    assumptions=[ASSUMPTION_1],
    sizes={"N": (1, 2), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)},
    note=r"""$\|X^\top \beta_i\|_2 \le \sqrt{d_s} C_x$ for every token of every sample, and $\|\mathrm{relu}(a) -
        \mathrm{relu}(b)\|_2 \le \|a - b\|_2$ for every $a$, $b$. The ReLU is applied once in Eq. (1.2); the
        sentence has it twice, which changes nothing.""",
)  # fmt: skip


def _attended(X: Any, W_Q: Any, W_K: Any, tau_0: Any) -> Any:
    """X_n^T beta_i, shape (d, 1), for every token i of every sample n."""
    return each(X.shape[0], lambda n: each(X.shape[1], lambda i: X[n].T @ attention_row(X[n], W_Q, W_K, tau_0, i)))


def _distance(X: Any, Y: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, activation: Any = lambda M: M) -> Any:
    """The distance of what an activation makes of the pre-activations of X and Y, all tokens of all samples together."""
    ours, others = _attended(X, W_Q, W_K, tau_0), _attended(Y, W_Q, W_K, tau_0)

    def square(n: int, i: int) -> Any:
        return frobenius_norm(activation(W_V @ ours[n][i]) - activation(W_V @ others[n][i])) ** 2

    return sqrt(summed(X.shape[0], lambda n: summed(X.shape[1], lambda i: square(n, i))))


@BOUNDED.formula
def bound_of_attended_tokens(X: Samples, Y: OtherSamples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                             tau_0: PositiveScale) -> Any:  # fmt: skip
    """sqrt(d_s) C_x, and the distance of the pre-activations of X and Y, shape (2,) (Appendix C.3)."""
    return stacked([sample_bound(X) * sqrt(X.shape[1]), _distance(X, Y, W_Q, W_K, W_V, tau_0)])


@BOUNDED.oracle
def norm_of_attended_tokens(X: Any, Y: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any) -> Any:
    ours = _attended(X, W_Q, W_K, tau_0)
    lengths = each(X.shape[0], lambda n: maximum(stacked([each(X.shape[1], lambda i: frobenius_norm(ours[n][i]))])))
    return stacked([maximum(stacked([lengths])), _distance(X, Y, W_Q, W_K, W_V, tau_0, relu)])


BOUNDED.mutant("half of both", lambda value: value * rational(1, 2))
BOUNDED.mutant("C_x / 2 for the tokens", "sqrt(X.shape[1]) -> rational(1, 2)")
