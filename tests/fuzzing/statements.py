"""The statement of a seed and a number: a true claim broken in one place, or a made-up one, as a claim that the provers take."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzzing import formulas, laws
from tests.fuzzing.breaking import Scope, broken
from tests.fuzzing.formulas import Maker
from tests.fuzzing.written import NotWritten, Written, parsed, written
from verify.checks.evaluation import defect_of
from verify.vocabulary import Assumption, AtMost, Claim, Equal, HasStructure, Paper, RegistryError
from verify.vocabulary.hypotheses import NORMAL_ENTRIES, Hypothesis
from verify.vocabulary.registry import load

PAPER = Paper("fuzzing", "Made-up statements", "nobody, never", "row-major")
#: Shares of the sources of statements.
SOURCES = {"identity": 0.3, "bound": 0.3, "law": 0.14, "inequality": 0.18, "formula": 0.08}
#: How a hypothesis may be turned into another one.
OTHER_PROPERTIES = {
    "is symmetric": "is skew",
    "is skew": "is symmetric",
    "has orthonormal columns": "has orthonormal rows",
    "has orthonormal rows": "has orthonormal columns",
    "has unit rows": "has orthonormal rows",
}
#: Sizes at which a made-up claim is asked; numbers go beyond them.
ADMITTED = formulas.SIZES


@dataclass
class Statement:
    """A statement that may be false, as a claim; `origin` is what it was made from, which holds."""

    seed: int
    number: int
    source: str
    breaking: str
    claim: Claim
    origin: Claim
    text: str
    #: changes prepared inputs so that they no longer have the property that was dropped
    perturbed: Callable[[dict[str, Any], np.random.Generator], dict[str, Any]] | None = None
    #: whether what it was made from is true at every input where it is defined
    from_the_truth: bool = True

    @property
    def replay(self) -> str:
        return f"python -m tests.fuzzing --seed {self.seed} --only {self.number}"


@functools.cache
def claims(kinds: tuple[str, ...]) -> list[Claim]:
    """Claims of the package that are marked as proved for all sizes, of these kinds, in their order by id."""
    found = [claim for claim in load("theorems").values() if claim.all_sizes and claim.relation.kind in kinds]
    return sorted(found, key=lambda claim: claim.id)


def statement(seed: int, number: int, source: str | None = None) -> Statement | None:
    """The statement of this number, or None where nothing of the kind drawn could be made."""
    rng = np.random.default_rng([seed, number])
    source = str(rng.choice(list(SOURCES), p=list(SOURCES.values()))) if source is None else source
    for _ in range(6):
        made = MAKERS[source](rng)
        if made is not None:
            made.seed, made.number = seed, number
            return made
    return None


# -- true claims, broken -----------------------------------------------------------------------------------------------


def changed(claim: Claim, **parts: Any) -> Claim:
    """A copy of a claim with other functions or hypotheses, without mutants."""
    new = copy.copy(claim)
    new.mutants, new._parts = [], dict(claim._parts)
    for name, value in parts.items():
        setattr(new, name, value)
    return new


def _sides_text(claim: Claim, formula: Written | str, oracle: Written | str | None) -> str:
    def text(side: Written | str) -> str:
        return side if isinstance(side, str) else side.text

    sign = "<=" if isinstance(claim.relation, AtMost) else "=="
    left = "0" if oracle is None else text(oracle)
    return f"{left}\n    {sign}\n{text(formula)}"


def _read(function: Callable[..., Any]) -> Written | None:
    try:
        return written(function)
    except NotWritten:
        return None


def _of_a_claim(rng: np.random.Generator, kinds: tuple[str, ...]) -> Statement | None:
    own = claims(kinds)
    claim = own[int(rng.integers(len(own)))]
    way = rng.random()
    if way < 0.06 and claim.hypotheses:
        return _hypothesis_changed(claim, rng)
    if way < 0.1:
        return _hypothesis_added(claim, rng)
    if way < 0.14:
        return _sizes_changed(claim)
    if way < 0.45 and isinstance(claim.relation, AtMost):
        return _in_a_context(claim, rng)
    return _formula_broken(claim, rng)


def _formula_broken(claim: Claim, rng: np.random.Generator) -> Statement | None:
    structure = isinstance(claim.relation, HasStructure)
    formula, oracle = _read(claim.the_formula), None if structure else _read(claim.the_oracle)
    options = [item for item in (("formula", formula), ("oracle", oracle)) if item[1] is not None]
    if not options:
        return None
    role, chosen = options[int(rng.integers(len(options)))]
    assert chosen is not None
    inputs = {name: spec for name, spec in claim.parameters.items() if name in chosen.parameters}
    inputs |= {name: spec for name, spec in _annotated(claim).items() if name in chosen.parameters}
    found = broken(chosen, Scope(inputs, rng))
    if found is None:
        return None
    said, wrong = found
    try:
        new = changed(claim, **{f"_{role}": wrong.function})
    except SyntaxError:
        return None
    sides = {"formula": formula or claim.id, "oracle": oracle or claim.id, role: wrong}
    text = _sides_text(claim, sides["formula"], None if structure else sides["oracle"])  # type: ignore[arg-type]
    return Statement(0, 0, claim.id, f"{role}, {said}", new, claim, text)


def _annotated(claim: Claim) -> Mapping[str, Any]:
    from verify.checks.proofs import free_parameters

    return free_parameters(claim)


def _in_a_context(claim: Claim, rng: np.random.Generator) -> Statement | None:
    """One entry of a bound, both sides under a function that need not be increasing."""
    count = _entries(claim)
    if not count:
        return None
    entry = int(rng.integers(count))
    matrices = [
        n for n, spec in _annotated(claim).items() if len(getattr(spec, "dims", ())) == 2 and n in _needed(claim)
    ]
    m = Maker(rng, ["X"])
    name = m.pick(matrices) if matrices else None
    z = m.pick(["F({0})", "N({0})", "absolute({0}[0, 0])"]).format(name) if name else "1"
    size = f"{name}.shape[{int(rng.integers(2))}]" if name else "2"
    left, right = laws.contexts(m, "left", "right", z, size)
    arguments = ", ".join(dict.fromkeys(["left", "right", *([name] if name and name in left + right else [])]))
    sides = [parsed(f"lambda {arguments}: {side}").function for side in (left, right)]
    formula, oracle = claim.the_formula, claim.the_oracle

    def side(function: Callable[..., Any]) -> Callable[..., Any]:
        def whole(**inputs: Any) -> Any:
            both = {
                "left": _entry(claim.evaluate(oracle, inputs), entry),
                "right": _entry(claim.evaluate(formula, inputs), entry),
            }
            return function(**both, **({name: inputs[name]} if name and name in arguments.split(", ") else {}))

        return _with_names(whole, _needed(claim), formula, oracle)

    new = changed(claim, _oracle=side(sides[0]), _formula=side(sides[1]))
    text = (
        f"{left}\n    <=\n{right}\nwhere left <= right is entry {entry} of\n"
        f"{_sides_text(claim, _read(formula) or claim.id, _read(oracle) or claim.id)}"
    )
    return Statement(0, 0, claim.id, f"context: {left} <= {right}", new, claim, text)


def _needed(claim: Claim) -> list[str]:
    """The inputs that the two sides take."""
    from verify.vocabulary.shapes import parameter_names

    sides = (claim.the_formula, claim.the_oracle)
    return list(dict.fromkeys(name for function in sides for name in parameter_names(function)))


def _with_names(function: Callable[..., Any], names: list[str], *annotated: Callable[..., Any]) -> Callable[..., Any]:
    import inspect
    import typing

    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    )
    hints: dict[str, Any] = {}
    for other in annotated[::-1]:
        hints |= typing.get_type_hints(other, include_extras=True)
    function.__annotations__ = {name: hint for name, hint in hints.items() if name in names}
    return function


def _entry(value: Any, k: int) -> Any:
    if isinstance(value, (list, tuple)):
        return _entry(value[k], 0)
    return value[k, 0] if len(getattr(value, "shape", ())) == 2 else value


@functools.cache
def _entries(claim: Claim) -> int:
    """How many numbers a bound compares, where that does not depend on sizes; else 0."""
    from tests.fuzzing.counterexamples import examples, sides_at

    counts = set()
    for example in examples(claim, 0):
        found = sides_at(claim, claim, example)
        if found is None:
            continue
        if found.left.ndim and any(
            len(shape) == 2 and shape[1] != 1 for shape in (*found.left_shapes, *found.right_shapes)
        ):
            return 0
        counts.add(len(found.left))
    return counts.pop() if len(counts) == 1 else 0


# -- hypotheses and sizes ----------------------------------------------------------------------------------------------


def _hypothesis_changed(claim: Claim, rng: np.random.Generator) -> Statement | None:
    k = int(rng.integers(len(claim.hypotheses)))
    item = claim.hypotheses[k]
    rest = tuple(other for j, other in enumerate(claim.hypotheses) if j != k)
    if isinstance(item, Assumption):
        assert item.zero is not None
        from verify.vocabulary.shapes import parameter_names

        options = [name for name in parameter_names(item.zero) if name in _annotated(claim)]
        said, left = f"hypothesis dropped: {item.text}", tuple(x for x in claim.assumptions if x != item)
    else:
        options = [item.of]
        said = f"hypothesis dropped: {item}"
        left = tuple(x for x in claim.assumptions if item.stated not in (x if isinstance(x, str) else x.text))
    if not options or (isinstance(item, Hypothesis) and item.property == NORMAL_ENTRIES):
        return None
    name = options[int(rng.integers(len(options)))]
    given: Hypothesis | None = None
    if isinstance(item, Hypothesis) and item.property in OTHER_PROPERTIES and rng.random() < 0.4:
        given = Hypothesis(OTHER_PROPERTIES[item.property], item.of, item.stated)
        said = f"hypothesis changed: {item} to {given}"
        rest = (*rest, given)
    new = changed(claim, hypotheses=rest, assumptions=left)

    def perturbed(inputs: dict[str, Any], chance: np.random.Generator) -> dict[str, Any]:
        from tests.fuzzing.counterexamples import another_matrix

        return {**inputs, name: another_matrix(inputs[name], given.property if given else None, chance)}

    text = f"{claim.id}, {said}\n{_sides_text(claim, _read(claim.the_formula) or '', _oracle_text(claim))}"
    return Statement(0, 0, claim.id, said, new, claim, text, perturbed)


def _oracle_text(claim: Claim) -> Written | str | None:
    return None if isinstance(claim.relation, HasStructure) else (_read(claim.the_oracle) or claim.id)


def _hypothesis_added(claim: Claim, rng: np.random.Generator) -> Statement | None:
    """A property that no assumption states, under a quotation of nothing, or of a word; the vocabulary should refuse it."""
    from verify.vocabulary import Shape

    matrices = [name for name, spec in _annotated(claim).items() if isinstance(spec, Shape) and len(spec.dims) == 2]
    if not matrices:
        return None
    name = matrices[int(rng.integers(len(matrices)))]
    properties = [
        "has unit rows",
        "has orthonormal columns",
        "has orthonormal rows",
        "is symmetric",
        "is skew",
        "is idempotent",
    ]
    words = [" ", ""] + [word for text in claim.assumption_texts for word in text.split()]
    added = Hypothesis(properties[int(rng.integers(len(properties)))], name, words[int(rng.integers(len(words)))])
    if added.property in [
        item.property for item in claim.hypotheses if isinstance(item, Hypothesis) and item.of == name
    ]:
        return None
    base = _formula_broken(claim, rng)
    if base is None:
        return None
    try:
        Claim(
            claim.setting, claim.id, label="x", statement="x", name="x", relation=Equal(), sizes=claim.sizes,
            assumptions=claim.assumptions, hypotheses=(*claim.hypotheses, added),
        )  # fmt: skip
    except RegistryError:
        return None
    new = changed(base.claim, hypotheses=(*claim.hypotheses, added))
    said = f"hypothesis that nothing states: {added}, quoted as {added.stated!r}; {base.breaking}"
    return Statement(0, 0, claim.id, said, new, claim, f"{said}\n{base.text}")


def _sizes_changed(claim: Claim) -> Statement | None:
    """All sizes from one on, whatever the claim's condition on them."""
    sizes = {name: (1, max(high, 3)) for name, (low, high) in claim.sizes.items()}
    new = changed(claim, sizes=sizes, where=lambda sizes: True)
    if all(new.sizes[name] == claim.sizes[name] for name in sizes) and all(claim.where(s) for s in _every(sizes)):
        return None
    said = "condition on sizes dropped"
    text = f"{claim.id}, {said}\n{_sides_text(claim, _read(claim.the_formula) or '', _oracle_text(claim))}"
    return Statement(0, 0, claim.id, said, new, new, text)


