"""Whether a scalar grows with one of its parts: a fresh quantity takes the place of the part, and the whole is asked.

What stands around a part decides: 1 - x and 1/x fall as x grows, |1 - x| does neither.
"""

from __future__ import annotations

import functools
from typing import Any

import sympy

from verify.arithmetics.norms.signs import is_nonnegative, sign_of, symbols_of

#: Whether a scalar is certainly non-decreasing, and whether it is certainly non-increasing.
Direction = tuple[bool, bool]
CONSTANT, RISING, NEITHER = (True, True), (True, False), (False, False)


def grows_with(value: Any, part: Any) -> bool:
    """Whether `value` does not fall as `part` grows, a subexpression of it, at all values of the symbols.

    The part is nowhere else: where its symbols are left beside it, they count as constants.

    >>> x = sympy.Symbol("x", nonnegative=True)
    >>> grows_with(2 - 1 / (1 + x), x), grows_with(2 - 1 / (1 + x), 1 / (1 + x))
    (True, False)
    """
    if part.is_Symbol:
        return direction(value, part)[0]
    probe = sympy.Dummy("probe", nonnegative=True) if is_nonnegative(part) else sympy.Dummy("probe", real=True)
    return direction(value.xreplace({part: probe}), probe)[0]


@functools.lru_cache(maxsize=200_000)
def direction(value: Any, probe: Any) -> Direction:
    """Whether a scalar certainly does not fall, and whether it certainly does not rise, as the symbol `probe` grows."""
    if probe not in symbols_of(value):
        return CONSTANT
    if value is probe or value == probe:
        return RISING
    if value.is_Add:
        return _both(*(direction(term, probe) for term in value.args))
    if value.is_Mul:
        return _of_product(value, probe)
    if isinstance(value, sympy.exp):
        return direction(value.args[0], probe)
    if isinstance(value, sympy.Abs):
        return _times(sign_of(value.args[0]), direction(value.args[0], probe))
    if value.is_Pow:
        return _of_power(value, probe)
    return NEITHER


def _both(*directions: Direction) -> Direction:
    return all(rises for rises, _ in directions), all(falls for _, falls in directions)


def _times(sign: int | None, given: Direction) -> Direction:
    """The direction of a multiple, by a factor of this sign."""
    return NEITHER if sign is None else given if sign == 1 else given[::-1]  # type: ignore[return-value]


def _of_product(value: Any, probe: Any) -> Direction:
    fixed = sympy.Mul(*(factor for factor in value.args if probe not in symbols_of(factor)))
    moving = [factor for factor in value.args if probe in symbols_of(factor)]
    sign = sign_of(fixed)
    if len(moving) == 1:
        return _times(sign, direction(moving[0], probe))
    if not all(map(is_nonnegative, moving)):
        return NEITHER
    if (share := _share(moving, probe)) is not None:
        return _times(sign, _both(*(direction(part, probe) for part in share)))
    return _times(sign, _both(*(direction(factor, probe) for factor in moving)))


def _share(factors: list[Any], probe: Any) -> tuple[Any, Any] | None:
    """x and y where a product is y x / (c + x), which grows with x >= 0 for c >= 0 without the probe, and with y >= 0."""
    for power in factors:
        if power.is_Pow and power.exp == -1 and power.base.is_Add:
            moving = [term for term in power.base.args if probe in symbols_of(term)]
            if len(moving) == 1 and is_nonnegative(moving[0]) and is_nonnegative(power.base - moving[0]):
                rest = sympy.Mul(*(factor for factor in factors if factor is not power)) / moving[0]
                return (moving[0], rest) if is_nonnegative(rest) else None
    return None


def _of_power(value: Any, probe: Any) -> Direction:
    base, exponent = value.base, value.exp
    if probe in symbols_of(exponent):
        if probe in symbols_of(base) or not is_nonnegative(base):
            return NEITHER
        return _times(sign_of(base - 1), direction(exponent, probe))
    inner, sign = direction(base, probe), sign_of(exponent)
    if is_nonnegative(base):
        return _times(sign, inner)
    if exponent.is_odd and sign == 1:
        return inner
    if exponent.is_even and sign == 1 and sign_of(base) == -1:
        return inner[::-1]
    return NEITHER
