"""What the gate knows about a subject besides its definition: sizes, layout, inputs, and wrong variants with names.

ATTENTION = Profile("hessian.attention", sizes={"L": (1, 4), ...}, layout="tokens are the rows of X")

ATTENTION.variant("the logits are divided by d_K", lambda X, W_Q, W_K, W_V: ...)

A subject without a profile has that of its annotations.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from verify.checks.settings import Settings
from verify.gate.choice import Choice
from verify.oracles.statistics import LawTest
from verify.vocabulary.claims import Claim, Mutant, declared
from verify.vocabulary.errors import InputError, RegistryError
from verify.vocabulary.relations import Equal
from verify.vocabulary.sections import Paper
from verify.vocabulary.shapes import Shape, Size, Spec, as_drawn, parameter_specs
from verify.vocabulary.subjects import definition_of, public_name_of
from verify.vocabulary.variants import Variant

F = TypeVar("F", bound=Callable[..., Any])
LawTests = Callable[[Callable[..., Any], Callable[..., Any], Settings], list[LawTest]]

_PAPER = Paper("gate", "Other people's implementations", "", "row-major")
_profiles: dict[str, Profile] = {}


#: Logits that are all hundreds or thousands below zero: a mask or a padding of -1e3 is no longer smaller.
FAR_BELOW = "logits far below zero"


#: Domains in which whatever has to be kept is within the range of float16.
WITHIN_HALF: set[str] = set()


def _far_below(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    """Tokens near a common one, queries near (36, ..., 36), and keys that are the queries with the opposite sign."""
    X, W_Q = arrays["X"], arrays["W_Q"]
    X[...] = X / 16 + round(8 * 64 / X.shape[-1]) / 64
    W_Q[...] = 4.5 + W_Q / 4
    arrays["W_K"] = -W_Q


def _dims(spec: Spec | None) -> tuple[str, ...]:
    return spec.dims if isinstance(spec, Shape) else ()


@dataclass(frozen=True)
class Large:
    """How sizes are chosen where they are large: `counts` stay small, as numbers of heads do, all others are lengths.

    `derived` sizes follow from the others, and `where` is the condition on all, without what keeps small draws cheap.
    """

    counts: Collection[str] = ()
    derived: Mapping[str, Callable[[Mapping[str, int]], int]] = field(default_factory=dict)
    where: Callable[[Mapping[str, int]], bool] = lambda sizes: True


@dataclass(frozen=True)
class Long:
    """A further point of many tokens: an edit of generic arrays, as of a domain, and sizes that follow from the length."""

    title: str
    edit: Callable[[dict[str, Any]], None]
    sizes: Callable[[int], Mapping[str, int]]


@dataclass(frozen=True)
class Sums:
    """Where gradients are sums over many rows: an edit of drawn arrays, and sizes that are not the least."""

    edit: Callable[[dict[str, Any]], None]
    sizes: Mapping[str, int]


class Profile:
    """How a subject is drawn, what its arguments mean, and which mistakes are known by name.

    `largest` is the length up to which dimensions are drawn where sizes are probed, 0 for none, `large` says how, and
    `derivatives` is the order up to which derivatives are compared with those of the definition: less where these cost
    too much.
    """

    def __init__(
        self,
        name: str,
        sizes: Mapping[str, tuple[int, int]] | None = None,
        layout: str = "",
        where: Callable[[Mapping[str, int]], bool] = lambda sizes: True,
        without_domains: Mapping[str, str] | None = None,
        largest: int = 129,
        large: Large | None = None,
        derivatives: int = 2,
        register: bool = True,
    ) -> None:
        self.name, self.layout = name, layout
        self._sizes, self._where, self.without_domains = sizes, where, without_domains or {}
        self.largest, self.large, self.derivatives = largest, large, derivatives
        self.few_rows: Callable[..., Any] | None = None
        self.tokens: tuple[str, ...] = ()
        self.row_axis = 0
        self.longs: list[Long] = []
        self.summed: dict[str, Sums] = {}
        self.law: LawTests | None = None
        self._read: Callable[..., Any] | None = None
        self._inputs: Callable[..., Mapping[str, Any]] | None = None
        self.variants: list[Mutant] = []
        self._domains: dict[str, Callable[..., None]] = {}
        self.choice = Choice()
        if register:
            definition_of(name)
            if name in _profiles:
                raise RegistryError(f"two profiles of subject {name!r}")
            _profiles[name] = self

    def inputs(self, function: Callable[..., Any] | None = None, /, **drawn: Any) -> Any:
        """Declare how drawn parameters become the arguments of the definition, as for a claim (`Claim.inputs`)."""
        self._inputs = as_drawn(drawn) if function is None else function
        return self._inputs

    def rows(self, *tokens: str, axis: int = 0, of: Callable[..., Any] | None = None) -> Any:
        """Declare how some rows of the definition are computed without the others: ``function(rows, **arguments)``.

        `tokens` are the sizes that are large then, without which it is the number of rows of the first matrix, and `axis`
        is that of the rows in the value.  ``rows("m", of=lambda rows, T: softmax(T[rows]))``, or a decorator.
        """

        def declare(function: Callable[..., Any]) -> None:
            self.few_rows, self.tokens, self.row_axis = function, tokens, axis

        return declared(of, declare)

    def long(
        self,
        title: str,
        edit: Callable[[dict[str, Any]], None] = lambda arrays: None,
        sizes: Callable[[int], Mapping[str, int]] = lambda length: {},
    ) -> None:
        """Add a point of many tokens, beside generic ones, for a subject whose generic rows there add up few weights.

        ``edit(arrays)`` changes drawn arrays in place, and ``sizes(length)`` gives sizes that are others there.
        """
        self.longs.append(Long(title, edit, sizes))

    def sums(self, *over: str, edit: Callable[[dict[str, Any]], None] = lambda arrays: None, **sizes: int) -> None:
        """Declare over which sizes gradients of gains, biases or sinks are summed, as those of a norm over its rows.

        For each of them there is a point, in half precision, with many rows that are alike, and with `sizes`, where the least
        leave too few sums, or so many rows cost too much.  ``edit(arrays)`` changes drawn arrays in place there, where some
        draws leave nothing to be summed.
        """
        self.summed |= dict.fromkeys(over, Sums(edit, sizes))

    def reads(self, function: F) -> F:
        """Declare which part of a value is compared: ``function(value, *arguments)`` gives it with zeros elsewhere."""
        self._read = function
        return function

    def as_read(self, implementation: Callable[..., Any]) -> Callable[..., Any]:
        """The implementation, with zeros in the place of what of its values is not compared."""
        if self._read is None:
            return implementation
        read = self._read

        def called(*arguments: Any, **named: Any) -> Any:
            value = implementation(*arguments, **named)
            try:
                return read(value, *arguments, **named)
            except (AttributeError, RuntimeError, TypeError):  # a value of another type or shape is refused as it is
                return value

        return called

    def laws(self, function: F) -> F:
        """Declare how samples are compared with those of the definition: ``function(implementation, definition, settings)``."""
        self.law = function
        return function

    def domain(self, name: str, edit: Callable[..., None], in_half: bool = False) -> None:
        """Add a generator domain in which ``edit(arrays, sizes, rng)`` changes generic drawn arrays in place.

        `in_half`: all that a right implementation keeps there is within the range of float16, so that nothing excuses
        values that are not finite.
        """
        self._domains[name] = edit
        if in_half:
            WITHIN_HALF.add(name)

    def variant(self, name: str, function: Callable[..., Any] | None = None) -> Any:
        """Declare a mistake that people make, with the parameters of the definition; `name` finishes "likely cause:".

        ``variant("the softmax is missing", lambda T: T)``, or ``@PROFILE.variant("...")`` above what needs statements.
        """
        return declared(function, lambda found: self.variants.append(Mutant(name, Variant(found, None, {}))))

    @property
    def is_drawn(self) -> bool:
        """Whether arguments can be drawn: some parameter is a matrix, and every one is annotated."""
        try:
            specs = parameter_specs(self._inputs or definition_of(self.name))
        except RegistryError:
            return False
        return any(isinstance(spec, Shape) for spec in specs.values())

    def shapes(self) -> dict[str, tuple[str, ...]]:
        """Dimensions of the definition's arguments that are drawn as they are."""
        specs = parameter_specs(self._inputs) if self._inputs is not None else {}
        names = inspect.signature(definition_of(self.name)).parameters
        return {name: spec.dims for name, spec in specs.items() if isinstance(spec, Shape) and name in names}

    def narrowed(self, choice: Choice) -> Profile:
        """This profile at sizes that are chosen.

        Raises `InputError` for names that are no sizes of the subject, and where no sizes are left.
        """
        names = sorted(self.claim().sizes)
        if unknown := sorted(set(choice.ranges) - set(names)):
            raise InputError("sizes", f"names among {names}", repr(unknown[0]))
        if choice.narrowed(self.claim()) is None:
            raise InputError("sizes or where", f"some admissible sizes, by the names {names}", "none")
        if not choice.ranges and choice.condition is None:
            return self
        found = copy.copy(self)
        found.choice = choice
        return found

    def claim(self) -> Claim:
        """The statement that the public name, replaced or not, has the values of the definition."""
        definition = definition_of(self.name)
        specs = parameter_specs(self._inputs or definition)
        dims = [dim for spec in specs.values() if isinstance(spec, Shape) for dim in spec.dims if not dim.isdigit()]
        dims += [spec.name for spec in specs.values() if isinstance(spec, Size)]
        claim = Claim(
            _PAPER,
            f"gate.{self.name}",
            label=f"definition of {self.name}",
            statement=inspect.getdoc(definition) or "",
            relation=Equal(),
            sizes=self._sizes or dict.fromkeys(dims, (1, 4)),
            where=self._where,
            without_domains=self.without_domains,
            batched=False,
        )
        claim.formula(public_name_of(self.name))
        claim.oracle(definition)
        if self._inputs is not None:
            claim.inputs(self._inputs)
        claim.mutants.extend(self.variants)
        by_queries = any(spec.role == "query" for spec in specs.values() if isinstance(spec, Shape))
        if by_queries and "W_K" in specs and _dims(specs["W_K"]) == _dims(specs.get("W_Q")):
            claim.special_domains[FAR_BELOW] = _far_below
        claim.special_domains.update(self._domains)
        return self.choice.narrowed(claim) or claim


def profile_of(name: str) -> Profile:
    """The declared profile of a subject, or that of its annotations."""
    return _profiles.get(name) or Profile(name, largest=33, register=False)
