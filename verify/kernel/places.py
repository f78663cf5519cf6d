"""Where a quantity stands in a scalar, whether the scalar grows with it, and another in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verify.kernel import quantities as q
from verify.kernel.quantities import Monomial, Scalar

#: What a generator is made of the scalars that it grows with by, where it binds no index.
MADE: dict[str, Callable[[list[Scalar]], Scalar]] = {
    "exp": lambda parts: q.exponential(*parts),
    "mean of exponentials": lambda parts: q.mean_of_exponentials(*parts),
    "sum": lambda parts: parts[0],
    "max": q.largest,
}


def rises(value: Scalar, of: Any, kept: Any = (), sign: int = 1) -> bool:
    """Whether a scalar, times a sign, certainly does not fall as the generator `of` grows where it stands.

    What is within norms, and within the generators in `kept`, is left alone and counts as a constant.
    """
    beside: dict[Monomial, Scalar] = {}  # what stands beside the same factors that move
    for monomial, c in value.terms.items():
        moving = frozenset((g, e) for g, e in monomial if stands_in(g, of, kept))
        if moving:
            beside[moving] = beside.get(moving, Scalar({})) + Scalar({monomial - moving: c})
    for moving, fixed in beside.items():
        up = q.is_nonnegative(fixed)
        if not (up or q.is_nonnegative(fixed * q.number(-1))):
            return False
        if len(moving) > 1 and not all(q.nonnegative_power(g, e) for g, e in moving):
            return False
        for g, e in moving:
            if e != 1 and not q.is_nonnegative_generator(g) and not (e > 0 and e.denominator != 1 and g[0] == "sum"):
                return False
            if not _rises_inside(g, of, kept, sign * (1 if up else -1) * (1 if e > 0 else -1)):
                return False
    return True


def _rises_inside(g: Any, of: Any, kept: Any, sign: int) -> bool:
    if g == of:
        return sign > 0
    if g[0] == "sum" and sign < 0 and not q.is_nonnegative(g[1]):
        return False
    return all(rises(part, of, kept, sign) for part in parts(g, kept))


def parts(g: Any, kept: Any = ()) -> tuple[Scalar, ...]:
    """The scalars that a generator grows with."""
    if g in kept:
        return ()
    if g[0] == "max":
        return tuple(g[1])
    return (g[-1],) if g[0] in ("sum", "exp", "mean of exponentials", "sum over", "max over") else ()


def stands_in(g: Any, of: Any, kept: Any = ()) -> bool:
    return g == of or any(stands_in(h, of, kept) for part in parts(g, kept) for m in part.terms for h, _ in m)


def replaced(value: Scalar, of: Any, by: Scalar, kept: Any = ()) -> Scalar:
    """The scalar with the generator `of` replaced where it stands, outside of norms and of what is in `kept`."""
    found = Scalar({})
    for monomial, c in value.terms.items():
        moving = [(g, e) for g, e in monomial if stands_in(g, of, kept)]
        # what stays is multiplied at once, by one, which brings it to normal form as a product of single generators would
        term = Scalar({monomial.difference(moving): c}) * q.number(1)
        for g, e in moving:
            if g == of:
                term = term * by**e
            else:
                inner = [replaced(part, of, by, kept) for part in parts(g)]
                made = MADE.get(g[0])
                term = term * (made(inner) if made else q.over(g[0], g[1], inner[0])) ** e
        found = found + term
    return found
