"""A formula that is not evaluated in numbers runs once and gives a tree, which says what the formula did."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import sympy
import torch

import verify.matrix
from tests.symbolic_cases import DERIVATIVES, EXPRESSIONS, SHAPES, SIZES, SLOPES, disagreement
from verify.arithmetics import tracing
from verify.arithmetics.formula_latex import abbreviated, formula_latex
from verify.arithmetics.norms.bounded import Bounded, input_matrix
from verify.arithmetics.norms.world import derivation
from verify.arithmetics.symbols import Indexed, SummationIndex, named
from verify.arithmetics.tracing import Call, Function, Input, Traced, node_of, traced_inputs, value_of
from verify.matrix import concatenate, diag, each, eye, kron, mapped, row_sums, softmax, sqrt, summed, total, vec_r
from verify.oracles.derivatives import hessian, jacobian

pytestmark = pytest.mark.kept

n, d, k = SIZES["n"], SIZES["d"], SIZES["k"]

#: What the operators of a tree do with tensors.
OPERATORS: dict[str, Callable[..., Any]] = {
    "@": operator.matmul, "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "^": operator.pow, "neg": operator.neg, "T": lambda A: A.T, "[]": operator.getitem, "item": operator.getitem,
    "vec": lambda A, *shape: A.reshape(shape), "reshape": lambda A, *shape: A.reshape(shape),
    "sum": lambda A, axis: total(A) if axis is None else A.sum(axis),
}  # fmt: skip


def in_floats(node: Any, known: Mapping[Any, Any], sizes: Mapping[Any, int]) -> Any:
    """The value of a tree at tensors, by the functions that users import: a reader of its own."""

    def of(item: Any) -> Any:
        return in_floats(item, known, sizes)

    if isinstance(node, Input):
        return known[node] if node in known else known[node.name]
    if isinstance(node, SummationIndex):
        return known[id(node)]
    if isinstance(node, Call):
        if node.name in ("jacobian", "hessian"):
            f, arguments, wrt, layout = node.operands
            return {"jacobian": jacobian, "hessian": hessian}[node.name](of(f), wrt, layout)(**of(arguments))
        function = OPERATORS.get(node.name) or getattr(verify.matrix, node.name)
        return function(*map(of, node.operands))
    if isinstance(node, Function):

        @functools.wraps(node.function)
        def run(*values: Any, **by_name: Any) -> Any:
            given = {
                id(parameter)
                if isinstance(parameter, SummationIndex)
                else parameter: value  # it is compared with nothing
                for parameter, value in zip(node.parameters, values, strict=True)
            }
            given |= {node.named[name]: value for name, value in by_name.items() if isinstance(node.named[name], Input)}
            return in_floats(node.body, {**known, **given}, sizes)

        return run
    if isinstance(node, slice):
        stop = of(node.start) + 1 if isinstance(node.start, SummationIndex) else of(node.stop)
        return slice(of(node.start), stop)
    if isinstance(node, (list, tuple)):
        return [of(item) for item in node] if not _is_key(node) else tuple(map(of, node))
    if isinstance(node, dict):
        return {name: of(item) for name, item in node.items()}
    if isinstance(node, sympy.Expr):
        found = node.subs(sizes)
        return int(found) if found.is_Integer else float(found)
    return node


def _is_key(items: Any) -> bool:
    return any(item is None or isinstance(item, (slice, int, SummationIndex)) for item in items)


def difference_of_tree(function: Callable[..., Any], seed: int) -> float:
    """How far the tree of a function is from the function itself, on tensors."""
    names = list(inspect.signature(function).parameters)
    rng = np.random.default_rng(seed)
    sizes = dict(zip("ndk", rng.choice([2, 3, 4], size=3, replace=False).tolist(), strict=True))
    tensors = {
        name: torch.as_tensor(rng.standard_normal([sizes.get(letter, 1) for letter in SHAPES[name]])) for name in names
    }
    symbolic = {name: named(name, *(SIZES.get(letter, 1) for letter in SHAPES[name])) for name in names}
    tree = node_of(function(**traced_inputs(symbolic)))
    ours = torch.as_tensor(in_floats(tree, tensors, {SIZES[letter]: size for letter, size in sizes.items()}))
    theirs = torch.as_tensor(function(**tensors))
    return float((ours.reshape(-1) - theirs.reshape(-1)).abs().max())


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_the_tree_says_what_the_function_does(name: str) -> None:
    assert difference_of_tree(EXPRESSIONS[name], 1) < 1e-9


@pytest.mark.parametrize("name", sorted(SLOPES))
def test_derivatives_are_nodes(name: str) -> None:
    function = SLOPES[name]
    names = list(inspect.signature(function).parameters)
    for slope in (jacobian(function, names[0]), hessian(function, (names[0], names[0]))):
        assert difference_of_tree(functools.wraps(function)(slope), 2) < 1e-8


def test_what_a_function_captures_is_no_argument_of_it() -> None:
    def around(G: Any, H: Any) -> Any:
        return jacobian(lambda G: G @ H + around_G, "G")(G) if (around_G := G @ G) is not None else None

    assert difference_of_tree(around, 0) < 1e-9
    function = DERIVATIVES["inverse of a sum"]
    assert difference_of_tree(functools.wraps(function)(jacobian(function, "G")), 0) < 1e-9


def test_a_changed_operand_in_the_tree_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = tracing.recorded

    def exchanged(name: str, form: Any, *operands: Any) -> Any:
        found = right(name, form, *operands)
        if name == "-" and isinstance(found, Traced):
            found.node = Call(name, found.node.operands[::-1])
        return found

    monkeypatch.setattr(tracing, "recorded", exchanged)
    assert disagreement(EXPRESSIONS["mixed product"], 0) < 1e-9
    assert difference_of_tree(lambda G, H: G - 2 * H, 0) > 1e-3


# -- formulas see expressions, forms see values ------------------------------------------------------------------------


def inputs() -> dict[str, Any]:
    return traced_inputs({"X": named("X", n, d), "W_Q": named("W_Q", d, k), "T": named("T", n, n)})


def test_both_arithmetics_give_one_tree() -> None:
    def formula(X: Any, W: Any) -> Any:
        return softmax(X @ W / sqrt(X.shape[1])) @ eye(W.shape[1])

    by_indices = formula(**traced_inputs({"X": named("X", n, d), "W": named("W", d, k)}))
    with derivation():
        by_norms = formula(**traced_inputs({"X": input_matrix("X", n, d), "W": input_matrix("W", d, k)}))
    assert isinstance(value_of(by_indices), Indexed)
    assert isinstance(value_of(by_norms), Bounded)
    assert formula_latex(node_of(by_indices)) == formula_latex(node_of(by_norms))


def test_a_size_is_not_silently_decided_on() -> None:
    X = inputs()["X"]
    assert not isinstance(X.shape[0], sympy.Basic)
    assert isinstance(value_of(X).shape[0], sympy.Basic)
    assert isinstance(X[:, 0].shape[0] + 1, type(X.shape[0]))


# -- as LaTeX ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("formula", "latex"), [
    (lambda X, W, T: X @ W, "X W_{Q}"),
    (lambda X, W, T: (X + X) @ W, r"\left(X + X\right) W_{Q}"),
    (lambda X, W, T: kron(eye(X.shape[1]), W.T) @ kron(X.T, W),
     r"\left(I_{d} \otimes W_{Q}^\top\right) \left(X^\top \otimes W_{Q}\right)"),
    (lambda X, W, T: 1 - X * 2 / sqrt(X.shape[1]), r"1 - \frac{2 \, X}{\sqrt{d}}"),
    (lambda X, W, T: X * X * row_sums(T), r"\left(X \odot X\right) \odot \operatorname{rowsums}\left(T\right)"),
    (lambda X, W, T: vec_r(X.T), r"\operatorname{vec}_r X^\top"),
    (lambda X, W, T: summed(X.shape[0], lambda i: X[i : i + 1].T @ X[i : i + 1]), r"\sum_{i} [X]_{i}^\top [X]_{i}"),
    (lambda X, W, T: concatenate(each(X.shape[0], lambda i: T[i : i + 1]), axis=0), r"\left[[T]_{i}\right]_{i}"),
    (lambda X, W, T: concatenate(mapped(lambda row: row @ X, each(X.shape[0], lambda i: T[i : i + 1])), axis=0),
     r"\left[[T]_{i} X\right]_{i}"),
    (lambda X, W, T: concatenate([X @ W, X @ W], axis=1), r"\begin{bmatrix}X W_{Q} & X W_{Q}\end{bmatrix}"),
    (lambda X, W, T: jacobian(lambda W: X @ W, "W")(W), r"\frac{\partial \left(X W\right)}{\partial W}"),
    (lambda X, W, T: diag(softmax(T)[0]), r"\operatorname{diag}\left([\operatorname{softmax}\left(T\right)]_{0}\right)"),
])  # fmt: skip
def test_a_formula_in_latex(formula: Callable[..., Any], latex: str) -> None:
    X, W, T = inputs().values()
    assert formula_latex(node_of(formula(X, W, T))) == latex


def test_of_arguments_of_equal_length_the_first_has_the_first_name() -> None:
    calls = [rf"\operatorname{{softmax}}({letter * 20})" for letter in "qwertz"]
    text = abbreviated(" + ".join(calls * 2))
    assert [rf"\mathcal{{{name}}} = {call}" for name, call in zip("ABCDEF", calls, strict=True)] == text.split(
        r",\quad "
    )[1:]
