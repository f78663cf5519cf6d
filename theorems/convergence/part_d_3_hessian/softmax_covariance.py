"""The spectral norm of diag(beta) - beta beta^T for a softmax output beta (Appendix D.3)."""

from __future__ import annotations

from typing import Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.part_c_1_lemmas.constants import stacked
from theorems.convergence.part_d_3_hessian.hessian_blocks import covariance
from theorems.convergence.part_d_3_hessian.softmax_slopes import BETA, Logits
from verify.matrix import absolute, frobenius_norm, maximum, rational, softmax, spectral_norm, sqrt, total
from verify.vocabulary import AtMost, Claim, Definition

DIAG_BOUND = Claim(CONVERGENCE, "convergence.diag-bound", label="D.3, after the H_QV bound",
    statement=r"""(\min_j(\beta_i^{(j)})+\| \beta_i\|_2^2)^2\le\|\mathrm{diag}( \beta_i)-\beta_i\beta_i^\top\|_2^2\le(
        \max_j( \beta_i^{(j)})+\|\beta_i\|_2^2)^2=\mathcal O(1)""",
    name="norm of the softmax covariance", assumptions=[BETA], relation=AtMost(),
    sizes={"d_s": (1, 5)}, expects="refuted", severity="error", correction="convergence.diag-bound-interlacing",
    note=r"""The lower bound adds where Weyl's inequality subtracts. It fails for equal weights of any number, and for
        one token, where the matrix is 0. Nor is $(\min \beta - \|\beta\|^2)^2$ right: it is 1 for a weight of 1, where
        the matrix is 0 again. The upper bound holds, and it alone is used. $O(1)$ is at most 4.""",
)  # fmt: skip


def _second_largest(beta: Any) -> Any:
    """The second largest entry of beta >= 0, as the largest of the smaller entries of all pairs; 0 for one entry."""
    d_s = beta.shape[0]
    pairs = [(beta[i, 0] + beta[j, 0] - absolute(beta[i, 0] - beta[j, 0])) / 2 for i in range(d_s) for j in range(i)]
    return maximum(stacked(pairs)) if pairs else total(beta * 0)


@DIAG_BOUND.formula
def printed_covariance_bounds(u: Logits) -> Any:
    """||J||^2 and (max beta + ||beta||^2)^2 for J = diag(beta) - beta beta^T, shape (2,) (Appendix D.3)."""
    beta = softmax(u).T
    return stacked([spectral_norm(covariance(beta)) ** 2, (maximum(beta) + frobenius_norm(beta) ** 2) ** 2])


@DIAG_BOUND.oracle
def what_they_bound(u: Logits) -> Any:
    beta = softmax(u).T
    smallest = -maximum(-beta)
    return stacked([(smallest + frobenius_norm(beta) ** 2) ** 2, spectral_norm(covariance(beta)) ** 2])


DIAG_BOUND.mutant("without the squares", lambda value: stacked([sqrt(value[0]), sqrt(value[1])]))
DIAG_BOUND.mutant("max beta - ||beta||^2 above",
    "maximum(beta) + frobenius_norm(beta) ** 2 -> maximum(beta) - frobenius_norm(beta) ** 2")  # fmt: skip
DIAG_BOUND.counterexample("two equal weights: the norm is 1/2, the lower bound 1", u=[[0, 0]])
DIAG_BOUND.counterexample("three equal weights: the norm is 1/3, the lower bound 2/3", u=[[0, 0, 0]])


INTERLACING = Claim(CONVERGENCE, "convergence.diag-bound-interlacing",
    label="D.3, the norm of diag(beta) - beta beta^T between the two largest weights",
    statement=r"""\beta_{(2)}\le\|\mathrm{diag}(\beta)-\beta\beta^\top\|_2\le\beta_{(1)},\quad
        \beta_{(1)}-\|\beta\|_2^2\le\| \mathrm{diag}(\beta)-\beta\beta^\top\|_2\le\tfrac12""",
    assumptions=[
        Definition("beta = Softmax(u)^T, with largest entries beta_(1) >= beta_(2), and beta_(2) = 0 for one token", by=softmax)
    ],
    name="norm of the softmax covariance, corrected", relation=AtMost(), sizes={"d_s": (1, 5)},
    corrects="convergence.diag-bound", of_project=True,
    note=r"""A positive semidefinite matrix of rank one is subtracted, so eigenvalues interlace; Weyl gives the third
        bound. 1/2: for every $x$, $x^\top (\mathrm{diag}(v) - v v^\top) x$ is a variance, at most $(\max x - \min
        x)^2 / 4 \le |x|^2 / 2$. Two equal weights attain all but the third, of which both sides are 0 for one
        token.""")  # fmt: skip


@INTERLACING.formula
def covariance_bounds(u: Logits) -> Any:
    """The right sides of beta_(2) <= ||J|| <= beta_(1) and beta_(1) - |beta|^2 <= ||J|| <= 1/2, shape (4,)."""
    beta = softmax(u).T
    norm = spectral_norm(covariance(beta))
    return stacked([norm, maximum(beta), norm, norm * 0 + rational(1, 2)])


@INTERLACING.oracle
def left_sides_of_interlacing(u: Logits) -> Any:
    beta = softmax(u).T
    norm = spectral_norm(covariance(beta))
    return stacked([_second_largest(beta), norm, maximum(beta) - frobenius_norm(beta) ** 2, norm])


@INTERLACING.domain("two weights share nearly all")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    arrays["u"][:, :, 2:] = -24.0
    arrays["u"][:, :, :2] *= 2.0**-6


INTERLACING.mutant("second largest weight above", "maximum -> _second_largest")
INTERLACING.mutant("1/4 for 1/2", denominator=4)
