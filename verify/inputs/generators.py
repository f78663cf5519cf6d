"""Inputs: what Hypothesis draws, and how a draw becomes arrays in any arithmetic.

A draw is sizes + domain + seed + scale + at most three explicit entries.  It is small, printable and shrinks well; the
arrays are made from it by a counted random stream, 64 seeds at a time.  All entries are dyadic rationals short enough
for float32, so every arithmetic sees exactly the same numbers.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError, RegistryError
from verify.vocabulary.shapes import Real, Shape, Size

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

#: Entries are multiples of 2^-8 before scaling: exact in float32, short in print.
GRID = 2.0**-8
LARGEST = 32.0
SIGNS = np.array([-1.0, 1.0])

Arrays = dict[str, np.ndarray]
#: An assignment of sizes, by name.
Sizes = tuple[tuple[str, int], ...]


def _quantised(x: np.ndarray) -> np.ndarray:
    return np.clip(np.round(x / GRID) * GRID, -LARGEST, LARGEST)


def _generic(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return _quantised(0.8 * rng.standard_normal(shape))


def _integers(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.integers(-2, 3, shape).astype(np.float64)


def _tied(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Rows repeated, and entries drawn from two values."""
    x = rng.choice([0.5, -1.25], shape)
    if len(shape) > 2:
        x[:, shape[1] // 2 :, :] = x[:, :1, :]
    return x


def _rank_deficient(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if len(shape) > 3:
        return _rank_deficient((int(np.prod(shape[:-2])), *shape[-2:]), rng).reshape(shape)
    if len(shape) < 3 or min(shape[1:]) < 2:
        return _generic(shape, rng)
    rank = max(1, min(shape[1:]) - 1)
    left = rng.integers(-4, 5, (shape[0], shape[1], rank)) / 4
    return left @ (rng.integers(-4, 5, (shape[0], rank, shape[2])) / 4)


def _repeated_singular_values(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Signed partial permutation matrices: every nonzero singular value is 1."""
    if len(shape) < 3:
        return rng.choice([-1.0, 1.0], shape)
    if len(shape) > 3:
        return _repeated_singular_values((int(np.prod(shape[:-2])), *shape[-2:]), rng).reshape(shape)
    batch, m, n = shape
    x, k = np.zeros(shape), min(m, n)
    for b in range(batch):  # signs as `rng.choice` draws them, at a third of its cost
        x[b, rng.permutation(m)[:k], rng.permutation(n)[:k]] = SIGNS[rng.integers(0, 2, k)]
    return x


def _kinks(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Exact zeros, entries a hair on either side of zero, and ordinary ones."""
    return rng.choice([0.0, 2.0**-20, -(2.0**-20), 1.0, -1.0, 0.5], shape)


def _wide(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Multiples of 2^-10 from 2^21 equally likely ones: a nonzero polynomial of degree D vanishes with probability D / 2^21."""
    return rng.integers(-(2**20), 2**20, shape) / 2.0**10


#: The domain of exact checks, where the height of the numbers is what makes a zero conclusive.
WIDE = "wide rationals"

#: Value domains: how the entries of every matrix are drawn.
VALUE_DOMAINS: dict[str, Callable[[tuple[int, ...], np.random.Generator], np.ndarray]] = {
    "generic": _generic,
    "integers": _integers,
    "tied": _tied,
    "rank deficient": _rank_deficient,
    "repeated singular values": _repeated_singular_values,
    "kinks": _kinks,
}
#: Logit domains: generic entries with the weights of role "query" scaled.
LOGIT_DOMAINS = {"uniform attention": 0.0, "large logits": 8.0, "one-hot attention": 256.0}
#: Scale domains: generic entries, all scaled.
SCALE_DOMAINS = {"tiny": 2.0**-12, "huge": 2.0**5}


def size_features(sizes: Mapping[str, int]) -> list[str]:
    """Names of the size domains that the sizes belong to."""
    values = list(sizes.values())
    features = []
    if values and len(set(values)) == len(values):
        features.append("distinct sizes")
    if sizes.get("L") == 1 or sizes.get("N") == 1 or sizes.get("S") == 1 or sizes.get("n") == 1:
        features.append("one token")
    if sizes.get("d_K", 0) > sizes.get("d_V", 10**9):
        features.append("d_K > d_V")
    if any(value % 2 for value in values):
        features.append("odd sizes")
    return features


def applicable_domains(claim: Claim) -> list[str]:
    """The domains from which the claim's parameters are drawn."""
    roles = {spec.role for spec in claim.parameters.values() if isinstance(spec, Shape)}
    names = [*VALUE_DOMAINS, *SCALE_DOMAINS]
    if "query" in roles:
        names += LOGIT_DOMAINS
    chosen = list(claim.domains) if claim.domains is not None else names
    unknown = [name for name in [*chosen, *claim.without_domains] if name not in [*names, *LOGIT_DOMAINS]]
    if unknown:
        raise RegistryError(f"{claim.id}: unknown generator domains {unknown}")
    left = [name for name in chosen if name not in claim.without_domains] + list(claim.special_domains)
    if not left:
        raise RegistryError(f"{claim.id}: no generator domain is left to draw from")
    return left


@dataclass(frozen=True)
class Draw:
    """A reproducible recipe for a batch of inputs."""

    sizes: Sizes
    domain: str
    seed: int
    explicit: tuple[tuple[int, int, int], ...] = ()
    seeds: int | None = None  #: of how many seeds a batch of it consists; None: as many as the effort says

    def arrays(self, claim: Claim, batch: int) -> Arrays:
        """Float64 arrays with a leading batch axis for every drawn parameter; sizes come as plain integers."""
        sizes = dict(self.sizes)
        result: dict[str, Any] = {}
        for name, spec in claim.parameters.items():
            rng = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
            if isinstance(spec, Size):
                result[name] = sizes[spec.name]
            elif isinstance(spec, Real):
                result[name] = _scalars(spec, self.domain, batch, rng)
            else:
                result[name] = self._matrix(spec, sizes, batch, rng)
        if self.domain in claim.special_domains:
            claim.special_domains[self.domain](result, sizes, np.random.default_rng(self.seed))
        if self.domain in claim.scales:
            claim.scales[self.domain].edit(result, sizes, np.random.default_rng(self.seed))
        matrices = [name for name, spec in claim.parameters.items() if isinstance(spec, Shape)]
        for which, position, value in self.explicit:
            if matrices:
                flat = result[matrices[which % len(matrices)]].reshape(batch, -1)
                if flat.shape[1]:
                    flat[:, position % flat.shape[1]] = value / 2
        return result

    def _matrix(self, spec: Shape, sizes: Mapping[str, int], batch: int, rng: np.random.Generator) -> np.ndarray:
        shape = (batch, *spec.resolve(sizes))
        x = _wide(shape, rng) if self.domain == WIDE else VALUE_DOMAINS.get(self.domain, _generic)(shape, rng)
        if spec.role == "query":
            x = x * LOGIT_DOMAINS.get(self.domain, 1.0)
        return x * SCALE_DOMAINS.get(self.domain, 1.0)


def _scalars(spec: Real, domain: str, batch: int, rng: np.random.Generator) -> np.ndarray:
    low, high = math.ceil(spec.low / GRID) * GRID, math.floor(spec.high / GRID) * GRID
    if low > high:
        raise InputError("Real", f"an interval that holds a multiple of {GRID}", f"[{spec.low}, {spec.high}]")
    x = low + (high - low) * rng.random(batch)
    if domain == "integers":
        x = np.round(x)
    x = np.clip(np.round(x / GRID) * GRID, low, high)
    return np.where(np.abs(x) < GRID, high or low, x) if spec.avoid_zero else x


def draws(claim: Claim) -> SearchStrategy[Draw]:
    """The Hypothesis strategy for a claim: distinct sizes preferred, every applicable domain reachable."""
    return draws_among(*choices_of(claim))


def choices_of(claim: Claim) -> tuple[Sequence[Sizes], Sequence[str]]:
    """The sizes and the domains among which Hypothesis chooses: all that the claim admits, distinct sizes three times."""
    return _admissible_sizes(claim), applicable_domains(claim)


def draws_among(among_sizes: Sequence[Sizes], among_domains: Sequence[str]) -> SearchStrategy[Draw]:
    """Draws of these sizes and domains; which places are chosen depends on their numbers alone."""
    from hypothesis import strategies as st

    # built once: making and validating them at every draw took a tenth of a search
    sizes, domains = st.sampled_from(among_sizes), st.sampled_from(among_domains)
    seeds = st.integers(0, 2**32 - 1)
    entries = st.tuples(st.integers(0, 7), st.integers(0, 63), st.integers(-6, 6))
    explicit = st.lists(entries, max_size=3).map(tuple)

    @st.composite
    def one(draw: st.DrawFn) -> Draw:
        return Draw(sizes=draw(sizes), domain=draw(domains), seed=draw(seeds), explicit=draw(explicit))

    return one()


def _admissible_sizes(claim: Claim) -> tuple[Sizes, ...]:
    """All size assignments that the claim admits, smallest first, those with distinct values listed three times."""
    found = _assignments(tuple(claim.sizes.items()), claim.where)
    if not found:
        raise RegistryError(f"{claim.id}: no sizes in {dict(claim.sizes)} satisfy its condition")
    return found


def sizes_within(
    ranges: Mapping[str, tuple[int, int]], where: Callable[[Mapping[str, int]], bool]
) -> list[dict[str, int]]:
    """Every assignment of sizes within inclusive ranges that meets a condition, smallest first.

    >>> sizes_within({"m": (1, 2), "n": (1, 2)}, lambda sizes: sizes["m"] <= sizes["n"])
    [{'m': 1, 'n': 1}, {'m': 1, 'n': 2}, {'m': 2, 'n': 2}]
    """
    spans = [range(low, high + 1) for low, high in ranges.values()]
    every = (dict(zip(ranges, values, strict=True)) for values in itertools.product(*spans))
    return sorted(filter(where, every), key=lambda sizes: sum(sizes.values()))


@functools.lru_cache(maxsize=4096)
def _assignments(
    ranges: tuple[tuple[str, tuple[int, int]], ...], where: Callable[[Mapping[str, int]], bool]
) -> tuple[Sizes, ...]:
    weighted = [
        sizes
        for sizes in sizes_within(dict(ranges), where)
        for _ in range(3 if len(set(sizes.values())) == len(sizes) else 1)
    ]
    return tuple(tuple(sizes.items()) for sizes in weighted)


def systematic(claim: Claim, count: int, seed: int, domain: str | None = None) -> list[Draw]:
    """`count` draws without Hypothesis, domains in turn (or all from `domain`), every other one at telling sizes.

    The same for the same seed.  Whatever the effort, these reach every domain and break every symmetry of square shapes.
    Domains of the claim's own begin at telling sizes: what they are for may not exist at the smallest.
    """
    domains, admissible = [domain] if domain else applicable_domains(claim), _admissible_sizes(claim)
    rng = np.random.default_rng([seed, zlib.crc32(claim.id.encode())])
    telling = telling_sizes(claim)
    own = {i for i, name in enumerate(domains) if name in claim.special_domains}
    chosen = [
        telling[i // 2 % len(telling)] if i % 2 == 0 or i in own else admissible[int(rng.integers(len(admissible)))]
        for i in range(count)
    ]
    return [Draw(chosen[i], domains[i % len(domains)], int(rng.integers(2**32))) for i in range(count)]


def at_scales(claim: Claim, count: int, seed: int) -> list[Draw]:
    """`count` draws at each of the claim's declared scales."""
    rng = np.random.default_rng([seed, zlib.crc32(claim.id.encode())])
    return [
        Draw(tuple(scale.sizes.items()), scale.name, int(rng.integers(2**32)))
        for scale in claim.scales.values()
        for _ in range(count)
    ]


def telling_sizes(claim: Claim) -> list[Sizes]:
    """Up to four size assignments with as many different values as possible and no 1 where that can be helped."""
    _admissible_sizes(claim)  # raises where there are none
    return list(_telling(tuple(claim.sizes.items()), claim.where))


@functools.lru_cache(maxsize=4096)
def _telling(
    ranges: tuple[tuple[str, tuple[int, int]], ...], where: Callable[[Mapping[str, int]], bool]
) -> tuple[Sizes, ...]:
    def rank(sizes: Sizes) -> tuple[int, int, int]:
        values = [value for _, value in sizes]
        return (values.count(1), -len(set(values)), sum(values))

    return tuple(heapq.nsmallest(4, dict.fromkeys(_assignments(ranges, where)), key=rank))
