"""The matrix exponential, its Frechet derivative and hypotheses for all sizes: every rule against floats, and wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.symbolic_cases import DERIVATIVES, EXPRESSIONS, SIZES, corner, disagreement, slope_disagreement
from verify.arithmetics.symbols import named, sums
from verify.arithmetics.symbols.difference import Proof, float_values, parts_of, prove
from verify.arithmetics.symbols.head_kinds import KINDS
from verify.arithmetics.symbols.hypothesis_rules import HypothesisRule, hypothesis_on, vanishing
from verify.arithmetics.symbols.latex import sum_latex
from verify.arithmetics.symbols.matrix_exponential import frechet_derivative, mean_exponential
from verify.arithmetics.symbols.matrix_exponential_rules import MEAN_TIMES_MATRIX
from verify.arithmetics.symbols.points import NumericPoint
from verify.arithmetics.symbols.scalars import rational_scalar
from verify.arithmetics.tracing import value_of
from verify.matrix import ROW, concatenate, exp, expm, eye, kron, row_sums, softmax, total
from verify.oracles.derivatives import hessian, jacobian
from verify.vocabulary.errors import ArithmeticUnsupported

pytestmark = pytest.mark.kept

n, d, k = SIZES["n"], SIZES["d"], SIZES["k"]

#: Rules of exponentials and what they are for; each is doubled below, which a comparison with floats has to see.
RULES = [
    "exp(M) C exp(-N) = C where M C = C N",
    "push-through f(AB) A = A f(BA)",
    "M phi(M) = exp(M) - I",
    "M D(M, N) = D(M, N) N + exp(M) - exp(N)",
    "int exp(s M) exp((1 - s) M) ds = exp(M)",
    "exp(M) M = M exp(M)",
    "exp(V M V^-1) = V exp(M) V^-1",
    "softmax times its normaliser is the exponential",
]


def plant(monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[list[Any]], list[Any]]) -> None:
    """Let the rule of this name give what `change` makes of its products."""
    (position,) = (i for i, (own, _, _) in enumerate(sums._rules) if own == name)
    own, kinds, right = sums._rules[position]

    def wrong(product: Any, slots: int) -> Any:
        found = right(product, slots)
        return found if found is None else change(found)

    rules = list(sums._rules)
    rules[position] = (own, kinds, wrong)
    monkeypatch.setattr(sums, "_rules", rules)


def doubled(products: list[Any]) -> list[Any]:
    (coefficient, *rest), *others = products
    return [(coefficient * rational_scalar(2), *rest), *others]


def caught() -> bool:
    """Whether an expression or a derivative differs from its value in floats."""
    return any(
        not disagreement(case, seed) < 1e-8 for name, case in EXPRESSIONS.items() if relevant(name) for seed in range(2)
    )


def relevant(name: str) -> bool:
    return any(word in name for word in ("xponential", "integral", "push", "softmax"))


def test_the_expressions_agree_with_floats_as_they_are() -> None:
    assert not caught()


@pytest.mark.parametrize("name", RULES)
def test_a_factor_two_in_a_rule_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, name, doubled)
    assert caught()


@pytest.mark.parametrize("name", RULES[2:4])
def test_a_lost_identity_in_a_rule_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, name, lambda products: products[:1] + products[2:])
    assert caught()


def test_exchanged_exponentials_in_the_derivative_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def exchanged(made: Any, change: Any) -> Any:
        ends = list(range(2, len(change.slots)))
        parts = [(frechet_derivative(made.inner, made.inner), [100, 1, 0, 101]), (change, [100, 101, *ends])]
        return sums.contract(parts, [0, 1, *ends])

    monkeypatch.setitem(KINDS, "expm", replace(KINDS["expm"], along=exchanged))
    assert not slope_disagreement(DERIVATIVES["matrix exponential"], 0, 1, ROW) < 1e-8


# -- the integral of two exponentials ----------------------------------------------------------------------------------


def test_the_frechet_derivative_has_its_symmetries() -> None:
    G, H = named("G", d, d).value, named("H", d, d).value
    D = frechet_derivative(G, H)
    assert D.key == frechet_derivative(H, G).permuted([2, 3, 0, 1]).key
    assert D.key == frechet_derivative(G.permuted([1, 0]), H).permuted([1, 0, 2, 3]).key
    assert D.key != frechet_derivative(G, H.permuted([1, 0])).key
    same = frechet_derivative(G, G)
    assert same.key == same.permuted([2, 3, 0, 1]).key
    assert same.key != same.permuted([1, 0, 3, 2]).key
    symmetric = frechet_derivative(G.plus(G.permuted([1, 0])), H)
    assert symmetric.key == symmetric.permuted([1, 0, 2, 3]).key


def test_a_zero_in_the_frechet_derivative_gives_the_mean_exponential() -> None:
    G = named("G", d, d).value
    nothing = G.plus(G, rational_scalar(-1))
    expected = sums.contract([(mean_exponential(G), [0, 1]), (eye(d).value, [2, 3])], range(4))
    assert frechet_derivative(G, nothing).key == expected.key
    assert mean_exponential(nothing).key == eye(d).value.key


def test_the_rule_for_the_matrix_itself_may_go_before_push_through() -> None:
    X, G = named("X", n, d), named("G", d, d)
    M = X @ G @ X.T

    def left() -> Any:
        return (corner(M, M, M * 0) + eye(n) - expm(M)).value

    before = sums.names_of_rules()
    assert left()
    with sums.trying_first(MEAN_TIMES_MATRIX):
        assert not left()
        assert (corner(M, M, M * 0) - expm(M)).value
        assert (corner(M, M.T, M * 0) + eye(n) - expm(M)).value
    assert left() and sums.names_of_rules() == before


def test_a_remembered_product_does_not_outlive_the_rules_by_which_it_was_found() -> None:
    """Nor does a rule go unnoted where the product that it reduced is taken from memory."""
    A, rules = named("A", d, d), hypothesis_on("A", "has orthonormal columns", (d, d)).rules
    with sums.remembering_products():
        free = (A.T @ A).value.key
        for _ in range(2):
            with sums.extra_rules(rules):
                for _ in range(2):
                    with sums.recording_rules() as used:
                        assert (A.T @ A).value.key == eye(d).value.key
                    assert used
            assert (A.T @ A).value.key == free


def test_a_hypothesis_of_one_thread_proves_nothing_in_another() -> None:
    """Not even of sums that were multiplied there before, and not after its block."""

    def proof() -> Proof:
        return prove(lambda given: given["A"].T @ given["A"], lambda _: eye(d), lambda: {"A": named("A", d, d)})

    rules = hypothesis_on("A", "has orthonormal columns", (d, d)).rules
    with ThreadPoolExecutor(1) as pool:
        with sums.extra_rules(rules):
            assert proof().proved
            assert not pool.submit(proof).result().proved
        assert not pool.submit(proof).result().proved and not proof().proved


def test_the_adjoint_of_the_derivative_is_that_of_the_transpose() -> None:
    """<Y, D(M, E)> = <D(M^T, Y), E>, and D(M, E)^T = D(M^T, E^T); of rectangular E with a matrix on either side too."""
    M, N, E, Y = named("M", n, n), named("N", d, d), named("E", n, d), named("Y", n, d)
    inner = total(Y * corner(M, E, N)) - total(corner(M.T, Y, N.T) * E)
    assert not inner.value
    assert (total(Y * corner(M, E, N)) - total(corner(M, Y, N.T) * E)).value
    assert not (corner(M, E, N).T - corner(N.T, E.T, M.T)).value
    assert not (corner(M, 2 * E + Y, N) - 2 * corner(M, E, N) - corner(M, Y, N)).value


def test_a_derivative_is_shown_by_its_exponentials() -> None:
    shown = sum_latex((jacobian(expm, "A")(named("G", d, d))).value)
    assert (
        r"\int_0^1 [\operatorname{expm}([G]_{a b})^{s}]_{a c}\, [\operatorname{expm}([G]_{a b})^{1-s}]_{d b}\,ds"
        in shown
    )


def test_the_second_derivative_is_refused() -> None:
    with pytest.raises(ArithmeticUnsupported, match="the derivative of an integral of matrix exponentials"):
        hessian(expm, ("A", "A"))(named("G", d, d))


def test_exponentials_that_have_no_form_are_named() -> None:
    G, W = named("G", d, d), named("W", d, k)
    with pytest.raises(ArithmeticUnsupported, match="whose rows group several indices"):
        expm(kron(G, G))
    full = concatenate([concatenate([G, W], axis=1), concatenate([W.T, eye(k)], axis=1)], axis=0)
    with pytest.raises(
        ArithmeticUnsupported, match="neither diagonal, two and upper triangular, nor a column times a row"
    ):
        expm(full)
    with pytest.raises(ValueError, match="A: expected a square matrix"):
        expm(W)


# -- assumptions as rules ----------------------------------------------------------------------------------------------

#: B (n, k) with orthonormal columns, tokens in their span, weights whose product is symmetric or skew.
ASSUMPTIONS: dict[str, Callable[..., Any]] = {
    "orthonormal": lambda B: B.T @ B - eye(B.shape[1]),
    "spanned": lambda B, X: X - B @ (B.T @ X),
    "image": lambda B, X, P, Q: _skew(X, P, Q) - B @ (B.T @ _skew(X, P, Q)),
    "symmetric product": lambda P, Q: P @ Q.T - Q @ P.T,
    "skew": lambda S: S + S.T,
    "made of others": lambda C, B, H: C - B @ H,
}


def _skew(X: Any, P: Any, Q: Any) -> Any:
    return X @ P @ (X @ Q).T - X @ Q @ (X @ P).T


def _reduced(M: Any, B: Any) -> Any:
    """I + B (exp(B^T M B) - I) B^T."""
    return eye(B.shape[0]) + B @ (expm(B.T @ M @ B) - eye(B.shape[1])) @ B.T


#: What holds only by the assumptions named first.
CONSEQUENCES: dict[str, tuple[list[str], Callable[..., Any], Callable[..., Any]]] = {
    "isometry": (["orthonormal"], lambda B, S: B @ (B.T @ B) @ B.T @ S, lambda B, S: B @ B.T @ S),
    "projection": (["spanned"], lambda B, X, G: B @ B.T @ X @ G @ X.T, lambda B, X, G: X @ G @ X.T @ B @ B.T),
    "reduced exponential": (
        ["spanned"], lambda B, X, G: _reduced(X @ G @ X.T, B), lambda B, X, G: expm(X @ G @ X.T),
    ),
    "reduced exponential of the image": (
        ["image"], lambda B, X, P, Q: _reduced(_skew(X, P, Q), B), lambda B, X, P, Q: expm(_skew(X, P, Q)),
    ),
    "powers in the image": (
        ["image"],
        lambda B, X, P, Q: B @ B.T @ _skew(X, P, Q) @ B @ B.T @ _skew(X, P, Q) @ B @ B.T,
        lambda B, X, P, Q: _skew(X, P, Q) @ _skew(X, P, Q),
    ),
    "conjugated exponential": (
        ["orthonormal"],
        lambda B, H: expm(B @ H @ B.T),
        lambda B, H: eye(B.shape[0]) + B @ (expm(H) - eye(H.shape[0])) @ B.T,
    ),
    "an input made of others": (
        ["made of others", "orthonormal"],
        lambda C, S, H: C.T @ S @ C @ H + C.T @ C,
        lambda B, S, H: H.T @ B.T @ S @ B @ H @ H + H.T @ H,
    ),
    "derivative in the span": (
        ["spanned"],
        lambda B, X, G: jacobian(lambda G: _reduced(X @ G @ X.T, B), "G")(G),
        lambda B, X, G: jacobian(lambda G: expm(X @ G @ X.T), "G")(G),
    ),
    "symmetric logits": (
        ["symmetric product"],
        lambda X, P, Q: softmax(X @ P @ Q.T @ X.T) * row_sums(exp(X @ Q @ P.T @ X.T)),
        lambda X, P, Q: exp(X @ P @ Q.T @ X.T),
    ),
    "rotation": (["skew"], lambda S: expm(S) @ expm(S).T, lambda S: eye(S.shape[0]) + 0 * S),
}  # fmt: skip


def _operands() -> dict[str, Any]:
    return {
        "B": named("B", n, k), "X": named("X", n, d), "G": named("G", d, d), "S": named("S", n, n),
        "P": named("P", d, d), "Q": named("Q", d, d),
        "H": named("H", k, k), "C": named("C", n, k),
    }  # fmt: skip


def _point(seed: int) -> tuple[NumericPoint, dict[str, torch.Tensor]]:
    """Inputs that satisfy every assumption."""
    rng = np.random.default_rng(seed)
    sizes = {n: 4, d: 3, k: 2}
    B = np.linalg.qr(rng.standard_normal((4, 2)))[0]
    Q = rng.standard_normal((3, 3))
    symmetric = rng.standard_normal((3, 3))
    arrays = {
        "B": B, "X": B @ rng.standard_normal((2, 3)), "G": rng.standard_normal((3, 3)), "Q": Q,
        "P": (symmetric + symmetric.T) @ np.linalg.inv(Q.T), "S": rng.standard_normal((4, 4)),
    }  # fmt: skip
    arrays["S"] = arrays["S"] - arrays["S"].T
    arrays["H"] = rng.standard_normal((2, 2))
    arrays["C"] = B @ arrays["H"]
    return NumericPoint(sizes, arrays), {name: torch.as_tensor(array) for name, array in arrays.items()}


def _given(names: list[str], operands: dict[str, Any]) -> list[HypothesisRule]:
    found = []
    for name in names:
        function = ASSUMPTIONS[name]
        value = function(**{own: operands[own] for own in _names(function)})
        found.append(vanishing(name, [part.value for part in parts_of(value_of(value))]))
    return found


def _names(function: Callable[..., Any]) -> list[str]:
    return list(function.__code__.co_varnames[: function.__code__.co_argcount])


@pytest.mark.parametrize("name", sorted(CONSEQUENCES))
def test_an_assumption_proves_its_consequence_and_nothing_without_it(name: str) -> None:
    assumed, left, right = CONSEQUENCES[name]

    def side(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda given: function(**{own: given[own] for own in _names(function)})

    assert not prove(side(left), side(right), _operands).proved
    proof = prove(side(left), side(right), _operands, hypotheses=lambda given: _given(assumed, dict(given)))
    assert proof.proved, proof.reason
    assert proof.hypotheses == assumed
    # both normal forms have the values of both sides, at inputs that satisfy the assumption
    for seed in range(2):
        point, tensors = _point(seed)
        for function, value in ((left, proof.left), (right, proof.right)):
            floats = np.asarray(function(**{own: tensors[own] for own in _names(function)})).reshape(-1)
            assert np.abs(float_values(value, point) - floats).max() < 1e-8 * max(1.0, np.abs(floats).max())


def test_a_factor_two_in_conjugation_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "exp(V M V^T) = I + V (exp(M) - I) V^T where V^T V = I", doubled)
    proof = prove(
        lambda given: expm(given["B"] @ given["H"] @ given["B"].T),
        lambda given: expm(given["B"] @ given["H"] @ given["B"].T),
        _operands,
        hypotheses=lambda given: _given(["orthonormal"], dict(given)),
    )
    point, tensors = _point(0)
    floats = expm(tensors["B"] @ tensors["H"] @ tensors["B"].T).numpy().reshape(-1)
    assert np.abs(float_values(proof.left, point) - floats).max() > 1e-3


def test_a_wrong_projection_rule_is_caught_at_inputs_that_satisfy_the_assumption(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, "exp(M) C = exp(M) + C - I where M C = M", lambda products: products[:1])
    left = CONSEQUENCES["reduced exponential"][1]
    proof = prove(
        lambda given: left(given["B"], given["X"], given["G"]),
        lambda given: expm(given["X"] @ given["G"] @ given["X"].T),
        _operands,
        hypotheses=lambda given: _given(["spanned"], dict(given)),
    )
    assert not proof.proved
    point, tensors = _point(0)
    floats = left(tensors["B"], tensors["X"], tensors["G"]).numpy().reshape(-1)
    assert np.abs(float_values(proof.left, point) - floats).max() > 1e-3


def test_an_assumption_without_a_product_of_inputs_is_refused() -> None:
    B = named("B", n, k)
    with pytest.raises(ArithmeticUnsupported, match="says nothing of matrices"):
        vanishing("nothing", [(B - B).value])
    with pytest.raises(ArithmeticUnsupported, match="longest product is not one of inputs alone"):
        vanishing("entrywise", [(exp(B) @ exp(B).T - eye(n)).value])
