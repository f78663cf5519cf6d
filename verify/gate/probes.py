"""Where an implementation is compared with the definition beyond small matrices of ordinary numbers.

Kernels work in blocks of 8 to 128 and in many layouts of memory, so points are taken just above powers of two, at zero,
at very large and very small tokens, and at tensors that are not contiguous; long sequences at a few rows.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from verify.checks.evaluation import raw_tensors
from verify.checks.settings import Settings
from verify.gate.autograd import LAYOUTS, Layout, Point, as_it_is, column_major, cut_from_product, every_other, one_row
from verify.gate.choice import Choice, draws_of, square_draws
from verify.gate.profiles import Profile
from verify.inputs.generators import Draw
from verify.vocabulary.claims import Claim
from verify.vocabulary.shapes import Shape, Size
from verify.vocabulary.subjects import definition_of, replaced

#: Lengths just above those of blocks.
LARGE = (17, 33, 64, 65, 129)
#: Lengths beside them, of which most are no multiples of 8.
BESIDE = (1, 2, 3, 5, 8, 12, 16, 17, 20, 33, 40, 64, 65, 129)
#: Numbers of tokens of long sequences by effort, and the lengths of the other sizes there.
LONG = {"quick": (1025,), "ci": (1025, 4097), "deep": (1025, 4097, 8191)}
WIDTH = 9
#: Masks of long sequences have no more entries than this.
MANY = 2**25
#: Arguments have no more entries than this; than the second where one width is given, the third where many rows are alike.
ENTRIES, ENTRIES_OF_WIDTHS, ENTRIES_OF_SUMS = 80_000, 300_000, 120_000
#: Widths of heads that are in use besides powers of two, and those among them that kernels have cases for.
WIDTHS = (80, 96, 112, 128, 256)
#: Values that are not as wide as keys, at widths that fast kernels take: keys first.
UNEQUAL = ((64, 128), (192, 128))
#: Groups of keys and heads beside the ratios, as many groups and heads as layers in use have: 16 of a group, more than 32.
GROUPS = ((4, 8), (8, 16), (2, 32), (8, 40))
#: By which names widths go; how many heads may share keys; numbers of samples and heads whose product is above 64.
WIDTH_NAMES, RATIOS, MANY_HEADS = ("d_K", "d_V", "e"), range(1, 9), (9, 13)
#: Numbers of tokens by effort that end inside a block of 128 that begins inside one of 64, and the other lengths there.
INSIDE = {"quick": (100,), "ci": (81, 100, 127), "deep": (66, 81, 96, 100, 112, 127)}
#: A number of tokens that fills blocks of every usual size, with nothing left over.
WHOLE = 256
#: Other lengths where one is large, of which the first is taken that a subject admits; so many keys that few queries meet,
#: and how many these are: one where a token after the other is generated, several where some are guessed ahead.
FEW_TOKENS, AGAINST_FEW, FEW_QUERIES = (5, 6, 8, 4), 129, (1, 5)
#: Long points at which exponentials are nearly equal, by what part of themselves keys differ, and one logit is larger there.
ALIKE, NEARLY, LARGER = "keys alike but two", 2.0**-5, 0.5
#: So many rows, all alike, show a gradient that is summed over them in half precision: in bfloat16 a sum of ones ends at 256.
ROWS_SUMMED = 1025
#: By how much, relative to themselves, entries of large points are changed so that they have bits beyond those of float32.
LAST_BITS = 2.0**-20
#: Rounds of the search for sizes.
TRIES = 300
#: Draws by effort at which first and second derivatives are compared.
DRAWS_OF_FIRST = {"quick": 12, "ci": 24, "deep": 96}
DRAWS_OF_SECOND = {"quick": 6, "ci": 12, "deep": 48}
#: Draws by effort over which the error in half precision is averaged.
DRAWS_OF_BIAS = {"quick": 32, "ci": 64, "deep": 256}

Arrays = dict[str, Any]
#: A title, a change of which drawn arrays there are, given the name of the first, and how tensors lie in memory.
Edit = tuple[str, Callable[[Arrays, str], None], Layout]


def arguments_of(claim: Claim, arrays: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The definition's arguments in float64 from drawn arrays with a batch axis of length 1."""
    raw = raw_tensors(claim, arrays, Settings(settings.effort), "float64")
    return dict(claim.prepare({name: value if isinstance(value, int) else value[0] for name, value in raw.items()}))


