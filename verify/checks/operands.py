"""What the functions of a claim are handed in a proof for all sizes: named matrices, symbols, sizes; and which sizes those are."""

from __future__ import annotations

import functools
import itertools
import math
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import sympy

import verify.arithmetics.symbols  # noqa: F401  (gives the primitives their forms)
from verify.arithmetics.symbols.difference import Side, parts_of
from verify.arithmetics.symbols.indexed import Indexed, named
from verify.arithmetics.tracing import traced_inputs, value_of
from verify.inputs.generators import sizes_within
from verify.vocabulary.assumptions import Assumption
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError
from verify.vocabulary.shapes import Real, Shape, Spec, parameter_names

#: A size that reaches this is large.
LARGE = 100

# -- operands from annotations -----------------------------------------------------------------------------------------


def size_symbol(name: str) -> sympy.Symbol:
    """The positive integer symbol of a named size."""
    return sympy.Symbol(name, positive=True, integer=True)


def symbols_of_size(name: str) -> tuple[sympy.Symbol, sympy.Symbol]:
    """The symbol of a size that is at least 1, and of one that may be 0, as a number of steps may."""
    return size_symbol(name), sympy.Symbol(name, integer=True, nonnegative=True)


def real_symbol(name: str, spec: Real) -> sympy.Symbol:
    """The real symbol of a scalar; positive or not zero where its range says so."""
    if spec.low > 0:
        return sympy.Symbol(name, positive=True)
    return sympy.Symbol(name, real=True, nonzero=True) if spec.avoid_zero else sympy.Symbol(name, real=True)


