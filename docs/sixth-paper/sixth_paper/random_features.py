"""Random features: SM(x, y) = exp(x . y) as the mean of products of features of x and of y, and the variance of that mean.

The rows of Omega are independent and standard normal.  Positive features are exp(omega . x - |x|^2 / 2), trigonometric ones
exp(|x|^2 / 2) (cos(omega . x), sin(omega . x)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import torch

from sixth_paper import FEATURES
from verify.matrix import cos, exp, rational, sin, total
from verify.oracles import LawTest, moment_test
from verify.vocabulary import AtMost, Claim, Definition, Equal, FollowsLaw, Setting, Shape

Row = Annotated[Any, Shape("1", "d")]
Directions = Annotated[Any, Shape("m", "d")]

KERNEL = Setting(FEATURES, "Features", sizes={"d": (1, 4), "m": (1, 5)})


def short(p: Row, q: Row) -> dict[str, Any]:
    """Rows shorter than 1, made from rows that are drawn freely: the tails of the features grow quickly with the length."""
    return {"x": p / (1 + total(p * p)), "y": q / (1 + total(q * q))}


def positive(omega: Any, x: Any) -> Any:
    """exp(omega . x - |x|^2 / 2) for every row of omega, shape (m, 1)."""
    return exp(omega @ x.T - rational(1, 2) * total(x * x))


def trigonometric(omega: Any, x: Any, y: Any) -> Any:
    """exp((|x|^2 + |y|^2) / 2) cos(omega . (x - y)) for every row of omega, shape (m, 1)."""
    return exp(rational(1, 2) * (total(x * x) + total(y * y))) * cos(omega @ (x - y).T)


SAMPLED = KERNEL.extended("Sampled features", inputs=short, sizes={"d": (1, 4)},
    assumptions=[Definition("the rows of Omega are independent and standard normal", by=positive)])  # fmt: skip


def sampled(
    generator: torch.Generator, samples: int, x: Any, y: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Standard normal rows, shape (samples, d), and x and y as tensors: laws are given numpy arrays."""
    omega = torch.randn(samples, x.shape[1], generator=generator, dtype=torch.float64, device=generator.device)
    return omega, *(torch.as_tensor(v, dtype=omega.dtype, device=omega.device) for v in (x, y))


UNBIASED = Claim(SAMPLED, "features.positive-unbiased", label="Positive features are unbiased",
    name="mean of positive random features", relation=FollowsLaw(),
    statement=r"E\,e^{\omega\cdot x - |x|^2/2}\,e^{\omega\cdot y - |y|^2/2} = e^{x\cdot y}")  # fmt: skip


@UNBIASED.formula
def softmax_kernel(x: Row, y: Row) -> Any:
    """SM(x, y) = exp(x . y), a scalar."""
    return exp(total(x * y))


@UNBIASED.part("laws")
def mean_of_positive(
    formula: Callable[..., Any], generator: torch.Generator, samples: int, x: Row, y: Row
) -> list[LawTest]:
    """`formula` against the average over `samples` independent features."""
    omega, x, y = sampled(generator, samples, x, y)
    return [moment_test("mean", positive(omega, x) * positive(omega, y), float(formula(x, y)))]


UNBIASED.mutant("the Gaussian kernel", lambda x, y: exp(-rational(1, 2) * total((x - y) * (x - y))))
UNBIASED.mutant("without the norms", lambda x, y: exp(rational(1, 2) * total((x + y) * (x + y))))

VARIANCE = Claim(SAMPLED, "features.positive-variance", label="Variance of positive features",
    name="variance of positive random features", relation=FollowsLaw(),
    statement=r"\operatorname{Var} e^{\omega\cdot x - |x|^2/2}\,e^{\omega\cdot y - |y|^2/2}"
        r" = e^{|x+y|^2}\,e^{2x\cdot y}\,(1 - e^{-|x+y|^2})")  # fmt: skip


@VARIANCE.formula
def variance_of_positive(x: Row, y: Row) -> Any:
    """exp(|x + y|^2) SM(x, y)^2 (1 - exp(-|x + y|^2)), a scalar."""
    z = total((x + y) * (x + y))
    return exp(z) * exp(2 * total(x * y)) * (1 - exp(-z))


