"""How Appendix F draws weights and estimates norms: the variance 0.64 / d_V, and Hutchinson's estimator."""

from __future__ import annotations

from itertools import product
from typing import Annotated, Any

from theorems.hessian import HESSIAN
from verify.matrix import column, concatenate, eye, frobenius_norm, rational, stack_rows, total
from verify.vocabulary import Claim, Definition, Equal, Reading, Shape, Size

Block = Annotated[Any, Shape("m", "n")]
Width = Annotated[int, Size("d_V")]
OneEntry = Annotated[Any, Shape("1", "1")]


def sign_vectors(m: int) -> Any:
    """All vectors with entries 1 and -1, one per row, shape (2^m, m)."""
    return stack_rows([concatenate([eye(1) * sign for sign in signs], axis=1) for signs in product((1, -1), repeat=m)])


HUTCHINSON = Claim(HESSIAN, "hessian.sec-F-hutchinson", label="Appendix F, text",
    statement=r"""\text{``We estimate the block Frobenius norm using the Hutchinson trace estimator of the block outer
        product''}:\ \mathbb{E}\,z^\top HH^\top z = \|H\|_F^2""",
    assumptions=[Definition("the entries of z are independent, 1 and -1 with probability 1/2 each", by=sign_vectors)],
    name="Hutchinson estimate of a Frobenius norm", relation=Equal(), sizes={"m": (1, 5), "n": (1, 4)},
    note=r"""The expectation is taken over all $2^m$ sign vectors; it is the same for every law of $z$ with uncorrelated
        entries of mean 0 and variance 1. The estimator is unbiased for the square of the norm; its root is not
        unbiased for the norm.""")  # fmt: skip


@HUTCHINSON.formula
def expected_quadratic_form(H: Block) -> Any:
    """The mean of z^T H H^T z over all sign vectors z, shape (1, 1) (Appendix F)."""
    Z = sign_vectors(H.shape[0])
    images = Z @ H
    squares = total(images * images) * eye(1)
    return squares * rational(1, 2 ** H.shape[0])


HUTCHINSON.oracle(lambda H: frobenius_norm(H) * frobenius_norm(H) * eye(1))
HUTCHINSON.mutant("the sum over the sign vectors", "rational(1, 2 ** H.shape[0]) -> 1")
HUTCHINSON.mutant("one sign vector twice", "squares -> squares + total(images[:1] * images[:1]) * eye(1)")


def gpt2_variance(d_V: int) -> Any:
    """0.02^2, the variance of GPT-2's weights, which is 1600 wide at its largest, times 1600 / d_V."""
    return rational(2, 100) * rational(2, 100) * rational(1600, d_V)


INITIAL_VARIANCE = Claim(HESSIAN, "hessian.sec-F-initial-variance", label="Appendix F, text",
    statement=r"""\text{``we initialize the weights of the model the same way as GPT-2, so biases are initialized to 0 and
        weights are initialized by sampling from } \mathcal{N}(0, 0.64/d_V)\text{''}""",
    assumptions=[Definition("the standard deviation of GPT-2's weights is 0.02, its largest width 1600", by=gpt2_variance)],
    name="variance of the weights at initialisation", relation=Equal(), expects="reading", sizes={"d_V": (1, 64)},
    exact=True,
    reading=Reading("the same way as GPT-2", r"""centred normal weights whose variance is that of GPT-2 at $d_V = 1600$,
            $0.02^2$, times $1600/d_V$. GPT-2 itself has $0.02^2$ at every width: at the $d_V = 16$ and 128 of the paper
            0.64/d_V is 100 and 12.5 times that"""),
    note="""0.02 is the standard deviation in the published code of GPT-2; 0.8 over the root of the width is the rule of
        TransformerLens, which the paper uses. The paper states neither.""")  # fmt: skip


@INITIAL_VARIANCE.formula
def variance_as_printed(d_V: Width, unused: OneEntry) -> Any:
    """0.64 / d_V, shape (1, 1) (Appendix F)."""
    return column(rational(64, 100 * d_V)) + 0 * unused


INITIAL_VARIANCE.oracle(lambda d_V, unused: column(gpt2_variance(d_V)) + 0 * unused)
INITIAL_VARIANCE.mutant("0.8 / d_V", "64 -> 80")
INITIAL_VARIANCE.mutant("the variance of GPT-2 at every width", "100 * d_V -> 160000 + 0 * d_V")