def small_points(claim: Claim, order: int, count: int, settings: Settings) -> Iterator[tuple[Point, dict[str, Any]]]:
    """Three times `count` points at small sizes in every domain, for derivatives of one order, with their arrays."""
    draws = draws_of(claim, 3 * count, settings.seed)
    square = square_draws(claim, settings.seed)[:2]
    for number, draw in enumerate([*draws[: count - 2], *square, *draws[count - 2 :]]):
        arrays = draw.arrays(claim, 1)
        # fused kernels take keys as wide as values, stored by rows
        layout = as_it_is if draw in square else LAYOUTS[number % len(LAYOUTS)]
        yield Point(arguments_of(claim, arrays, settings), order, draw.seed, layout, title=draw.domain), arrays


def lengths_of(name: str, known: Iterable[int], largest: int, choice: Choice) -> list[int]:
    """Lengths of a dimension: the `known` ones up to `largest`, or of those in the range chosen with both of its ends."""
    if name not in choice.ranges:
        return [n for n in known if n <= largest]
    low, high = choice.ranges[name]
    return sorted({low, high, *(n for n in known if low <= n <= high)})


@functools.lru_cache(maxsize=8)  # for all kinds of points; a profile at chosen sizes is another one
def block_sizes(profile: Profile, seed: int) -> list[dict[str, int]]:
    """Sizes such that every dimension has every length of `LARGE` up to the largest, in few assignments.

    Numbers that are no dimensions of a matrix (of heads, of steps) take every value of their range.
    """
    claim, rng = profile.claim(), np.random.default_rng([seed, 17])
    lengths, derived = _lengths_of(profile, claim), profile.large.derived if profile.large else {}
    choices = {
        name: lengths_of(name, BESIDE, profile.largest, profile.choice)
        if name in lengths
        else list(range(low, high + 1))
        for name, (low, high) in claim.sizes.items()
    }
    longs = {
        dim: lengths_of(dim, LARGE, profile.largest, profile.choice) for dim in sorted(dimensions(claim) & lengths)
    }
    wanted = sorted(((dim, n) for dim in longs for n in longs[dim]), key=lambda pair: (pair[1], pair[0]))
    wanted += [(name, n) for name in claim.sizes if name not in lengths for n in choices[name]]
    found: list[dict[str, int]] = []
    while wanted:
        dim, length = wanted[0]
        # fused kernels take only values that are as wide as keys: every other assignment is such
        equal = len(found) % 2 == 0 and {"d_K", "d_V"} <= lengths
        best: dict[str, int] = {}
        most, left = 0, set(wanted)
        missing = {name: [n for known, n in wanted if known == name] for name in claim.sizes}
        for attempt in range(TRIES):
            # half of the candidates take lengths that are wanted, for every dimension that has some left
            options = {name: attempt % 2 * missing[name] or choices[name] for name in claim.sizes}
            drawn = {name: numbers[int(rng.integers(len(numbers)))] for name, numbers in options.items()}
            candidate = {**drawn, dim: length}
            given, taken = ("d_V", "d_K") if dim == "d_V" else ("d_K", "d_V")
            if equal and candidate[given] in {*choices[taken], *longs.get(taken, ())}:
                candidate[taken] = candidate[given]
            candidate |= {name: of(candidate) for name, of in derived.items()}
            covered = len(left & candidate.items())
            if (
                covered > most
                and candidate[dim] == length
                and admissible(profile, claim, candidate)
                and _entries(claim, candidate) <= ENTRIES
            ):
                best, most = candidate, covered
        found += [best] if best else []
        wanted = [pair for pair in wanted[1:] if pair not in best.items()]
    return found


