"""What a statement says of all numbers of a kind, and which of them its checks tried.

`unsaid_numbers` finds numbers that the checks fix (a size with one value, a width in an annotation, a count of steps in a
constant) and that no text of the claim names: its reader takes them for any number.  `untried_levels` finds a level of
probability of which not several are tried, a half and a twentieth among them.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
import types
from collections.abc import Iterator, Mapping

from verify.vocabulary.assumptions import text_of
from verify.vocabulary.claims import Claim
from verify.vocabulary.referred import bare, names_in
from verify.vocabulary.shapes import Real, Shape, Size

#: Numbers in words, as notes have them.
WORDS = {
    2: r"two|both|twice|pairs?|plane|circle|second|half",
    3: r"three|thrice|third",
    4: r"four|fourth|quarter|square",
    5: r"five|fifth",
    6: r"six|sixth",
    7: r"seven",
    8: r"eight",
    9: r"nine",
    10: r"ten",
    12: r"twelve|dozen",
}
#: A statement about a probability, and a level in it.
PROBABILITY = re.compile(r"probabilit|\\Pr\b|(?<![A-Za-z_])P\\?(?:Big|big)?[lr]?\(|w\.p\.|\\mathbb\{?P\}?\(")
LEVEL = re.compile(r"1\s*-\s*(?:\\?[a-z]+\s*)*(\\delta|\\varepsilon)\b|\\log[^,;]{0,24}(\\delta|\\varepsilon)\b")
#: The largest level that must be among those tried is at least the first, the smallest at most the second.
LARGE, LITTLE = 0.5, 0.05
#: Counts are below; larger numbers in the code are precisions.
LARGEST = 1000


# -- numbers -----------------------------------------------------------------------------------------------------------


def unsaid_numbers(claim: Claim) -> list[str]:
    """Numbers of at least 2 that the checks fix and that no text of the claim names, a line each."""
    texts = text_about(claim)
    found = {**_of_sizes(claim), **_of_annotations(claim), **_of_constants(claim), **_of_literals(claim)}
    return [f"{what} is {number}" for what, number in found.items() if not named(number, texts)]


def text_about(claim: Claim) -> str:
    """Everything that a reader of the claim's page sees of it, in one string."""
    reading = " ".join(str(part) for part in vars(claim.reading).values()) if claim.reading else ""
    parts = (
        claim.statement,
        claim.note,
        claim.observed,
        claim.label,
        claim.name,
        claim.relation.left,
        claim.relation.right,
    )
    return " ".join([*(part or "" for part in parts), reading, *map(text_of, claim.assumptions), *claim.scales])


def named(number: int, texts: str) -> bool:
    """Whether the texts name a number, in digits or in words."""
    digits = re.search(rf"(?<![\d.]){number}(?!\d|\.\d)", texts)
    words = number in WORDS and re.search(rf"(?i)\b(?:{WORDS[number]})\b", texts)
    return bool(digits or words)


def _of_sizes(claim: Claim) -> dict[str, int]:
    return {f"the size {name}": low for name, (low, high) in claim.sizes.items() if low == high >= 2}


def _of_annotations(claim: Claim) -> dict[str, int]:
    return {
        f"a size of {name}": int(dim)
        for name, spec in claim.parameters.items()
        if isinstance(spec, Shape) and len(spec.dims) <= 2  # a third axis holds the matrices of a layer
        for dim in spec.dims
        if dim.isdigit() and int(dim) >= 2
    }


def _of_constants(claim: Claim) -> dict[str, int]:
    """Whole numbers up to `LARGEST`, named in capitals, that the claim's sides and the functions of its module read."""
    return {
        f"{name} of {function.__name__}": value
        for function in _own_functions(claim)
        for name in names_in(function.__code__)
        if name.isupper() and type(value := function.__globals__.get(name)) is int and 2 <= value <= LARGEST
    }


def _of_literals(claim: Claim) -> dict[str, int]:
    """Whole numbers that stand in the code as how often something is done, `range(3)`, in the same functions."""
    return {
        f"range({number}) in {function.__name__}": number
        for function in _own_functions(claim)
        for number in _ranges_in(function.__code__)
    }


@functools.cache
def _ranges_in(code: types.CodeType) -> tuple[int, ...]:
    """The numbers of at least 2 up to which a function and those within it count, where they are written as numbers."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError, TypeError):  # a lambda in the midst of a statement, or no file
        return ()
    found = []
    unpacked = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)
    ]
    named = {
        id(inner) for value in unpacked for inner in ast.walk(value)
    }  # W_Q, W_K = (... for _ in range(2)): as many names
    for node in ast.walk(tree):
        if id(node) in named:
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and node.args:
            end = node.args[0] if len(node.args) == 1 else node.args[1]
            if isinstance(end, ast.Constant) and isinstance(end.value, int) and 2 <= end.value <= LARGEST:
                found.append(end.value)
    return tuple(found)


def _own_functions(claim: Claim) -> Iterator[types.FunctionType]:
    stack = [function for name, function in claim.named_functions().items() if name != "inputs"]
    seen: set[int] = set()
    while stack:
        current = bare(stack.pop())
        if not isinstance(current, types.FunctionType) or id(current) in seen:
            continue
        seen.add(id(current))
        if current.__module__ != claim.module:
            continue
        yield current
        stack += [current.__globals__[name] for name in names_in(current.__code__) if name in current.__globals__]


# -- levels ------------------------------------------------------------------------------------------------------------


def untried_levels(claim: Claim) -> list[str]:
    """What is missing of the levels at which a statement about a probability is tried, a line each."""
    if not (PROBABILITY.search(claim.statement) and LEVEL.search(claim.statement)):
        return [f"levels are declared, and the statement names none: {', '.join(claim.levels)}"] if claim.levels else []
    if not claim.levels:
        return [
            "the statement names a level; expected levels={name: the values tried, or the input that it follows from}"
        ]
    problems = []
    for name, tried in claim.levels.items():
        if isinstance(tried, str):
            if tried not in claim.parameters:
                problems.append(f"{name} is to follow from {tried}, which is not drawn")
            elif isinstance(spec := claim.parameters[tried], (Real, Size)) and _one_value(claim.sizes, spec):
                problems.append(f"{name} follows from {tried}, which has one value")
        elif min(tried) > LITTLE or max(tried) < LARGE:
            problems.append(f"{name} is tried at {tried}; expected one of at least {LARGE} and one of at most {LITTLE}")
    return problems


def _one_value(sizes: Mapping[str, tuple[int, int]], spec: Real | Size) -> bool:
    low, high = (spec.low, spec.high) if isinstance(spec, Real) else sizes[spec.name]
    return low == high
