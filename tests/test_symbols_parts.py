"""Axes split into equal parts, and families of matrices: against floats, with planted wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
import sympy
import torch

from tests.claims_that_fail import toy
from verify.arithmetics import formal
from verify.arithmetics.conditions import recording_conditions
from verify.arithmetics.symbols import families, hypothesis_rules, named, part_hypotheses, sums
from verify.arithmetics.symbols.difference import float_values
from verify.arithmetics.symbols.heads import tensor
from verify.arithmetics.symbols.hypothesis_rules import hypothesis_on
from verify.arithmetics.symbols.points import NumericPoint
from verify.arithmetics.symbols.sums import extra_rules, recording_rules
from verify.checks.proofs import proved
from verify.checks.record import UPHELD, VIOLATED
from verify.checks.settings import EFFORTS, Settings
from verify.matrix import (
    added,
    basis_vector,
    concatenate,
    each,
    eye,
    mapped,
    ones,
    parts,
    parts_of_width,
    row_sums,
    softmax,
    trace,
)
from verify.vocabulary import Claim, Equal, InputError, Shape, Size
from verify.vocabulary.hypotheses import UNIT_PARTS

pytestmark = pytest.mark.kept

SIZES = {name: sympy.Symbol(name, positive=True, integer=True) for name in ("S", "D", "H")}
#: X (S, D), V (D, D), O (D, D).
SHAPES = {"X": "SD", "V": "DD", "O": "DD"}
DRAWN = [(2, 6, 2), (3, 6, 3), (2, 4, 4), (1, 4, 1), (3, 12, 2)]


def head(X: Any, V: Any) -> Any:
    return softmax(X @ V @ V.T @ X.T) @ X @ V


def of_all_pairs(family: Any, entry: Callable[[Any, Any], Any]) -> Any:
    """entry(A, B) for all matrices A and B of one family, in rows and columns."""
    return concatenate(mapped(lambda A: concatenate(mapped(lambda B: entry(A, B), family), axis=1), family), axis=0)


def sum_with_sum(family: Any) -> Any:
    return added(mapped(lambda A: A @ added(family).T, family))


def but_for_equal_ones(V: Any, H: Any) -> Any:
    rows, columns = parts(V, H, 0), parts(V, H, 1)

    def entry(h: Any, k: Any) -> Any:
        return rows[h] @ columns[k] * (ones(1, 1) - basis_vector(H, h).T @ basis_vector(H, k))

    return concatenate(each(H, lambda h: concatenate(each(H, lambda k: entry(h, k)), axis=0)), axis=0)


EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "products of parts": lambda V, O, H: added(mapped(lambda v, o: v @ o, parts(V, H, 1), parts(O, H, 0))),
    "parts joined": lambda V, O, H: concatenate(parts(V, H, 1), axis=1) @ O,
    "parts on top of each other": lambda X, V, H: concatenate(mapped(lambda v: X @ v, parts(V, H, 1)), axis=0),
    "heads": lambda X, V, O, H: concatenate(mapped(lambda v: head(X, v), parts(V, H, 1)), axis=1) @ O,
    "a part of parts": lambda X, V, H: each(H, lambda h: X @ parts(V, H, 1)[h])[0],
    "blocks on the diagonal": lambda V, O, H: (
        added(each(H, lambda h: parts(parts(V, H, 0)[h], H, 1)[h])) @ parts(O, H, 0)[0]
    ),
    "halves": lambda X, V, H: (
        added(mapped(lambda v: X @ v @ v.T, parts(V, 2, 1))) + X @ parts(V, 2, 1)[1] @ parts(V, 2, 0)[0]
    ),
    "Gram matrices of all pairs": lambda V, H: of_all_pairs(parts(V, H, 1), lambda v, w: v.T @ w),
    "Gram matrices of shifted parts": lambda V, H: of_all_pairs(parts(V + eye(V.shape[0]), H, 1), lambda v, w: v.T @ w),
    "one family in two roles": lambda V, H: sum_with_sum(parts(V, H, 1)),
    "pairs but for equal ones": but_for_equal_ones,
    "rows by width": lambda X, H: row_sums(X.reshape(-1, H)).T @ row_sums(X.reshape(-1, H)),
    "normalised in parts": lambda X, H: (X.reshape(-1, H) * row_sums(X.reshape(-1, H))).reshape(*X.shape) @ X.T,
    "parts of a width": lambda X, H: concatenate(
        mapped(lambda x: x * row_sums(x * x), parts_of_width(X, H, 1)), axis=1
    ),
    "identity in parts": lambda X, V, H: X @ concatenate(parts(eye(V.shape[0]), H, 1), axis=1) + X * trace(V),
    "first of all": lambda X, V, H: X.reshape(-1, 1)[:1] * V + parts(V, H, 1)[0] @ parts(V, H, 0)[0],
}


def disagreement(function: Callable[..., Any], drawn: tuple[int, int, int]) -> float:
    """The largest difference between the normal form, evaluated, and the expression on tensors."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    sizes = dict(zip("SDH", drawn, strict=True))
    rng = np.random.default_rng(drawn)
    arrays = {n: rng.standard_normal([sizes[letter] for letter in SHAPES[n]]) for n in names if n in SHAPES}
    formal = {n: SIZES["H"] if n == "H" else named(n, *(SIZES[letter] for letter in SHAPES[n])) for n in names}
    plain = {n: sizes["H"] if n == "H" else torch.as_tensor(arrays[n]) for n in names}
    point = NumericPoint({SIZES[letter]: size for letter, size in sizes.items()}, arrays)
    floats = np.asarray(function(**plain)).reshape(-1)
    found = float_values(function(**formal), point)
    return (
        float(np.abs(found - floats).max() / max(1.0, np.abs(floats).max())) if found.shape == floats.shape else np.inf
    )


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_expression_equals_its_float_value(name: str) -> None:
    for drawn in DRAWN:
        if not (name == "halves" and drawn[1] % 2):
            assert disagreement(EXPRESSIONS[name], drawn) < 1e-9, drawn