def cases_of_kernels(profile: Profile, effort: str) -> list[dict[str, int]]:
    """Sizes that kernels treat as cases of their own, those that the subject has.

    All widths in `WIDTHS`, 1 to 8 and 16 heads for each group of keys, more samples times heads than 64, tokens that end
    inside a block or fill whole ones, values wider or narrower than keys, and few queries against many keys; other lengths
    are small.  Widths and ratios of heads come together where arguments do not become too large.
    """
    claim = profile.claim()
    if profile.largest < LARGE[-1]:
        return []
    lengths, derived = _lengths_of(profile, claim), profile.large.derived if profile.large else {}
    widths = _widths_of(profile, claim)
    tokens = lengths - widths - set(derived)
    heads = {"H", "G"} <= set(claim.sizes) - lengths
    each = [dict.fromkeys(widths, width) for width in WIDTHS] if widths else []
    ratios = [{"G": 2 + ratio % 2, "H": ratio * (2 + ratio % 2)} for ratio in RATIOS] if heads else []
    wanted: list[dict[str, int]] = [
        {**(width or {}), **(ratio or {})} for width, ratio in itertools.zip_longest(each, ratios)
    ]
    wanted += [{"G": groups, "H": H} for groups, H in GROUPS if heads]
    wanted += [{"d_K": keys, "d_V": values} for keys, values in UNEQUAL if {"d_K", "d_V"} <= widths]
    if {"B", "H"} <= set(claim.sizes) - lengths:
        wanted.append(dict(zip(("B", "H"), MANY_HEADS, strict=True)))
    wanted += [dict.fromkeys(tokens, length) for length in (*INSIDE[effort], WHOLE) if tokens]
    wanted += [
        {**dict.fromkeys(tokens, AGAINST_FEW), "m": few} for few in FEW_QUERIES if "m" in tokens and len(tokens) > 1
    ]

    def completed(given: Mapping[str, int]) -> dict[str, int] | None:
        for few in FEW_TOKENS:
            sizes = {name: few if name in lengths else low for name, (low, _) in claim.sizes.items()} | dict(given)
            sizes |= {name: of(sizes) for name, of in derived.items()}
            in_range = all(low <= sizes[name] <= high for name, (low, high) in profile.choice.ranges.items())
            if in_range and admissible(profile, claim, sizes) and _entries(claim, sizes) <= ENTRIES_OF_WIDTHS:
                return sizes
        return None

    found = []
    for given in wanted:
        parts = (
            [given]
            if completed(given)
            else [{n: v for n, v in given.items() if (n in widths) == wide} for wide in (0, 1)]
        )
        found += [sizes for part in parts if part and (sizes := completed(part))]
    return found


def widest(profile: Profile, effort: str) -> dict[str, int]:
    """The largest value of each size that is a width of heads, or of the only matrix, where these have cases of their own."""
    cases, widths = cases_of_kernels(profile, effort), _widths_of(profile, profile.claim())
    return {name: max(sizes[name] for sizes in cases) for name in sorted(widths)} if cases else {}


def _widths_of(profile: Profile, claim: Claim) -> set[str]:
    lengths, derived = _lengths_of(profile, claim), profile.large.derived if profile.large else {}
    return (set(WIDTH_NAMES) & lengths) or ({"d"} & lengths - set(derived))


def _lengths_of(profile: Profile, claim: Claim) -> set[str]:
    """Names of the sizes that become large."""
    return dimensions(claim) if profile.large is None else set(claim.sizes) - set(profile.large.counts)


def admissible(profile: Profile, claim: Claim, sizes: Mapping[str, int]) -> bool:
    """Whether a definition has arguments of these sizes, and the sizes are among those chosen."""
    if profile.large is None:
        return claim.where(sizes)
    fits = all(sizes[name] == of(sizes) for name, of in profile.large.derived.items())
    chosen = all(low <= sizes[name] <= high for name, (low, high) in profile.choice.ranges.items())
    return fits and chosen and profile.large.where(sizes) and profile.choice.admits(sizes)


def _entries(claim: Claim, sizes: Mapping[str, int]) -> int:
    shapes = [spec.resolve(sizes) for spec in claim.parameters.values() if isinstance(spec, Shape)]
    return sum(math.prod(shape) for shape in shapes)


def dimensions(claim: Claim) -> set[str]:
    """Names of sizes that are dimensions of matrices and nothing else."""
    specs = claim.parameters.values()
    counts = {spec.name for spec in specs if isinstance(spec, Size)}
    dims = {dim for spec in specs if isinstance(spec, Shape) for dim in spec.dims}
    return {dim for dim in dims if dim in claim.sizes and dim not in counts}