@VARIANCE.part("laws")
def spread_of_positive(
    formula: Callable[..., Any], generator: torch.Generator, samples: int, x: Row, y: Row
) -> list[LawTest]:
    """`formula` against the average squared distance of a feature from exp(x . y)."""
    omega, x, y = sampled(generator, samples, x, y)
    error = positive(omega, x) * positive(omega, y) - softmax_kernel(x, y)
    return [moment_test("mean squared error", error * error, float(formula(x, y)))]


VARIANCE.mutant("twice as large", lambda value: 2 * value)
VARIANCE.mutant("SM once", "exp(2 * total(x * y)) -> exp(total(x * y)) / 2")

TRIGONOMETRIC_VARIANCE = Claim(SAMPLED, "features.trigonometric-variance", label="Variance of trigonometric features",
    name="mean and variance of trigonometric random features", relation=FollowsLaw(),
    statement=r"E f = e^{x\cdot y},\quad \operatorname{Var} f = \tfrac12 e^{|x|^2 + |y|^2}(1 - e^{-|x-y|^2})^2,\quad"
        r" f = e^{(|x|^2 + |y|^2)/2}\cos(\omega\cdot(x - y))")  # fmt: skip


@TRIGONOMETRIC_VARIANCE.formula
def variance_of_trigonometric(x: Row, y: Row) -> Any:
    """exp(|x|^2 + |y|^2) (1 - exp(-|x - y|^2))^2 / 2, a scalar."""
    rest = 1 - exp(-total((x - y) * (x - y)))
    return rational(1, 2) * exp(total(x * x) + total(y * y)) * rest * rest


@TRIGONOMETRIC_VARIANCE.part("laws")
def moments_of_trigonometric(
    formula: Callable[..., Any], generator: torch.Generator, samples: int, x: Row, y: Row
) -> list[LawTest]:
    """The mean against exp(x . y), and `formula` against the average squared distance from it."""
    omega, x, y = sampled(generator, samples, x, y)
    found, mean = trigonometric(omega, x, y), softmax_kernel(x, y)
    spread = moment_test("mean squared error", (found - mean) ** 2, float(formula(x, y)))
    return [moment_test("mean", found, float(mean)), spread]


TRIGONOMETRIC_VARIANCE.mutant("twice as large", lambda value: 2 * value)
TRIGONOMETRIC_VARIANCE.mutant("the sum in the place of the difference", "(x - y) * (x - y) -> (x + y) * (x + y)")

PRODUCT = Claim(KERNEL, "features.trigonometric-product", label="Trigonometric features as a product",
    name="cosines of differences as a product of features", relation=Equal(),
    statement=r"\cos(\Omega x)\odot\cos(\Omega y) + \sin(\Omega x)\odot\sin(\Omega y) = \cos(\Omega(x - y))")  # fmt: skip


@PRODUCT.formula
def product_of_features(Omega: Directions, x: Row, y: Row) -> Any:
    """cos(Omega x) cos(Omega y) + sin(Omega x) sin(Omega y), shape (m, 1)."""
    return cos(Omega @ x.T) * cos(Omega @ y.T) + sin(Omega @ x.T) * sin(Omega @ y.T)


PRODUCT.oracle(lambda Omega, x, y: cos(Omega @ (x - y).T))
PRODUCT.mutant("sign of the sines", "sin(Omega @ y.T) -> sin(-(Omega @ y.T))")
PRODUCT.mutant("cosines alone", "sin(Omega @ x.T) -> 0 * (Omega @ x.T)")

ALWAYS_BETTER = Claim(KERNEL, "features.positive-always-better", label="Are positive features always better?",
    name="positive against trigonometric features", expects="refuted", severity="error",
    relation=AtMost(left="variance of positive features", right="variance of trigonometric features"),
    statement=r"e^{|x+y|^2}e^{2x\cdot y}(1 - e^{-|x+y|^2}) \le \tfrac12 e^{|x|^2 + |y|^2}(1 - e^{-|x-y|^2})^2",
    consequence="Where queries and keys are alike trigonometric features are better: at x = y they are exact.",
    note="At y = -x it is the other way round: there positive features are exact.")  # fmt: skip

ALWAYS_BETTER.formula(variance_of_trigonometric)
ALWAYS_BETTER.oracle(variance_of_positive)
ALWAYS_BETTER.mutant("half of it", lambda value: value / 2)
ALWAYS_BETTER.mutant("sign", lambda value: -value)
ALWAYS_BETTER.counterexample("x = y = 1", lambda: {"x": [[1]], "y": [[1]]})