def caught() -> bool:
    return any(not disagreement(case, drawn) < 1e-8 for case in EXPRESSIONS.values() for drawn in DRAWN[:3])


def test_parts_that_forget_whether_they_agree_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_deltas(product: Any, slots: int) -> Any:
        """G(i, p, q) G(i, r, s) = G(i, p, q)."""
        coefficient, factors, summed = product
        own = [k for k, (made, _) in enumerate(factors) if made.kind == "grouping"]
        for k in own[1:]:
            if factors[k][1][0] == factors[own[0]][1][0]:
                return [(coefficient, factors[:k] + factors[k + 1 :], summed)]
        return None

    changed = [(n, kinds, without_deltas if n == "an index is its two parts" else f) for n, kinds, f in sums._rules]
    monkeypatch.setattr(sums, "_rules", changed)
    assert caught()


def test_a_map_that_shares_its_index_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def sharing(function: Any, *of: Any) -> Any:
        if isinstance(of[0], list):
            return [function(*matrices) for matrices in zip(*of, strict=True)]
        return families.IndexedFamily(of[0].index, function(*(family[of[0].index] for family in of)))

    monkeypatch.setitem(formal._forms["symbols"], "mapped", sharing)
    assert caught()


def test_whole_sums_over_parts_are_those_over_the_axis() -> None:
    V, O = named("V", SIZES["D"], SIZES["D"]), named("O", SIZES["D"], SIZES["D"])
    with recording_conditions() as conditions:
        found = added(mapped(lambda v, o: v @ o, parts(V, SIZES["H"], 1), parts(O, SIZES["H"], 0)))
    assert not (found - V @ O).value
    assert {str(condition) for condition in conditions} == {"D/H is a whole number"}


def heads_claim(**options: Any) -> Claim:
    """The products of heads sum to the whole product."""
    claim = toy("heads", Equal(), all_sizes=True, **options)

    @claim.formula
    def by_heads(
        V: Annotated[Any, Shape("D", "D")], O: Annotated[Any, Shape("D", "D")], H: Annotated[int, Size("H")]
    ) -> Any:
        return added(mapped(lambda v, o: v @ o, parts(V, H, 1), parts(O, H, 0)))

    claim.oracle(lambda V, O: V @ O)
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("transposed", lambda V, O: O @ V)
    return claim