def large_points(profile: Profile, settings: Settings) -> Iterator[Point]:
    """Points at large sizes: ordinary ones, steep softmaxes, zero, very large and very small tokens, layouts of memory."""
    claim, sizes = profile.claim(), block_sizes(profile, settings.seed)
    rounds = {"quick": 1, "ci": 2, "deep": 6}[settings.effort.name]
    edits: list[Edit] = [
        ("ordinary", _as_drawn, as_it_is),
        ("steep", _steeper, column_major),
        ("tokens of equal rows", _equal_rows, one_row),
        ("ordinary", _as_drawn, every_other),
        ("zero", _times(0.0), as_it_is),
        ("steep", _steeper, as_it_is),
        # no larger, or derivatives that are no numbers were excused in float32: roundings of logits would overflow
        ("tokens about 1e4", _times(2.0**12), as_it_is),
        ("tokens about 1e-6", _times(2.0**-20), as_it_is),
        ("ordinary", _as_drawn, cut_from_product),
    ]
    first, turns = _first_matrix(claim), itertools.cycle(edits)
    for number, chosen in enumerate(itertools.chain.from_iterable(itertools.repeat(sizes, rounds))):
        seed = settings.seed * 1000 + number
        drawn = _drawn(claim, chosen, seed)
        for edit in dict.fromkeys((edits[number % 2], next(turns), next(turns))):
            yield _point(claim, chosen, edit, first, seed, drawn)
    for number, chosen in enumerate(cases_of_kernels(profile, settings.effort.name)):
        yield _point(claim, chosen, edits[0], first, settings.seed * 1000 + 500 + number)
    yield from _zero_arguments(profile, settings, min(sizes, key=lambda each: _entries(claim, each), default=None))
    # kernels have other ways for long rows in those passes too
    for point in ordinary_points(profile, settings, 1):
        if profile.derivatives >= 2:
            yield _asking(point, "second derivatives", order=2)
        if profile.derivatives >= 1:
            yield _asking(point, "forward derivatives", forward=True)


def summing_points(profile: Profile, settings: Settings) -> Iterator[Point]:
    """Points of half precision, at which many rows are alike and so are their cotangents, which are positive.

    All that is added for the gradient of a gain or a bias is alike then, and of one sign.  If it is added one by one in half
    precision, each addition rounds in the same direction, and in the end nothing is added any more.
    """
    claim, derived = profile.claim(), profile.large.derived if profile.large else {}
    lengths = _lengths_of(profile, claim)
    for name, sums in profile.summed.items():
        few = (
            {each: width if each in lengths else low for each, (low, _) in claim.sizes.items()}
            | {name: ROWS_SUMMED, **sums.sizes}
            for width in (WIDTH, *FEW_TOKENS)
        )
        within = ({each: _within(n, each, profile.choice) for each, n in given.items()} for given in few)
        completed = ({**given, **{each: of(given) for each, of in derived.items()}} for given in within)
        fitting = (
            sizes
            for sizes in completed
            if admissible(profile, claim, sizes) and _entries(claim, sizes) <= ENTRIES_OF_SUMS
        )
        sizes = next(fitting, None)
        if sizes is not None:
            edit: Edit = (f"alike along {name}", _both(_edited(sums.edit), _alike_along(claim, name)), as_it_is)
            point = _point(claim, sizes, edit, _first_matrix(claim), settings.seed * 1000 + 900)
            point.one_sign, point.remade = True, None
            yield point


def _alike_along(claim: Claim, size: str) -> Callable[[Arrays, str], None]:
    """What makes arrays nearly the same along every axis of this size; by some roundings, or errors of all would be one."""

    def edit(arrays: Arrays, first: str) -> None:
        rng = np.random.default_rng(31)
        for name, spec in claim.parameters.items():
            for axis, dim in enumerate(
                spec.dims if isinstance(spec, Shape) else (), start=1
            ):  # behind that of the batch
                if dim == size:
                    kept = arrays[name].take([0], axis)
                    arrays[name] = kept * (1 + rng.uniform(-NEARLY, NEARLY, arrays[name].shape))

    return edit


def _asking(point: Point, title: str, **asked: Any) -> Point:
    """A large point, and all that are made of it at other sizes, at which something else is asked for."""
    remade = point.remade
    assert remade is not None
    return dataclasses.replace(
        point, title=f"{title}, {point.title}", remade=lambda sizes: _asking(remade(sizes), title, **asked), **asked
    )


def _zero_arguments(profile: Profile, settings: Settings, sizes: Mapping[str, int] | None) -> Iterator[Point]:
    """Points at which one argument after the other is zero, as keys of an empty cache, values of padding, weights at a start."""
    claim, arguments = profile.claim(), profile.shapes()
    for number, name in enumerate(arguments if sizes else ()):
        edit: Edit = (f"{name} zero", _times(0.0), as_it_is)
        yield _point(claim, sizes or {}, edit, name, settings.seed * 1000 + 800 + number)


