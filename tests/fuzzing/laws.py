"""True statements with holes: identities and inequalities of random formulas, and the contexts they are put into."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzzing.formulas import Maker, dims_of

#: Left and right side of a statement about random formulas.
Law = Callable[[Maker, int], "tuple[str, str] | None"]


def _square(m: Maker, depth: int) -> str:
    return m.square(depth)[0]


def _pair(m: Maker, depth: int) -> tuple[str, str]:
    """Two matrices that can be multiplied."""
    a, b, c = m.dim(), m.dim(), m.dim()
    return m.formula((a, b), depth), m.formula((b, c), depth)


def _two(m: Maker, depth: int) -> tuple[str, str]:
    """Two matrices of one shape."""
    dims = m.any_dims()
    return m.formula(dims, depth), m.formula(dims, depth)


def _square_product(m: Maker, depth: int) -> tuple[str, str]:
    a, b = m.dim(), m.dim() if m.rng.random() < 0.6 else ()
    return m.formula((a, b), depth), m.formula((b, a), depth)


def _there_and_back(m: Maker, depth: int) -> tuple[str, str]:
    a, b = m.dim(), m.dim()
    return m.formula((a, b), depth), m.formula((b, a), depth)


def _squares(m: Maker, depth: int) -> tuple[str, str]:
    dim = m.dim()
    return m.formula((dim, dim), depth), m.formula((dim, dim), depth)


def _of(text: str, made: Callable[[Maker, int], object]) -> Law:
    """A statement "left = right" or "left <= right" in the matrices A, B that are drawn."""
    separator = " <= " if " <= " in text else " == "
    left, right = text.split(separator)

    def law(m: Maker, depth: int) -> tuple[str, str]:
        drawn = made(m, depth)
        A, B = drawn if isinstance(drawn, tuple) else (drawn, "")
        values = {"A": f"({A})" if " " in str(A) else A, "B": f"({B})" if " " in str(B) else B}
        return left.format(**values), right.format(**values)

    return law


IDENTITIES: list[Law] = [
    _of("({A} @ {B}).T == {B}.T @ {A}.T", _pair),
    _of("trace({A}) == trace({A}.T)", _square),
    _of("total({A} * {B}) == trace({A}.T @ {B})", _two),
    _of("softmax({A} + row_sums({B})) == softmax({A})", _two),
    _of("row_sums(softmax({A})) == row_sums(softmax({B}))", _two),
    _of("softmax({A}) * row_sums(exp({A})) == exp({A})", _two),
    _of("exp({A} + {B}) == exp({A}) * exp({B})", _two),
    _of("relu({A}) == {A} * step({A})", _two),
    _of("step({A}) * step({A}) * {B} == step({A}) * {B}", _two),
    _of("step(2 * {A}) * step(-{B}) == step({A}) * step(-3 * {B})", _two),
    _of("absolute({A}) * absolute({A}) == {A} * {A}", _two),
    _of("sqrt({A} * {A}) == absolute({A})", _two),
    _of("sqrt({A} ** 2) * sqrt({A} ** 2) == {A} ** 2", _two),
    _of("sqrt(exp(2 * {A})) == exp({A})", _two),
    _of("(1 + {A} ** 2) ** 2 / (1 + {A} ** 2) == 1 + {A} ** 2", _two),
    _of("inverse({A}) @ {A} == eye({A}.shape[0])", _square),
    _of("inverse({A} @ {A}.T) @ {A} @ {A}.T == eye({A}.shape[0])", _square),
    _of("inverse({A} @ {B}) @ {A} @ {B} == eye({A}.shape[0])", _square_product),
    _of("inverse({A} + {A}.T) @ ({A} + {A}.T) == eye({A}.shape[0])", _square),
    _of("inverse({A}.T) == inverse({A}).T", _square),
    _of("inverse(kron(eye({A}.shape[0]), {A})) == kron(eye({A}.shape[0]), inverse({A}))", _square),
    _of("inverse(commutation_matrix({A}.shape[0], {A}.shape[1])) @ vec_r({A}.T) == vec_r({A})", _two),
    _of("expm({A} @ {B}) @ {A} == {A} @ expm({B} @ {A})", _there_and_back),
    _of("expm({A} - {A}.T) @ expm({A}.T - {A}) == eye({A}.shape[0])", _square),
    _of("expm({A}.T) == expm({A}).T", _square),
    _of("expm({A}) @ {A} == {A} @ expm({A})", _square),
    _of("commutation_matrix({A}.shape[0], {A}.shape[1]) @ vec_r({A}.T) == vec_r({A})", _two),
    _of("vec_r({A} @ {B}) == kron({A}, eye({B}.shape[1])) @ vec_r({B})", _pair),
    _of("vec_c({A} @ {B}) == kron(eye({B}.shape[1]), {A}) @ vec_c({B})", _pair),
    _of("kron({A}, {B}) @ kron({A}.T, {B}.T) == kron({A} @ {A}.T, {B} @ {B}.T)", _pair),
    _of("summed({A}.shape[0], lambda i: {A}[i:i + 1].T @ {B}[i:i + 1]) == {A}.T @ {B}", _two),
    _of("concatenate([{A}, {B}], axis=0).T @ concatenate([{A}, {B}], axis=0) == {A}.T @ {A} + {B}.T @ {B}", _two),
    _of("concatenate([{A}, {B}], axis=1)[:, :{A}.shape[1]] == {A}", _two),
    _of("concatenate([{A}, {B}], axis=0)[{A}.shape[0]:] == {B}", _two),
    _of("row_sums(normalize_rows({A}) * normalize_rows({A})) * {B} == {B}", _two),
    _of("normalize_rows({A}) * row_norms({A}) == {A}", _two),
    _of("diag(diag_part({A})) * {A} == diag(diag_part({A})) @ diag(diag_part({A}))", _square),
    _of("{A} * eye({A}.shape[0]) == diag(diag_part({A}))", _square),
    _of("({A})[:1] @ {A}.T == ({A} @ {A}.T)[:1]", _two),
    _of("{A} / (1 + exp({A})) + {A} * exp({A}) / (1 + exp({A})) == {A}", _two),
    _of("log(exp({A})) == {A}", _two),
    _of("({A} - {B}) @ {A}.T == {A} @ {A}.T - {B} @ {A}.T", _two),
]  # fmt: skip


#: False, and near the edge of a rule: an index that is used elsewhere, another row, two matrices in the place of one.
NEAR: list[Law] = [
    _of("sqrt({A} * {A}) == {A}", _two),
    _of("sqrt({A} ** 2) ** 3 == {A} ** 3", _two),
    _of("(({A} ** 2) * ({B} ** 2)) ** 2 == ({A} * {B}) ** 2", _two),
    _of("sqrt({A} * {B}) * sqrt({A} * {B}) == {A} * {A}", _two),
    _of("step({A}) * step({A}.T) == step({A})", _square),
    _of("step({A}) @ step({A}) == step({A})", _square),
    _of("step({A}) * step({B}) == step({A})", _two),
    _of("step(total({B}) * {A}) == step({A})", _two),
    _of("step(-{A}) == 1 - step({A})", _two),
    _of("relu(total({B}) * {A}) == total({B}) * relu({A})", _two),
    _of("relu({A} + {B}) == relu({A}) + relu({B})", _two),
    _of("absolute({A} * {B}) == absolute({A}) * {B}", _two),
    _of("softmax({A} + {B}) == softmax({A})", _two),
    _of("softmax({A} * row_sums({B})) == softmax({A})", _two),
    _of("row_sums(softmax({A}).T) == ones({A}.shape[1], 1)", _two),
    _of("row_sums(softmax({A}) * {B}) == row_sums({B})", _two),
    _of("softmax({A}) * row_sums(exp({B})) == exp({A})", _two),
    _of("exp({A}) @ exp({A}) == exp(2 * {A})", _square),
    _of("expm({A} + {B}) == expm({A}) @ expm({B})", _squares),
    _of("expm({A}) @ expm(-{B}) == eye({A}.shape[0])", _squares),
    _of("expm({A}) @ {B} == {B} @ expm({A})", _squares),
    _of("expm({A}).T == expm({A})", _square),
    _of("expm({A} @ {B}) @ diag(row_sums({A})) @ {A} == {A} @ expm({B} @ {A})", _there_and_back),
    _of("diag(row_sums({A})) @ expm({A} @ {B}) @ {A} == diag(row_sums({A})) @ {A} @ expm({A}.T @ {B}.T)", _there_and_back),
    _of("(expm({A} @ {B}) * {A}[:1, :1]) @ ({A} * row_sums({A})) == {A} @ expm({B} @ {A}) * row_sums({A})", _there_and_back),
    _of("inverse({A} + {B}) @ {A} == eye({A}.shape[0])", _squares),
    _of("inverse({A} + {B}) == inverse({A}) + inverse({B})", _squares),
    _of("inverse({A} @ {B}) == inverse({A}) @ inverse({B})", _squares),
    _of("inverse({A} @ {B}) @ {A} @ diag(row_sums({B})) @ {B} == diag(row_sums({A}))", _squares),
    _of("inverse({A}) @ diag(row_sums({B})) @ {A} == diag(row_sums({B}))", _squares),
    _of("inverse({A}) * {A} == eye({A}.shape[0])", _square),
    _of("inverse({A}) == {A}.T", _square),
    _of("concatenate([{A}, {B}], axis=1)[:, {A}.shape[1]:] == {A}", _two),
    _of("concatenate([{A}, {B}], axis=0)[:{A}.shape[0]].T @ {B} == {B}.T @ {B}", _two),
    _of("eye({A}.shape[0])[:, 1:] @ eye({A}.shape[0])[:, 1:].T @ {A} == {A}", _two),
    _of("eye(2 * {A}.shape[0])[:, :{A}.shape[0]].T @ eye(2 * {A}.shape[0])[:, {A}.shape[0]:] @ {A} == {A}", _two),
    _of("[{A}, {B}] == [{A}, {A}]", _two),
    _of("[{A}, {A}] == [{A}, {B}]", _two),
    _of("concatenate([{A}, {B}], axis=0) == concatenate([{A}, {A}], axis=0)", _two),
    _of("trace({A} @ {B}) == trace({A}) * trace({B})", _squares),
    _of("kron({A}, {B}) == kron({B}, {A})", _squares),
    _of("vec_r({A}) == vec_c({A})", _square),
    _of("commutation_matrix({A}.shape[0], {A}.shape[1]) @ vec_r({A}) == vec_r({A})", _square),
    _of("{A} @ {B} == {B} @ {A}", _squares),
    _of("({A})[1:2] == ({A})[:1]", _two),
    _of("summed({A}.shape[0], lambda i: {A}[i:i + 1].T @ {B}[:1]) == {A}.T @ {B}", _two),
    _of("normalize_rows({A} * row_sums({B})) == normalize_rows({A})", _two),
    _of("row_sums(normalize_rows({A}) * normalize_rows({B})) == ones({A}.shape[0], 1)", _two),
]  # fmt: skip

#: The same about a property of an operand Z.
NEAR_PROPERTIES = {
    "S": ["{Z} @ {Z} == {Z}", "{Z} @ X.T @ X == X.T @ X @ {Z}", "{Z}.T == -{Z}"],
    "K": ["{Z}.T == {Z}", "{Z} @ {Z} == {Z}", "expm({Z}).T == expm({Z})", "expm({Z}) @ expm({Z}) == eye({Z}.shape[0])",
          "inverse({Z}).T == inverse({Z})"],
    "U": ["{Z} @ {Z}.T == ones({Z}.shape[0], {Z}.shape[0])", "row_sums({Z} * X) == row_sums(X)", "{Z}.T @ {Z} == eye({Z}.shape[1])",
          "row_sums({Z} * {Z} * X) == ones({Z}.shape[0], 1)", "row_sums({Z} * {Z} * X) == row_sums(X)",
          "({Z} @ {Z}.T) @ X == ones({Z}.shape[0], 1) @ ones(1, {Z}.shape[0]) @ X",
          "summed({Z}.shape[0], lambda i: X[i:i + 1] * total({Z}[i:i + 1] * {Z}[:1])) == ones(1, {Z}.shape[0]) @ X"],
    "P": ["{Z} @ {Z}.T == {Z}", "{Z}.T @ {Z} == {Z}", "{Z} * {Z} == {Z}", "{Z}.T == {Z}",
          "{Z} @ diag(diag_part(X.T @ X)) @ {Z} == {Z}",
          "{Z} @ diag(diag_part(X.T @ X)) @ {Z} == {Z} @ diag(diag_part(X.T @ X))", "trace({Z}) * {Z} == {Z}"],
    "Q": ["{Z} @ {Z}.T == eye({Z}.shape[0])", "{Z}.T @ diag(row_sums(X)) @ {Z} == eye({Z}.shape[1])",
          "row_sums({Z} * {Z}) == ones({Z}.shape[0], 1)", "{Z}.T @ (X * row_sums({Z})) == {Z}.T @ X",
          "{Z}.T @ ({Z} * row_sums(X)) == eye({Z}.shape[1]) * total(X)"],
}  # fmt: skip


def near(m: Maker, depth: int) -> tuple[str, str]:
    """A false statement near the edge of a rule."""
    own = [name for name in m.operands if name in NEAR_PROPERTIES]
    if own and m.rng.random() < 0.6:
        left, right = m.pick(NEAR_PROPERTIES[own[0]]).format(Z=own[0]).split(" == ")
        return left, right
    return m.pick(NEAR)(m, depth)  # type: ignore[return-value]


def guess(m: Maker, depth: int) -> tuple[str, str]:
    """A norm of an expression, and a guess at a bound of it: norms of its parts, a number, roots of sizes."""
    kinds = ["F({})", "N({})", "maximum(absolute({}))"]
    norm, one, other = m.pick(kinds), m.pick(kinds), m.pick(kinds)
    a, b, c = m.dim(), m.dim(), m.dim()
    A, B, C = m.formula((a, b), depth), m.formula((a, b), depth), m.formula((b, c), depth)
    G = m.formula((a, a), depth)
    whole, bound = m.pick(
        [
            (f"{A} @ {C}", f"{one.format(A)} * {other.format(C)}"),
            (f"{A} + {B}", f"{one.format(A)} + {other.format(B)}"),
            (f"{A} - {B}", f"{one.format(A)} + {other.format(B)}"),
            (f"hadamard({A}, {B})", f"{one.format(A)} * {other.format(B)}"),
            (f"kron({A}, {C})", f"{one.format(A)} * {other.format(C)}"),
            (f"softmax({A})", "1"),
            (f"softmax({A}) - softmax({B})", one.format(f"{A} - {B}")),
            (f"softmax({A}) @ {B}.T", one.format(B)),
            (f"relu({A})", one.format(A)),
            (f"relu({A}) - relu({B})", one.format(f"{A} - {B}")),
            (f"normalize_rows({A})", "1"),
            (f"expm({G})", f"exp({one.format(G)})"),
            (f"diag(row_sums({A}))", one.format(A)),
            (f"{A}", one.format(A)),
            (f"concatenate([{A}, {B}], axis={m.pick([0, 1])})", f"{one.format(A)} + {other.format(B)}"),
            (f"concatenate([{A}, {B}], axis=0)", f"maximum(column({one.format(A)}, {other.format(B)}))"),
            (f"step({A})", "1"),
            (f"{A} @ {C} - {B} @ {C}", f"{one.format(f'{A} - {B}')} * {other.format(C)}"),
            (f"{A}[:1]", one.format(A)),
            (f"inverse(eye({G}.shape[0]) + {G} - {G}.T)", "1"),
        ]
    )  # fmt: skip
    factor = m.pick(
        ["1", "1", "1", "rational(1, 2)", "sqrt({0})", "sqrt({1})", "sqrt({0} * {1})", "rational(1, 4)", "2", "sqrt(2)"]
    )
    return norm.format(whole), f"{factor.format(m.size(a), m.size(b))} * ({bound})"


#: By the property of an operand Z.
OF_PROPERTIES = {
    "S": ["{Z} == {Z}.T", "{Z} @ {Z} == {Z}.T @ {Z}", "trace({Z} @ (G - G.T)) == 0 * trace({Z})", "expm({Z}).T == expm({Z})"],
    "K": ["{Z}.T == -{Z}", "trace({Z}) == 0 * trace({Z})", "expm({Z}) @ expm({Z}).T == eye({Z}.shape[0])",
          "inverse(eye({Z}.shape[0]) + {Z}).T == inverse(eye({Z}.shape[0]) - {Z})", "diag_part({Z}) == 0 * diag_part({Z})"],
    "U": ["row_sums({Z} * {Z}) == ones({Z}.shape[0], 1)", "total({Z} * {Z}) == {Z}.shape[0] + 0 * total({Z})",
          "normalize_rows({Z}) == {Z}", "diag_part({Z} @ {Z}.T) == ones({Z}.shape[0], 1)",
          "summed({Z}.shape[0], lambda i: {Z}[i:i + 1] @ {Z}[i:i + 1].T * ({Z} @ {Z}.T)[i, i])"
          " == {Z}.shape[0] + 0 * {Z}[:1] @ {Z}[:1].T",
          "summed({Z}.shape[0], lambda i: {Z}[i:i + 1] * total({Z}[i:i + 1] * {Z}[i:i + 1])) == ones(1, {Z}.shape[0]) @ {Z}"],
    "P": ["{Z} @ {Z} == {Z}", "{Z} @ {Z} @ {Z} == {Z}", "trace({Z} @ {Z}) == trace({Z})",
          "expm({Z}) @ {Z} - {Z} @ expm({Z}) == 0 * {Z}", "{Z} @ G @ {Z} @ {Z} == {Z} @ G @ {Z}"],
    "Q": ["{Z}.T @ {Z} == eye({Z}.shape[1])", "{Z} @ {Z}.T @ {Z} == {Z}", "total({Z} * {Z}) == {Z}.shape[1] + 0 * total({Z})",
          "expm({Z} @ G @ {Z}.T) @ {Z} == {Z} @ expm(G)"],
}  # fmt: skip


def of_a_property(m: Maker, depth: int) -> tuple[str, str] | None:
    """What the property of an operand says."""
    own = [name for name in m.operands if name in OF_PROPERTIES]
    if not own:
        return None
    left, right = m.pick(OF_PROPERTIES[own[0]]).format(Z=own[0]).split(" == ")
    if "G" in left and "G" not in m.operands:
        m.operands.append("G")
    if m.rng.random() < 0.5 and "diag_part" not in left and "total" not in left and "trace" not in left:
        rows = dims_of(own[0])[0]
        if not left.startswith(("row_sums", "summed", f"{own[0]}.T @", "inverse", "expm")):
            A = m.formula((m.dim(), rows), depth)
            return f"{A} @ ({left})", f"{A} @ ({right})"
    return left, right


#: Expectations over normal matrices, one of which has the name of a captured input.
EXPECTATIONS = [
    "mean(lambda Z: Z @ X.T, Z=Normal(X.shape[0], X.shape[1])) == 0 * (X @ X.T)",
    "mean(lambda Z: Z @ X.T @ X @ Z.T, Z=Normal(X.shape[0], X.shape[1])) == total(X * X) * eye(X.shape[0])",
    "mean(lambda Z: Z.T @ Z, Z=Normal(X.shape[0], X.shape[1])) == X.shape[0] * eye(X.shape[1]) + 0 * (X.T @ X)",
    "mean(lambda Z: Z @ Z.T @ Z @ Z.T, Z=Normal(1, X.shape[1])) == X.shape[1] * (X.shape[1] + 2) * eye(1) + 0 * total(X) * eye(1)",
    "mean(lambda Z: total(Z * X) * Z, Z=Normal(X.shape[0], X.shape[1])) == X",
    "mean(lambda Z: (Z @ X.T) * (Z @ X.T), Z=Normal(1, X.shape[1])) == row_sums(X * X).T",
]


def expectation_law(m: Maker, depth: int) -> tuple[str, str] | None:
    """A moment; at times the random matrix is called as the input that it meets."""
    left, right = m.pick(EXPECTATIONS).split(" == ")
    if m.rng.random() < 0.5:
        left = left.replace("X", "Y").replace("Z", "X")
        left = f"(lambda Y: {left})(X)"
    return left, right


INEQUALITIES: list[Law] = [
    _of("F({A} @ {B}) <= F({A}) * N({B})", _pair),
    _of("F({A} @ {B}) <= N({A}) * F({B})", _pair),
    _of("N({A} @ {B}) <= N({A}) * N({B})", _pair),
    _of("N({A}) <= F({A})", _two),
    _of("F({A} + {B}) <= F({A}) + F({B})", _two),
    _of("N({A} - {B}) <= N({A}) + N({B})", _two),
    _of("absolute({A}[0, 0]) <= F({A})", _two),
    _of("maximum(absolute({A})) <= N({A})", _two),
    _of("F(softmax({A})) <= sqrt({A}.shape[0])", _two),
    _of("F(hadamard({A}, {B})) <= F({A}) * maximum(absolute({B}))", _two),
    _of("N(kron({A}, {B})) <= N({A}) * N({B})", _two),
    _of("F(softmax({A}) - softmax({B})) <= F({A} - {B}) / 2", _two),
    _of("total(absolute({A})) <= sqrt({A}.shape[0] * {A}.shape[1]) * F({A})", _two),
    _of("F(relu({A})) <= F({A})", _two),
    _of("spectral_radius({A}) <= N({A})", _square),
    _of("F(normalize_rows({A})) <= sqrt({A}.shape[0])", _two),
    _of("N(expm({A})) <= exp(N({A}))", _square),
    _of("maximum(column(F({A}), F({B}))) <= F({A}) + F({B})", _two),
    _of("maximum(column(N({A}), N({B}))) <= F({A}) + F({B})", _two),
    _of("F(concatenate([{A}, {B}], axis=0)) <= F({A}) + F({B})", _two),
    _of("F({A}[:1]) <= F({A})", _two),
    _of("F({A}) <= sqrt({A}.shape[0]) * N({A})", _two),
    _of("absolute(total({A} * {B})) <= F({A}) * F({B})", _two),
    _of("maximum(absolute({A} @ {B})) <= F({A}) * F({B})", _pair),
    _of("maximum(absolute({A})) <= absolute({A})", _two),
    _of("F({A} * {B}) <= F({A}) * F({B})", _two),
    _of("maximum(absolute(softmax({A}) @ {B})) <= maximum(absolute({B}))", _there_and_back),
    _of("F(diag({A}[:1].T)) <= F({A}[:1])", _two),
    _of("absolute(trace({A})) <= sqrt({A}.shape[0]) * F({A})", _square),
    _of("F({A}) <= F({A})", _two),
    _of("total({A} * {A}) <= F({A}) ** 2", _two),
]  # fmt: skip


# -- contexts ----------------------------------------------------------------------------------------------------------


def contexts(m: Maker, left: str, right: str, z: str, size: str) -> tuple[str, str]:
    """Both sides of left <= right under one function of them, increasing or not; z is another quantity."""
    x, y, c = f"({left})", f"({right})", m.pick(["1", "2", "rational(1, 3)"])
    return m.pick(
        [
            (f"absolute({x} - {y})", f"{y} / 2"),
            (f"absolute({x} - {y})", y),
            (f"absolute({x} - {z})", f"absolute({y} - {z})"),
            (f"absolute({x} - {c})", f"absolute({y} - {c})"),
            (f"{c} - {x}", f"{c} - {y}"),
            (f"{z} - {x}", f"{z} - {y}"),
            (f"-{x}", f"-{y}"),
            (f"1 / ({c} + {x})", f"1 / ({c} + {y})"),
            (f"{x} / ({c} + {x})", f"{y} / ({c} + {y})"),
            (f"1 - 1 / (1 + {x})", f"1 - 1 / (1 + {y})"),
            (f"1 - 1 / (1 + {size} ** 6 * {x} / 10 ** 13)", f"{y} / 100"),
            (f"{c} - 1 / ({c} + {x})", f"{c} - 1 / ({c} + {y})"),
            (f"{x} / ({c} + {z})", f"{y} / ({c} + {z})"),
            (f"{x} / ({c} + {z})", f"{y} / {c}"),
            (f"{z} / ({c} + {x})", f"{z} / {c}"),
            (f"-{z} / ({c} + {x})", f"-{z} / {c}"),
            (f"{x} - {z} / ({c} + {z})", f"{y} - {z} / {c}"),
            (f"{x} * ({c} - {z})", f"{y} * ({c} - {z})"),
            (f"{x} * ({z} - {y})", f"{y} * ({z} - {y})"),
            (f"({x} - {z}) ** 2", f"({y} - {z}) ** 2"),
            (f"({x} - {c}) ** 2", f"({y} - {c}) ** 2"),
            (f"{x} ** 2", f"{y} ** 2"),
            (f"sqrt({x})", f"sqrt({y})"),
            (f"exp({x} - {z})", f"exp({y} - {z})"),
            (f"exp(-{x})", f"exp(-{y})"),
            (f"{x} - rational(1, 10 ** 9)", f"{y} - rational(1, 10 ** 9)"),
            (f"maximum(column({x} - rational(1, 10 ** 9), {z}))", f"{y} + {z} - rational(1, 10 ** 9)"),
            (f"maximum(column({x} - {c}, {z}))", f"{y} + {z} - {c}"),
            (f"maximum(column({x}, {c} - {z}))", f"{y} + {c} - {z}"),
            (x, f"{y} * (1 + 1 / ({y} * sqrt(2) / {y} - 2))"),
            (x, f"{y} * (3 - 2 * {y} * sqrt(2) / {y})"),
            (f"{x} / {z}", f"{y} / {z}"),
            (f"{x} / ({z} - {c})", f"{y} / ({z} - {c})"),
            (f"{x} + {z}", f"{y} + {z}"),
            (f"{x} * {z}", f"{y} * {z}"),
            (x, f"{y} - {x} + {z}"),
            (f"absolute({x})", f"absolute({y})"),
            (f"absolute({x} - 2 * {y})", f"2 * {y}"),
            (f"sqrt(absolute({c} - {x}))", f"sqrt(absolute({c} - {y}))"),
        ]
    )  # fmt: skip