def symbolic_operands(
    parameters: Mapping[str, Spec], matrix: Callable[..., Any] = named, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """An operand for each annotated parameter: a named matrix, a real symbol, or the symbol of a size.

    Sizes that are `given` stand for these products of others.
    """
    found: dict[str, Any] = {}

    def size(name: str) -> Any:
        return given[name] if given and name in given else size_symbol(name)

    for name, spec in parameters.items():
        if isinstance(spec, Shape):
            found[name] = matrix(name, *(int(dim) if dim.isdigit() else size(dim) for dim in spec.dims))
        elif isinstance(spec, Real):
            found[name] = real_symbol(name, spec)
        else:
            found[name] = size(spec.name)
    return found


def free_parameters(claim: Claim) -> dict[str, Spec]:
    """The inputs that stand in the proof as they do in the statement: those that the claim's own functions annotate.

    So do its hypotheses.

    Where a claim prepares its inputs (unit rows, a skew matrix), the preparation says how examples are made, and the proof
    may not depend on it: it takes any matrix, or what the declared hypotheses say of it.
    """
    if not claim.prepares_inputs:
        return dict(claim.parameters)
    found: dict[str, Spec] = {}
    for name, function in claim.named_functions().items():
        if name != "inputs":
            found = {**_annotated(function), **found}
    for item in claim.hypotheses:
        if isinstance(item, Assumption) and item.zero is not None:
            found = {**_annotated(item.zero), **found}
    return found


@functools.cache
def _annotated(function: Callable[..., Any]) -> Mapping[str, Spec]:
    """The parameters of a function that are annotated with a shape, a range or a size."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        return {}
    found = {}
    for name in parameter_names(function):
        spec = next((x for x in getattr(hints.get(name), "__metadata__", ()) if isinstance(x, Spec)), None)
        if spec is not None:
            found[name] = spec
    return found


def inputs_of(
    claim: Claim, matrix: Callable[..., Any] = named, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The symbolic inputs of the claim's functions; raises `InputError` for one that is prepared and not annotated."""
    free = symbolic_operands(free_parameters(claim), matrix, given)
    if not claim.prepares_inputs:
        return free
    deciding = [part for role, part in claim.named_functions().items() if role != "inputs"]
    needed = {name for part in deciding for name in parameter_names(part)} - {"value"}
    if needed <= free.keys():
        return free
    drawn = symbolic_operands(claim.parameters, matrix, given)
    for name, value in value_of(claim.prepare(traced_inputs(drawn))).items():
        if name in free:
            continue
        if _is_as_drawn(value, name, drawn):
            free[name] = value
        elif name in needed:
            raise InputError(name, "an annotation, since the proof may not rest on how it is prepared", "none")
    return free


def _is_as_drawn(value: Any, name: str, drawn: Mapping[str, Any]) -> bool:
    """Whether a prepared input is the drawn parameter of its name, a size, or a matrix of given numbers."""
    if name in drawn and value is drawn[name]:
        return True
    if isinstance(value, sympy.Symbol):
        return bool(value.is_integer)
    return isinstance(value, Indexed) and not any(part.value.heads() for part in parts_of(value))


def sides_of(claim: Claim) -> tuple[Side, Side | None, dict[str, Side]]:
    """The sides of a claim and its mutants, as functions of the prepared inputs."""
    formula, oracle, mutants = claim.sides()

    def side(function: Any) -> Side:
        return lambda prepared: claim.evaluate(function, prepared)

    return (
        side(formula),
        side(oracle) if oracle is not None else None,
        {name: side(each) for name, each in mutants.items()},
    )


# -- sizes --------------------------------------------------------------------------------------------------------------


def admitted_sizes(claim: Claim) -> list[dict[str, int]]:
    """Every assignment of sizes in the claim's ranges that meets its condition, smallest first."""
    return sizes_within(claim.sizes, claim.where)


#: Beyond its range a size has values that many others divide, and its own times these.
BEYOND = (6, 7, 12, 60, 360)
#: At most so many assignments are looked at; where there are more, sizes have fewer values each.
MOST_BEYOND = 20_000
#: So many values one after another.
MOST_STEPS = 500


def sizes_beyond(claim: Claim, more: Iterable[int] = ()) -> list[dict[str, int]]:
    """Assignments that the claim's condition admits and its ranges do not reach, which only say what can be computed.

    A range of one value is no range: such a size is given.  The values `more` are tried too.
    """
    return [
        sizes
        for sizes in combined({name: beyond_range(claim, name, more) for name in claim.sizes})
        if claim.where(sizes)
    ]


def beyond_range(claim: Claim, name: str, more: Iterable[int]) -> list[int]:
    low, high = claim.sizes[name]
    return sorted({*range(low, high + 1), *(value for value in (*BEYOND, *more) if low < high and value >= low)})


def combined(values: dict[str, list[int]]) -> Iterator[dict[str, int]]:
    """Assignments of these values to sizes; of fewer values each where there are too many."""
    while math.prod(map(len, values.values())) > MOST_BEYOND:
        longest = max(values.values(), key=len)
        del longest[len(longest) // 2]
    return (dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values()))


def sizes_that_solve(claim: Claim, expression: sympy.Expr) -> Iterator[dict[str, int]]:
    """Assignments that the claim's condition admits at which a sum of multiples of sizes and a number is 0.

    One size is calculated from the others.  These have values one after another, as many as the coefficient of the one is
    large, since what it is to be divided by decides which of them have a solution: from the lowest on, and from where the
    multiple of each alone is as large as the number.  Nothing is found of what is no such sum.
    """
    symbols = {size_symbol(name): name for name in claim.sizes}
    found = sympy.nsimplify(sympy.expand(expression), rational=True)
    if (
        not found.free_symbols
        or not found.free_symbols <= symbols.keys()
        or not found.is_polynomial(*found.free_symbols)
    ):
        return
    polynomial = sympy.Poly(found, *found.free_symbols).clear_denoms(convert=True)[1]
    if polynomial.total_degree() > 1:
        return
    number = int(polynomial.eval(dict.fromkeys(polynomial.gens, 0)))
    times = {symbols[symbol]: int(polynomial.coeff_monomial(symbol)) for symbol in polynomial.gens}
    for name, own in times.items():
        low, high = claim.sizes[name]
        values = {}
        for other, (least, most) in claim.sizes.items():
            starts = (least, abs(number) // abs(times[other])) if other in times and least < most else ()
            near = (value for start in starts for value in range(start, start + min(abs(own), MOST_STEPS)))
            values[other] = beyond_range(claim, other, near) if other != name else [low]
        for sizes in combined(values):
            rest = number + sum(c * sizes[other] for other, c in times.items() if other != name)
            solved = {**sizes, name: -rest // own}
            if rest % own == 0 and low <= solved[name] and (low < high or solved[name] == low) and claim.where(solved):
                yield solved


def multiplied_sizes(
    claim: Claim, base: Mapping[str, int], multiples: Iterable[int], is_feasible: Callable[[dict[str, int]], bool]
) -> list[dict[str, int]]:
    """Large sizes that the claim's condition admits: all that have a range multiplied, then each that is not large alone.

    Each time by the first of `multiples` that is feasible, which keeps their order and what divides what.
    """

    def multiplied(names: Iterable[str]) -> dict[str, int] | None:
        tried = (
            {name: value * (multiple if name in names else 1) for name, value in base.items()} for multiple in multiples
        )
        return next((sizes for sizes in tried if claim.where(sizes) and is_feasible(sizes)), None)

    free = [name for name, (low, high) in claim.sizes.items() if low < high]
    if not free:
        return []
    found = [multiplied(free)]
    found += [multiplied([name]) for name in free if (found[0] or base)[name] < LARGE]
    return [sizes for k, sizes in enumerate(found) if sizes is not None and sizes not in found[:k]]