def _every(sizes: Mapping[str, tuple[int, int]]) -> list[dict[str, int]]:
    import itertools

    ranges = [range(low, high + 1) for low, high in sizes.values()]
    return [dict(zip(sizes, values, strict=True)) for values in itertools.product(*ranges)]


# -- made-up statements ------------------------------------------------------------------------------------------------


def made_up(m: Maker, left: str, right: str, bound: bool, zero: str | None = None) -> Claim:
    """A claim that left == right, or left <= right, of the maker's operands; `zero` is assumed to vanish.

    Matrices over which an expectation is taken have normal entries.
    """
    annotations = formulas.annotations_of(m)
    parameters = ", ".join(annotations)
    preparation = formulas.preparation_of(m)
    given: list[Any] = [
        Hypothesis(formulas.PROPERTIES[name][0], name, formulas.said_of(name))
        for name in m.operands
        if name in formulas.PROPERTIES and (bound or name not in "CM")
    ]
    for name in sorted(set(re.findall(r"mean\(lambda (\w):", left + right))):
        given.append(Hypothesis(NORMAL_ENTRIES, name, f"the random {name} has independent normal entries"))
    assumptions: list[Any] = [item.stated for item in given]
    if zero is not None:
        assumed = Assumption(f"{zero} = 0", zero=parsed(f"lambda {parameters}: {zero}", annotations).function)
        given.append(assumed)
        assumptions.append(assumed)
    where = (lambda sizes: sizes.get("n", 4) >= sizes.get("d", 1)) if "Q" in m.operands else None
    claim = Claim(
        PAPER, "fuzzing.made-up", label="-", statement="-", name="made up", relation=AtMost() if bound else Equal(),
        sizes={name: ADMITTED[name] for name in m.known_sizes}, where=where, assumptions=assumptions, hypotheses=given,
    )  # fmt: skip
    claim.formula(parsed(f"lambda {parameters}: {right}", annotations).function)
    claim.oracle(parsed(f"lambda {parameters}: {left}", annotations).function)
    if preparation is not None:
        claim.inputs(parsed(preparation, formulas.annotations_of(m, raw=True)).function)
    return claim