def test_parts_need_a_divisor_that_the_claim_grants() -> None:
    granted = heads_claim(sizes={"D": (2, 4), "H": (1, 2)}, where=lambda sizes: sizes["D"] % sizes["H"] == 0)
    assert proved(granted, Settings(EFFORTS["quick"])).outcome == UPHELD
    record = proved(heads_claim(sizes={"D": (2, 4), "H": (1, 2)}), Settings(EFFORTS["quick"]))
    assert record.outcome == VIOLATED
    assert "rests on D/H is a whole number" in record.message


def test_bad_parts_are_named() -> None:
    with pytest.raises(InputError, match="count: expected a divisor of the size 6 of axis 1; got 4"):
        parts(torch.ones(6, 6), 4, 1)
    with pytest.raises(InputError, match="width: expected a divisor of the size 6 of axis 0; got 4"):
        parts_of_width(torch.ones(6, 6), 4, 0)
    with pytest.raises(InputError, match="family: expected at least one matrix; got none"):
        added([])


# -- hypotheses on parts -----------------------------------------------------------------------------------------------


def turned(X: Any, W: Any, N: Any) -> Any:
    """Each part of a row of X by its own block of W (D, N), and back twice."""
    return concatenate(
        mapped(lambda x, w: x @ w.T - 2 * x @ w, parts_of_width(X, N, 1), parts_of_width(W, N, 0)), axis=1
    )


def of_unit_parts(X: Any, V: Any, W: Any, N: Any) -> Any:
    rows, others = X.reshape(-1, N), (X @ V).reshape(-1, N)
    along = row_sums(rows * others)
    return (rows * along * row_sums(rows * rows)).reshape(*X.shape) @ V + row_sums(X * X) * X


def of_skew_blocks(X: Any, V: Any, W: Any, N: Any) -> Any:
    return row_sums((X * turned(X, W, N)).reshape(-1, N)).T @ row_sums(
        (X * turned(X @ V, W, N)).reshape(-1, N)
    ) + trace(V.T @ X.T @ turned(X @ V, W, N) @ V)


def with_hypotheses(function: Callable[..., Any], drawn: tuple[int, int, int]) -> float:
    """How far the normal form by both hypotheses is from the function at tensors that satisfy them."""
    S, D, N = drawn
    rng = np.random.default_rng(drawn)
    X, V, W = (rng.standard_normal(shape) for shape in ((S * D // N, N), (D, D), (D // N, N, N)))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).reshape(S, D)
    arrays = {"X": X, "V": V, "W": (W - W.swapaxes(1, 2)).reshape(D, N)}
    width = SIZES["H"]
    formal = {"X": named("X", SIZES["S"], SIZES["D"]), "V": named("V", SIZES["D"], SIZES["D"])}
    formal["W"] = named("W", SIZES["D"], width)
    given = [hypothesis_on("X", UNIT_PARTS + "H", formal["X"].value.slots)]
    given.append(hypothesis_on("W", "has skew blocks", formal["W"].value.slots))
    with extra_rules([rule for hypothesis in given for rule in hypothesis.rules]), recording_rules() as used:
        found = float_values(
            function(**formal, N=width), NumericPoint({**dict(zip(SIZES.values(), drawn, strict=True))}, arrays)
        )
    assert used & {hypothesis.name for hypothesis in given}
    floats = np.asarray(function(**{name: torch.as_tensor(array) for name, array in arrays.items()}, N=N)).reshape(-1)
    return float(np.abs(found - floats).max() / max(1.0, np.abs(floats).max()))


@pytest.mark.parametrize("function", [of_unit_parts, of_skew_blocks])
def test_hypotheses_on_parts_keep_the_value(function: Any) -> None:
    assert all(with_hypotheses(function, drawn) < 1e-9 for drawn in [(2, 6, 2), (2, 6, 3), (1, 4, 4)])


def test_a_wrong_number_of_unit_parts_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = part_hypotheses.unit_parts_rule
    monkeypatch.setattr(hypothesis_rules, "unit_parts_rule", lambda name, width: right(name, width**2))
    with pytest.raises(AssertionError):
        test_hypotheses_on_parts_keep_the_value(of_unit_parts)


def test_symmetric_blocks_for_skew_ones_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        part_hypotheses, "tensor", lambda name, sizes, symmetries: tensor(name, sizes, [(p, 1) for p, _ in symmetries])
    )
    assert not all(with_hypotheses(of_skew_blocks, drawn) < 1e-9 for drawn in [(2, 6, 2), (2, 6, 3)])
