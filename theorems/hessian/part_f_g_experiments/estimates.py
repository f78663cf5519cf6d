"""How Appendix F draws weights and estimates norms: the variance 0.64 / d_V, and Hutchinson's estimator."""

from __future__ import annotations

from itertools import product
from typing import Annotated, Any

from theorems.hessian import HESSIAN
from verify.matrix import column, concatenate, eye, frobenius_norm, rational, stack_rows, total
from verify.vocabulary import Claim, Definition, Equal, Shape, Size

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


def gpt2_variance() -> Any:
    """0.02^2, the variance of GPT-2's weights at every width."""
    return rational(2, 100) * rational(2, 100)


GPT2 = Definition("the standard deviation of GPT-2's weights is 0.02, whatever the width", by=gpt2_variance)

INITIAL_VARIANCE = Claim(HESSIAN, "hessian.sec-F-initial-variance", label="Appendix F, text",
    statement=r"""\text{``we initialize the weights of the model the same way as GPT-2, so biases are initialized to 0 and
        weights are initialized by sampling from } \mathcal{N}(0, 0.64/d_V)\text{''}""",
    assumptions=[GPT2], expects="refuted", severity="error", correction="hessian.sec-F-initial-variance-widest",
    name="variance of the weights at initialisation", relation=Equal(), sizes={"d_V": (1, 64)}, exact=True,
    consequence=r"""Figures 1 and 4 are not about a network that starts as GPT-2 does: at $d_V = 16$ its weights have 10 times the
        standard deviation. To repeat the figures take $0.8/\sqrt{d_V}$.""",
    note=r"""0.02 is the standard deviation in GPT-2's published code and in its configuration in the library transformers. 0.8
        over the root of the width is the rule that TransformerLens, from which the paper has its model, calls GPT-2
        initialization. At the $d_V = 16$ and 128 of the
        paper the printed variance is 100 and 12.5 times that of GPT-2.""")  # fmt: skip


@INITIAL_VARIANCE.formula
def variance_as_printed(d_V: Width, unused: OneEntry) -> Any:
    """0.64 / d_V, shape (1, 1) (Appendix F)."""
    return column(rational(64, 100 * d_V)) + 0 * unused


INITIAL_VARIANCE.oracle(lambda unused: column(gpt2_variance()) + 0 * unused)
INITIAL_VARIANCE.mutant("0.8 / d_V", "64 -> 80")
INITIAL_VARIANCE.mutant("the width forgotten", "100 * d_V -> 100")
INITIAL_VARIANCE.counterexample("the width 16 of the paper", d_V=16, unused=[[0]])

WIDEST = Claim(HESSIAN, "hessian.sec-F-initial-variance-widest", label="Appendix F, at the width of the largest GPT-2",
    statement=r"\frac{0.64}{d_V} = 0.02^2\cdot\frac{1600}{d_V},\text{ the variance } 0.02^2\text{ of GPT-2 at } d_V = 1600",
    general="This is arithmetic with the printed numbers.",
    assumptions=[GPT2], name="width at which both variances agree", relation=Equal(), all_sizes=True,
    sizes={"d_V": (1, 64)}, exact=True,
    of_project=True, corrects="hessian.sec-F-initial-variance")  # fmt: skip


@WIDEST.formula
def variance_scaled_from_the_widest(d_V: Width, unused: OneEntry) -> Any:
    """0.02^2 times 1600 / d_V, shape (1, 1)."""
    return column(gpt2_variance() * rational(1600, d_V)) + 0 * unused


WIDEST.oracle(lambda d_V, unused: column(rational(16, 25 * d_V)) + 0 * unused)
WIDEST.mutant("the smallest GPT-2, 768 wide", "1600 -> 768")
WIDEST.mutant("at every width", "rational(1600, d_V) -> rational(1600, 1600)")