def _scope(m: Maker) -> Scope:
    from verify.vocabulary import Real, Shape

    inputs: dict[str, Any] = {name: Shape(*formulas.OPERANDS[name]) for name in m.operands}
    return Scope(inputs | {name: Real() for name in m.scalars}, m.rng)


def _broken_text(m: Maker, text: str) -> tuple[str, str] | None:
    """A made-up formula broken in one place."""
    found = broken(parsed(f"lambda: {text}"), _scope(m))
    return None if found is None else (found[0], found[1].text.partition(":")[2].strip())


def stated(m: Maker, source: str, said: str, old: tuple[str, str], new: tuple[str, str], bound: bool, zero: str | None = None,
            from_the_truth: bool = True) -> Statement | None:  # fmt: skip
    try:
        claim = made_up(m, *new, bound, zero)
        origin = made_up(m, *old, bound, zero)
    except SyntaxError:
        return None
    own = [formulas.said_of(name) for name in m.operands if name in formulas.PROPERTIES]
    shapes = ", ".join(f"{name} ({', '.join(formulas.OPERANDS[name])})" for name in m.operands)
    given = "; ".join([*own, *([f"{zero} = 0"] if zero else [])])
    text = f"{new[0]}\n    {'<=' if bound else '=='}\n{new[1]}\nfor {shapes}; {given}"
    return Statement(0, 0, source, said, claim, origin, text.rstrip("; "), from_the_truth=from_the_truth)


