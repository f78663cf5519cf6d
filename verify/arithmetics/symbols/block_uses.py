"""Uses of exponentials of blocks: the corner of exp [[A, A], [0, 0]] is exp(A) - I."""

from __future__ import annotations

from typing import Any

from verify.arithmetics.symbols.intertwining import Exponential, exponentials
from verify.arithmetics.symbols.uses import UseSearch, bound_at, use_at
from verify.kernel.expressions import Language
from verify.kernel.identities import Entries
from verify.kernel.normal_forms import Factor, Form, Index, Key


def minus_identity(search: UseSearch, form: Form) -> Form | None:
    """An entry of that corner gives way to one of exp(A) - I.

    For B = [[A, A], [0, 0]], exp(B) [I; 0] = [I; 0] exp(A) since B [I; 0] = [I; 0] A, and exp(B) [I; -I] = [I; -I] since
    B [I; -I] = 0: the corner is the first block of the first less that of the second.
    """
    for key, factor in exponentials(search, form):
        for turned in (False, True):
            uses = _uses(search, key, factor, turned, form[key])
            found = None if uses is None else search.after_all(form, key, uses)
            if found is not None:
                return found
    return None


def _uses(search: UseSearch, key: Key, factor: Factor, turned: bool, value: Any) -> list[dict[str, Any]] | None:
    """Both uses for one entry at a place of the first block of the rows and of the second block of the columns."""
    shown, _ = search.named(key)
    one = Exponential(search, factor, shown, turned)
    (above, *rows), (beside, *columns) = one.rows, one.columns
    if len(rows) < 1 or not _is_at(search, key, above, 0) or not _is_at(search, key, beside, 1):
        return None
    scope = {**search.scope, **{name: index for index, name in shown.items() if index not in search.open}}
    A = _repeated(search.language, one.entries(search, _opened(search, scope)))
    if A is None:
        return None
    units = [f for f in key if search.algebra.kinds[f[0]] == "unit" and f[1][0] in (above, beside)]
    rest = [f for f in key if f != factor and f not in units]
    # what else stands at the two places stands at others that are known to be the same
    apart = {index: search.reader.fresh() for index in (above, beside) if any(index in at for _, at, _ in rest)}
    times = search.reader.product(rest, value, {**shown, **apart})
    more = [["unit", int(index == beside), name] for index, name in apart.items()]
    over = bound_at(shown, [i for i in shown if i not in search.open and i != beside]) + bound_at(apart, list(apart))
    times = ["*", times, ["unit", 0, shown[above]], *more]
    names = [search.reader.fresh() for _ in range(1 + 2 * len(rows))]
    block, *ends = names
    left, right = ends[: len(rows)], ends[len(rows) :]
    pair = [[block, above[1]], *([name, i[1]] for name, i in zip(left, rows, strict=True))]
    own = [[name, i[1]] for name, i in zip(right, rows, strict=True)]
    inner = search.reader.of_form(
        A.form, {**{i: n for i, n in shown.items()}, **dict(zip([*A.rows, *A.columns], ends, strict=True))}
    )
    first = ["*", ["unit", 0, block], *(["delta", *pair] for pair in zip(left, right, strict=True))]
    gap = ["+", ["unit", 0, block], ["*", ["q", -1, 1], ["unit", 1, block]]]
    at_end = ["*", gap, *(["delta", name, shown[j]] for name, j in zip(left, columns, strict=True))]
    at_rows = [shown[above], *(shown[i] for i in rows)]
    moved = [
        one.argument,
        [[[n, i[1]] for n, i in zip(ends, [*rows, *rows], strict=True)], inner],
        [[*pair, *own], first],
        [],
    ]
    return [
        use_at("intertwined exponentials", moved, [*at_rows, *(shown[j] for j in columns)], over, times),
        use_at(
            "exponential of what annihilates",
            [one.argument, [pair, at_end], []],
            at_rows,
            over,
            ["*", ["q", -1, 1], times],
        ),
    ]


def _is_at(search: UseSearch, key: Key, index: Index, place: int) -> bool:
    """Whether a term has the unit of a place at a summed index."""
    kinds, payloads = search.algebra.kinds, search.algebra.payloads
    return index[0] < 0 and any(kinds[f[0]] == "unit" and payloads[f[0]][0] == place and f[1][0] == index for f in key)


def _opened(search: UseSearch, scope: dict[str, Index]) -> dict[str, Index]:
    """The indices of a term, its summed ones as new open ones."""
    return {name: search.algebra.fresh(index[1]) if index[0] < 0 else index for name, index in scope.items()}


def _repeated(language: Language, B: Entries) -> Entries | None:
    """A where the matrix is [[A, A], [0, 0]] by the first of its indices of rows and of columns, each of size 2."""
    algebra, (above, *rows), (beside, *columns) = language.algebra, B.rows, B.columns

    def block(p: int, q: int) -> Form:
        units = [algebra.tensor("unit", (place, i[1]), [i]) for place, i in ((p, above), (q, beside))]
        return algebra.summed(algebra.times(B.form, *units), [above, beside])

    if any(language.sizes[i[1]] != ["q", 2, 1] for i in (above, beside)):
        return None
    if block(0, 0) != block(0, 1) or block(1, 0) or block(1, 1):
        return None
    return Entries(block(0, 0), rows, columns)