def ordinary_points(profile: Profile, settings: Settings, count: int) -> Iterator[Point]:
    """So many ordinary points at the smallest of the large sizes, if possible of those of which no length is small.

    Of few tokens or narrow ones the errors of roundings spread so far that their mean says little.
    """
    claim = profile.claim()
    lengths = _lengths_of(profile, claim)

    def order(sizes: dict[str, int]) -> tuple[int, int]:
        return -min([LARGE[0], *(n for name, n in sizes.items() if name in lengths)]), _entries(claim, sizes)

    sizes = min(block_sizes(profile, settings.seed), key=order, default=None)
    for number in range(count if sizes else 0):
        edit: Edit = ("ordinary", _as_drawn, LAYOUTS[number % len(LAYOUTS)])
        yield _point(claim, sizes or {}, edit, _first_matrix(claim), settings.seed * 1000 + number)


def _drawn(claim: Claim, sizes: Mapping[str, int], seed: int) -> Arrays:
    """Generic arrays of these sizes, which changes leave as they are: those of a point are others.

    Entries have all the bits of float64.  Short ones, as of small draws, are the same numbers in float32, and what rounds
    its arguments would not show.
    """
    arrays = Draw(tuple(sizes.items()), "generic", seed).arrays(claim, 1)
    _balanced(arrays)
    rng = np.random.default_rng([seed, 23])
    for name, spec in claim.parameters.items():
        if isinstance(spec, Shape):
            arrays[name] = arrays[name] * (1 + LAST_BITS * rng.uniform(-1, 1, arrays[name].shape))
    return arrays


def _point(
    claim: Claim, sizes: Mapping[str, int], edit: Edit, first: str, seed: int, drawn: Arrays | None = None
) -> Point:
    title, change, layout = edit
    arrays = dict(_drawn(claim, sizes, seed) if drawn is None else drawn)
    change(arrays, first)
    where = ", ".join(f"{name} = {n}" for name, n in sizes.items())
    return Point(
        arguments_of(claim, arrays, Settings()),
        1,
        seed,
        layout,
        title=f"{title}, {where}",
        sizes=sizes,
        remade=lambda smaller: _point(claim, smaller, edit, first, seed),
    )