def _law(rng: np.random.Generator) -> Statement | None:
    m = formulas.maker(rng)
    depth = int(rng.integers(0, 3))
    kind, sides, zero = rng.random(), None, None
    if kind < 0.35:
        sides = laws.near(m, int(rng.choice([0, 0, 1])))
        return stated(m, "made-up identity", "near a rule", sides, sides, False, from_the_truth=False)
    if kind < 0.55 and any(name in formulas.PROPERTIES for name in m.operands):
        sides = laws.of_a_property(m, depth)
    elif kind < 0.6:
        m = Maker(rng, ["X"])
        sides = laws.expectation_law(m, depth)
    elif kind < 0.66:
        m.scalars = ["c", "s"]
        factor = m.pick(["c", "s", "trace(X.T @ X)", "total(X)", "c * s", "(c - 1)"])
        dims = m.any_dims()
        A = m.leaf(dims)
        zero = f"{factor} * {A}"
        sides = (f"{factor} * {A}", f"0 * {A}")
    if sides is None:
        sides = m.pick(laws.IDENTITIES)(m, depth)
    if sides is None:
        return None
    return _one_side_broken(m, "made-up identity", sides, bound=False, zero=zero)


def _one_side_broken(
    m: Maker, source: str, sides: tuple[str, str], bound: bool, zero: str | None = None
) -> Statement | None:
    if m.rng.random() < 0.15:
        return stated(m, source, "as it is", sides, sides, bound, zero)
    k = int(m.rng.integers(2))
    found = _broken_text(m, sides[k])
    if found is None:
        return None
    said, text = found
    new = (text, sides[1]) if k == 0 else (sides[0], text)
    return stated(m, source, said, sides, new, bound, zero)


