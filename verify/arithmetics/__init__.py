"""The arithmetics a formula can run in, recognised from its operands.

A matrix is one of

* a ``torch.Tensor`` (*float*), on any device;
* a numpy object array whose entries are ``flint.fmpq`` or integers (*exact*), ``flint.arb`` (*ball*),
  sympy expressions (*symbolic*), or `Jet` over any of those;
* such an array with entries in a `Field`, rational functions of indeterminates (*polynomial*);
* an `Indexed` of the package `symbols`: a matrix whose sizes are symbols;
* a `Constant`: an integer matrix such as an identity, which takes on the arithmetic of whatever it meets.

Formulas never name an arithmetic.  Scalars that are not integers are written `rational(2, 3)` and `sqrt(5)`, so
that they stay exact until they meet a matrix.

kinds         which arithmetic operands are in        adaptable     operands that take on another's arithmetic
constants     constant matrices and exact scalars     conversions   the same numbers in every arithmetic
balls         precision, midpoints, radii             jets          Taylor numbers over any scalar
entrywise     exp, log, sqrt, relu, ... of entries    numbers       what an arithmetic is that a package adds
free_exponentials                                     exp as a free function of rationals
polynomials   rational functions of indeterminates    spectra       where expm of them is interpolated
formal        operands with a form of every primitive symbols       matrices of symbolic sizes

A new arithmetic is a class of `Number`; nothing else in the engine enumerates them.
"""

from verify.arithmetics.balls import DEFAULT_BITS, LargeBalls, largest_radius, midpoint, midpoints, precision, radius
from verify.arithmetics.constants import Constant, Surd, rational
from verify.arithmetics.conversions import exact_scalar, to_balls, to_rationals, to_tensor
from verify.arithmetics.entrywise import (
    absolute,
    cos,
    exp,
    log,
    maximum,
    relu,
    sign_of,
    sin,
    sqrt,
    step,
    total,
    vanishes,
)
from verify.arithmetics.formal import register_forms
from verify.arithmetics.free_exponentials import free_exponentials, polynomial_for_expm, series_coefficients
from verify.arithmetics.jets import Jet
from verify.arithmetics.kinds import Kind, has_jets, kind_of
from verify.arithmetics.numbers import Number
from verify.arithmetics.tracing import form_of, primitive
from verify.vocabulary.shapes import is_real, is_tensor

__all__ = [
    "DEFAULT_BITS",
    "Constant",
    "Jet",
    "Kind",
    "LargeBalls",
    "Number",
    "Surd",
    "absolute",
    "cos",
    "exact_scalar",
    "exp",
    "form_of",
    "free_exponentials",
    "has_jets",
    "is_real",
    "is_tensor",
    "kind_of",
    "largest_radius",
    "log",
    "maximum",
    "midpoint",
    "midpoints",
    "polynomial_for_expm",
    "precision",
    "primitive",
    "radius",
    "rational",
    "register_forms",
    "relu",
    "series_coefficients",
    "sign_of",
    "sin",
    "sqrt",
    "step",
    "to_balls",
    "to_rationals",
    "to_tensor",
    "total",
    "vanishes",
]