def smaller_sizes(profile: Profile, claim: Claim, sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Admissible sizes with one length less than in `sizes`, smallest first."""
    derived = profile.large.derived if profile.large else {}
    for name in sizes:
        low = claim.sizes[name][0]
        for length in sorted({low, *range(low, 6), *BESIDE}):
            candidate = {**sizes, name: length}
            candidate |= {other: of(candidate) for other, of in derived.items()}
            if low <= candidate[name] < sizes[name] and admissible(profile, claim, candidate):
                yield candidate


def long_points(profile: Profile, settings: Settings, in_half: bool = False) -> Iterator[Point]:
    """Points of many tokens, at which a few rows of the value, and their derivatives, are compared.

    `in_half`: instead of these the points that tell something in half precision alone, of keys that are alike.
    """
    claim = profile.claim()
    first = claim.parameters[_first_matrix(claim)]
    assert isinstance(first, Shape)
    tokens, dims = profile.tokens or (first.dims[-2],), dimensions(claim)
    counts = set(profile.large.counts) if profile.large else set()
    for most in LONG[settings.effort.name]:
        length = min(most, *(profile.choice.ranges.get(name, (1, most))[1] for name in tokens))
        rows = sorted({0, min(1, length - 1), length // 2, max(length - 2, 0), length - 1})
        widths = (
            {
                name: _within(
                    max(count, low) if name in counts else width if name in dims else low, name, profile.choice
                )
                for name, (low, _) in claim.sizes.items()
            }
            | dict.fromkeys(tokens, length)
            for width in (WIDTH, *reversed(BESIDE))
            for count in (2, 1)
        )
        derived = profile.large.derived if profile.large else {}
        completed = ({**given, **{name: of(given) for name, of in derived.items()}} for given in widths)
        sizes = next((candidate for candidate in completed if admissible(profile, claim, candidate)), None)
        if sizes is None or _entries(claim, sizes) > MANY:
            continue
        seed = settings.seed * 1000 + length
        drawn = _drawn(claim, sizes, seed)
        edits: list[tuple[Edit, Mapping[str, int]]] = [
            ((title, change, as_it_is), sizes) for title, change in (("ordinary", _as_drawn), ("steep", _steeper))
        ]
        edits += [
            ((each.title, _edited(each.edit), as_it_is), {**sizes, **each.sizes(length)}) for each in profile.longs
        ]
        if in_half:  # with the edits of points of many weights, where the subject has such
            edits = [((f"{ALIKE}, {edit[0]}", _both(_alike, edit[1]), as_it_is), chosen) for edit, chosen in edits[2:]]
            edits = edits or [((ALIKE, _alike, as_it_is), sizes)]
        for edit, chosen in edits:
            if not all(low <= chosen[name] <= high for name, (low, high) in profile.choice.ranges.items()):
                continue
            point = _point(claim, chosen, edit, _first_matrix(claim), seed, drawn if chosen == sizes else None)
            point.of = functools.partial(_of_definition, profile, rows)
            point.rows, point.axis, point.remade = rows, profile.row_axis, None
            if in_half:  # values alone: of keys that are alike derivatives cancel
                point.order = 0
            yield point


def _edited(change: Callable[[Arrays], None]) -> Callable[[Arrays, str], None]:
    """The edit of a declared long point; arrays of other points are not changed."""

    def edit(arrays: Arrays, first: str) -> None:
        arrays.update({name: x if isinstance(x, int) else x.copy() for name, x in arrays.items()})
        change(arrays)

    return edit


def _both(*changes: Callable[[Arrays, str], None]) -> Callable[[Arrays, str], None]:
    def edit(arrays: Arrays, first: str) -> None:
        for change in changes:
            change(arrays, first)

    return edit


def _of_definition(profile: Profile, rows: list[int], **arguments: Any) -> Any:
    """Some rows of the definition, even where these are written with the public name that is being replaced."""
    assert profile.few_rows is not None
    with replaced(profile.name, definition_of(profile.name)):
        return profile.few_rows(rows, **arguments)


def _within(length: int, name: str, choice: Choice) -> int:
    low, high = choice.ranges.get(name, (length, length))
    return max(low, min(length, high))


def _first_matrix(claim: Claim) -> str:
    return next(name for name, spec in claim.parameters.items() if isinstance(spec, Shape))


def _balanced(arrays: Arrays) -> None:
    """Weights that keep the size of what they multiply: of entries about 1/sqrt(rows), by a power of two."""
    for name, x in arrays.items():
        if name.startswith(("W", "M", "Omega")) and not isinstance(x, int) and x.ndim >= 3:
            x *= 2.0 ** -round(np.log2(max(x.shape[-2:])) / 2)


def _as_drawn(arrays: Arrays, first: str) -> None:
    """No change."""


def _steeper(arrays: Arrays, first: str) -> None:
    for name in ("W_Q", "T", "u"):
        if name in arrays:
            arrays[name] = arrays[name] * 8


def _alike(arrays: Arrays, first: str) -> None:
    """Keys that are nearly equal but for the first two, one twice as large and one zero, and values that are not negative.

    Exponentials are nearly one number c < 1 then, and a sum to which they are added one by one in half precision is off by
    what its grain makes of c, again and again, in one direction.  Where values have both signs, or exponentials differ, such
    errors are hardly larger than those of the rounded values.  Keys differ by some roundings, or errors of all would be one.
    """
    rng = np.random.default_rng(29)
    if first in ("T", "u"):
        arrays[first] = rng.uniform(-NEARLY, NEARLY, arrays[first].shape)
        arrays[first][..., :1] = LARGER
        return
    keys = [name for name in ("C", "K") if name in arrays] if "K" in arrays else [first]
    values = [name for name in ("V", "D") if "K" in arrays and isinstance(arrays.get(name), np.ndarray)]
    arrays.update({name: np.abs(arrays[name]) for name in values})
    kept = arrays[keys[-1]][..., :1, :]
    arrays.update({name: kept * (1 + rng.uniform(-NEARLY, NEARLY, arrays[name].shape)) for name in keys})
    arrays[keys[0]][..., :1, :] *= 2
    arrays[keys[0]][..., 1:2, :] = 0


def _equal_rows(arrays: Arrays, first: str) -> None:
    """Of tokens, and of the signs of a mask: a mask of padded keys is the same for every query, and expanded."""
    for name in {first, "S"} & set(arrays):
        if arrays[name].ndim >= 3:
            arrays[name] = np.broadcast_to(arrays[name][..., :1, :], arrays[name].shape).copy()


def _times(factor: float) -> Callable[[Arrays, str], None]:
    def edit(arrays: Arrays, first: str) -> None:
        arrays[first] = arrays[first] * factor

    return edit