def _formula(rng: np.random.Generator) -> Statement | None:
    m = formulas.maker(rng)
    text = m.formula(m.any_dims(), int(rng.integers(1, 4)))
    return _one_side_broken(m, "made-up formula", (text, text), bound=False)


def _inequality(rng: np.random.Generator) -> Statement | None:
    m = formulas.maker(rng, of_norms=True)
    m.operands = [name for name in m.operands if name not in ("Q", "P")]
    depth = int(rng.choice([0, 0, 0, 1, 2]))
    guessed = rng.random() < 0.35
    sides = laws.guess(m, depth) if guessed else m.pick(laws.INEQUALITIES)(m, depth)
    if guessed and rng.random() < 0.7:
        return stated(m, "made-up inequality", "guessed", sides, sides, True, from_the_truth=False)
    old, said = sides, []
    A = m.pick(m.operands)
    for _ in range(int(rng.choice([0, 1, 1, 1, 2]))):
        z = m.pick(["F({0})", "N({0})", "absolute({0}[0, 0])", "maximum(absolute({0}))", "1", "2"]).format(A)
        size = f"{A}.shape[{int(rng.integers(2))}]"
        sides = laws.contexts(m, *sides, z, size)
        said.append("context")
    if rng.random() < 0.4:
        k = int(rng.integers(2))
        found = _broken_text(m, sides[k])
        if found is not None:
            said.append(found[0])
            sides = (found[1], sides[1]) if k == 0 else (sides[0], found[1])
    return stated(m, "made-up inequality", "; ".join(said) or "as it is", old, sides, True, from_the_truth=False)


MAKERS: dict[str, Callable[[np.random.Generator], Statement | None]] = {
    "identity": lambda rng: _of_a_claim(rng, (Equal.kind, HasStructure.kind)),
    "bound": lambda rng: _of_a_claim(rng, (AtMost.kind,)),
    "law": _law,
    "inequality": _inequality,
    "formula": _formula,
}


#: What is compared: the formula's value, or its structural defect.
def decided(claim: Claim) -> Callable[..., Any]:
    """The function that the formula's side of a claim is."""
    return defect_of(claim, claim.the_formula) if isinstance(claim.relation, HasStructure) else claim.the_formula
