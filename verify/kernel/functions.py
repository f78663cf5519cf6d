"""Functions of normal forms: powers, exponentials, softmax, inverses; derivatives, means and what stands in for a variable."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from verify.kernel.normal_forms import (
    IDEMPOTENT,
    ONE,
    POSITIVE,
    Factor,
    Form,
    Index,
    Number,
    Products,
    plain,
    summed_in,
)
from verify.kernel.refusal import Refused


class Algebra(Products):
    """What can be done with normal forms."""

    def _content(self, form: Form, whole: bool) -> tuple[Fraction, list[Factor], Form]:
        """A positive number and scalars (positive ones unless `whole`) that all terms share, and the form without them."""
        number = Fraction(
            math.gcd(*(value.numerator for value in form.values())),
            math.lcm(*(value.denominator for value in form.values())),
        )
        least: dict[int, Number] = {}
        for atom in {atom for key in form for atom, at, _ in key if not at and self.kinds[atom] != "prime"}:
            if whole or self.kinds[atom] in POSITIVE:
                powers = [next((p for other, _, p in key if other == atom), 0) for key in form]
                least[atom] = min(powers)
        shared: list[Factor] = [(atom, (), p) for atom, p in sorted(least.items()) if p]
        return number, shared, self.times(form, self._one_over(number, shared))

    def _one_over(self, number: Fraction, factors: Sequence[Factor]) -> Form:
        return self.collected([(plain(1 / number), [(atom, at, -p) for atom, at, p in factors], frozenset())])

    def power(self, form: Form, exponent: Number) -> Form:
        """The form to a rational power: whole powers of a product factor by factor, others where factors are positive."""
        if exponent.denominator == 1 and exponent >= 0:
            return self.times(*[form] * exponent.numerator)
        if not form:
            if exponent < 0:
                raise Refused("a negative power of zero")
            return {}
        whole = exponent.denominator == 1
        number, shared, rest = self._content(form, whole)
        outside: list[Factor] = [(atom, at, plain(p * exponent)) for atom, at, p in shared]
        if len(rest) == 1:
            ((key, value),) = rest.items()  # 1 or -1
            if whole and value < 0:
                number, value = -number, -value
            over, left = summed_in(key), []
            roots = value > 0 and all(p.denominator == 2 or self.kinds[atom] in POSITIVE for atom, _, p in key)
            for factor in key:
                atom, at, p = factor
                kind = self.kinds[atom]
                loose = not over.intersection(at) and kind not in IDEMPOTENT
                alone = len(key) == 1 and value == 1 and p.numerator % 2 == 1
                if loose and (whole or alone or kind in POSITIVE or (p.denominator == 2 and (p < 0 or roots))):
                    outside.append((atom, at, plain(p * exponent)))
                else:
                    left.append(factor)
            rest = {tuple(left): value}
        numbers = self._of_number(number, exponent)
        if rest != {(): ONE}:
            atom, at, _ = self.function("base", rest, [], [()])
            outside.append((atom, at, exponent))
        return self.times(numbers, self.collected([(ONE, outside, frozenset())]))

    def _of_number(self, number: Fraction, exponent: Number) -> Form:
        if exponent.denominator == 1:
            return self.number(number**exponent.numerator)
        factors: list[Factor] = []
        for part, sign in ((number.numerator, 1), (number.denominator, -1)):
            prime = 2
            while part > 1:
                if prime * prime > part:
                    prime = part
                while part % prime == 0:
                    part //= prime
                    factors.append((self.atom("prime", prime, 0), (), sign * exponent))
                prime += 1
        return self.collected([(ONE, factors, frozenset())])

    def exponential(self, form: Form) -> Form:
        """exp of a sum, the product of the exponentials of its terms: exp(c x) is exp(x)^c for a number c."""
        parts: list[Form] = []
        for key, value in form.items():
            if len(key) == 1 and self.kinds[key[0][0]] == "log" and key[0][2] == 1 and not summed_in(key):
                parts.append(self.power(self.instance(key[0]), value))
            else:
                atom, at, _ = self.function("exp", {key: ONE}, [], [()])
                parts.append(self.collected([(ONE, [(atom, at, value)], frozenset())]))
        return self.times(*parts)

    def logarithm(self, form: Form) -> Form:
        """log; of a product of exponentials the sum of their arguments."""
        if len(form) == 1:
            ((key, value),) = form.items()
            if key and value == 1 and not summed_in(key) and all(self.kinds[atom] == "exp" for atom, _, _ in key):
                return self.plus((self.instance(factor), factor[2]) for factor in key)
        return self.collected([(ONE, [self.function("log", form, [], [()])], frozenset())])

    def step(self, form: Form) -> Form:
        """1 where the form is positive, 0 elsewhere; positive factors do not matter."""
        if not form:
            return {}
        _, _, form = self._content(form, False)
        if len(form) == 1:
            ((key, value),) = form.items()
            over = summed_in(key)
            left = tuple(f for f in key if over.intersection(f[1]) or self.kinds[f[0]] not in POSITIVE)
            if not left:
                return self.number(int(value > 0))
            form = {left: value}
        return self.collected([(ONE, [self.function("step", form, [], [()])], frozenset())])

    def softmax(self, form: Form, own: Sequence[Index]) -> Form:
        """The softmax over the indices `own`, at them; terms without them cancel."""
        form = {key: value for key, value in form.items() if any(i in own for _, at, _ in key for i in at)}
        if not form:
            return self.times(*(self.power(self.size_value(index[1]), -1) for index in own))
        orders = [
            o for o in itertools.permutations(range(len(own))) if all(own[a][1] == own[b][1] for a, b in enumerate(o))
        ]
        return self.collected([(ONE, [self.function("softmax", form, own, orders)], frozenset())])

    def of_matrix(self, kind: str, form: Form, own: Sequence[Index]) -> Form:
        """The inverse or exponential of the matrix with the rows and columns `own`, at them: of a transpose the transpose."""
        half = len(own) // 2
        if [i[1] for i in own[:half]] != [i[1] for i in own[half:]] or len(own) != 2 * half or not half:
            raise Refused(f"{kind} of a matrix whose rows and columns differ")
        deltas = self.times(*(self.delta(own[k], own[half + k]) for k in range(half)))
        outside: Form = {(): ONE}
        if kind == "inverse":
            if not form:
                raise Refused("the inverse of zero")
            number, shared, form = self._content(form, True)
            outside = self._one_over(number, shared)
        if (kind, form) in (("inverse", deltas), ("expm", {})):
            return self.times(outside, deltas)
        turned = [*range(half, 2 * half), *range(half)]
        made = self.function(kind, form, own, [list(range(2 * half)), turned])
        return self.times(outside, self.collected([(ONE, [made], frozenset())]))

    def of_exponential(self, form: Form, own: Sequence[Index]) -> Form:
        """The integral of exp(s M)_ik exp((1 - s) M)_lj at own = (i, k, l, j), of a form M over i and j."""
        step = len(own) // 4
        i, k, m, j = (own[step * place : step * (place + 1)] for place in range(4))
        if len(own) != 4 * step or any([x[1] for x in i] != [x[1] for x in other] for other in (k, m, j)) or not i:
            raise Refused("the slope of the exponential of a matrix whose rows and columns differ")
        if any(index in (*k, *m) for key in form for _, at, _ in key for index in at):
            raise Refused("a matrix with more rows and columns than it has")
        if not form:
            return self.times(*map(self.delta, i, k), *map(self.delta, m, j))
        turned = [place * step + number for place in (3, 2, 1, 0) for number in range(step)]
        made = self.function("dexpm", form, own, [list(range(4 * step)), turned])
        return self.collected([(ONE, [made], frozenset())])

    # -- derivatives and substitution ----------------------------------------------------------------------------------

    def mentions(self, atom: int, target: int) -> bool:
        """Whether a tensor stands in the arguments of a function, or is it."""
        if (atom, target) not in self._mentions:
            payload = self.payloads[atom]
            inside = isinstance(payload, dict) and any(self.mentions(f[0], target) for key in payload for f in key)
            self._mentions[atom, target] = atom == target or inside
        return self._mentions[atom, target]

    def derivative(self, form: Form, target: int, ends: Sequence[Index]) -> Form:
        """The derivative in the entry `ends` of a tensor: the product rule, and the slopes of functions."""
        total: Form = {}
        for key, value in form.items():
            if not any(self.mentions(atom, target) for atom, _, _ in key):
                continue
            factors, over = self.opened(key)
            for k, (atom, at, power) in enumerate(factors):
                if self.mentions(atom, target) and (slope := self._slope((atom, at, power), target, ends)):
                    rest = [*factors[:k], *factors[k + 1 :], (atom, at, power - 1)]
                    outside = self.collected([(value * power, rest, frozenset())])
                    self._add(total, self.times(outside, slope, over=over))
        return total

    def _slope(self, factor: Factor, target: int, ends: Sequence[Index]) -> Form:
        """The derivative of an atom at its indices, its power aside."""
        atom, at, _ = factor
        kind, own = self.kinds[atom], self.owns[atom]
        if atom == target:
            return self.times(*(self.delta(one, other) for one, other in zip(at, ends, strict=True)))
        if kind == "step":
            return {}
        itself = self.collected([(ONE, [(atom, at, ONE)], frozenset())])
        inner = self.derivative(self.instance(factor), target, ends)
        if kind == "base":
            return inner
        if kind == "exp":
            return self.times(itself, inner)
        if kind == "log":
            return self.times(self.power(self.instance(factor), -ONE), inner)
        if kind == "softmax":
            over = [self.fresh(index[1]) for index in at[:own]]
            there = (atom, (*over, *at[own:]), ONE)
            mean = self.times(
                self.collected([(ONE, [there], frozenset())]), self.derivative(self.instance(there), target, ends)
            )
            return self.times(itself, self.plus([(inner, ONE), (self.summed(mean, over), -ONE)]))
        if kind == "inverse":
            rows, columns = at[: own // 2], at[own // 2 : own]
            left = [self.fresh(index[1]) for index in rows]
            right = [self.fresh(index[1]) for index in columns]
            middle = self.derivative(self.instance((atom, (*left, *right, *at[own:]), ONE)), target, ends)
            around: list[Factor] = [
                (atom, (*rows, *left, *at[own:]), ONE), (atom, (*right, *columns, *at[own:]), ONE),
            ]  # fmt: skip
            found = self.times(self.collected([(-ONE, around, frozenset())]), middle)
            return self.summed(found, [*left, *right])
        if kind == "expm":  # the integral of exp(s M) dM exp((1 - s) M) over s from 0 to 1
            rows, columns, free = at[: own // 2], at[own // 2 : own], at[own:]
            left, right = ([self.fresh(index[1]) for index in rows] for _ in range(2))
            middle = self.derivative(self.instance((atom, (*left, *right, *free), ONE)), target, ends)
            ends_of = [self.fresh(index[1]) for index in at[:own]]
            slots = [*ends_of[: own // 2], *left, *right, *ends_of[own // 2 :]]
            made = self.of_exponential(self.instance((atom, (*ends_of, *free), ONE)), slots)
            made = self.renamed(made, dict(zip(ends_of, at[:own], strict=True)))
            return self.times(made, middle, over=[*left, *right])
        raise Refused(f"{kind} has no slope")

    def mean(self, form: Form, target: int, variance: Form) -> Form:
        """The mean over independent normal entries of a tensor, of mean 0: E v f = variance E df/dv (Stein), for polynomials."""
        total: Form = {}
        for key, value in form.items():
            factors, over = self.opened(key)
            place = next((k for k, (atom, _, _) in enumerate(factors) if atom == target), None)
            if any(atom != target and self.mentions(atom, target) for atom, _, _ in factors):
                raise Refused("a mean of what is no polynomial")
            if place is None:
                self._add(total, {key: value})
                continue
            _, at, power = factors.pop(place)
            if power < 1 or power.denominator > 1:
                raise Refused("a mean of what is no polynomial")
            rest = self.collected([(value, [*factors, (target, at, power - 1)], frozenset())])
            inner = self.mean(self.derivative(rest, target, at), target, variance)
            self._add(total, self.times(variance, inner, over=over))
        return total

    def substituted(self, form: Form, target: int, slots: Sequence[Index], point: Form) -> Form:
        """The form with the point, a form over `slots`, in place of a tensor, in arguments of functions too."""
        total: Form = {}
        for key, value in form.items():
            factors, over = self.opened(key)
            same = [factor for factor in factors if not self.mentions(factor[0], target)]
            parts = [self._replaced(f, target, slots, point) for f in factors if self.mentions(f[0], target)]
            rest = self.collected([(value, same, frozenset())])
            self._add(total, self.times(rest, *parts, over=over))
        return total

    def _replaced(self, factor: Factor, target: int, slots: Sequence[Index], point: Form) -> Form:
        """The same of one factor, in which the tensor stands."""
        atom, at, power = factor
        if atom == target:
            return self.power(self.renamed(point, dict(zip(slots, at, strict=True))), power)
        return self._rebuilt(factor, lambda form: self.substituted(form, target, slots, point))

    def _rebuilt(self, factor: Factor, change: Callable[[Form], Form]) -> Form:
        """A function of another argument, to its power, at the same indices."""
        atom, at, power = factor
        kind, own = self.kinds[atom], self.owns[atom]
        over = [self.fresh(index[1]) for index in at[:own]]
        inner = change(self.instance((atom, (*over, *at[own:]), ONE)))
        if kind == "base":
            return self.power(inner, power)
        if kind == "exp":
            return self.exponential(self.plus([(inner, power)]))
        return self.power(self.renamed(self.of(kind, inner, over), dict(zip(over, at[:own], strict=True))), power)

    def of(self, kind: str, form: Form, own: Sequence[Index]) -> Form:
        """A function by its name, of a form, at the indices that it binds."""
        if kind in ("softmax", "inverse", "expm"):
            return self.softmax(form, own) if kind == "softmax" else self.of_matrix(kind, form, own)
        if kind == "dexpm":
            return self.of_exponential(form, own)
        if own:
            raise Refused(f"{kind} binds no index")
        if kind == "relu":
            return self.times(form, self.step(form))
        if kind == "abs":
            minus = self.plus([(form, -ONE)])
            return self.plus([(self.times(form, self.step(form)), ONE), (self.times(form, self.step(minus)), -ONE)])
        functions = {"exp": self.exponential, "log": self.logarithm, "step": self.step}
        if kind not in functions:
            raise Refused(f"no function is called {kind}")
        return functions[kind](form)
