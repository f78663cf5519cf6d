"""Bad input of primitives: the error names the argument, what was expected and what came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from verify.arithmetics import kind_of, to_balls, to_rationals
from verify.matrix import (
    basis_matrix,
    basis_vector,
    block_diag,
    commutation_matrix,
    concatenate,
    diag,
    effective_condition_number,
    exp,
    expm,
    eye,
    hadamard,
    inverse,
    khatri_rao,
    kron,
    ones,
    rational,
    singular_values,
    softmax,
    sqrt,
    symmetric_eigenvalues,
    trace,
    transpose,
    unvec_r,
    vec_c,
    vec_r,
    zeros,
)
from verify.oracles import hessian, jacobian
from verify.vocabulary import InputError

A = to_rationals([[1, 2, 3], [4, 5, 6]])
FLOATS = np.ones((2, 2))
VECTOR = to_rationals([1, 2])

CASES: dict[str, tuple[Callable[[], Any], str, str, str]] = {
    # name: (call, argument, expected, got)
    "eye of a negative size": (lambda: eye(-1), "n", "an integer >= 0", "-1"),
    "eye of a float": (lambda: eye(2.0), "n", "an integer >= 0", "2.0"),
    "zeros": (lambda: zeros(2, -3), "n", "an integer >= 0", "-3"),
    "ones": (lambda: ones(True, 2), "m", "an integer >= 0", "True"),
    "commutation matrix": (lambda: commutation_matrix(2, 1.5), "m", "an integer >= 0", "1.5"),
    "unit vector beyond the end": (lambda: basis_vector(3, 3), "i", "an index below 3", "3"),
    "unit vector before the start": (lambda: basis_vector(3, -1), "i", "an integer >= 0", "-1"),
    "unit matrix": (lambda: basis_matrix(2, 3, 0, 3), "i", "an index below 3", "3"),
    "transpose of a vector": (lambda: transpose(VECTOR), "A", "a matrix (two dimensions)", "shape (2,)"),
    "vec_r of a vector": (lambda: vec_r(torch.ones(3)), "A", "a matrix (two dimensions)", "shape (3,)"),
    "vec_c of a list": (lambda: vec_c([1, 2]), "A", "a matrix (two dimensions)", "[1, 2]"),
    "unvec_r of too many": (lambda: unvec_r(vec_r(A), 2, 2), "v", "a column of shape (4, 1)", "shape (6, 1)"),
    "kron of a vector": (lambda: kron(A, VECTOR), "B", "a matrix (two dimensions)", "shape (2,)"),
    "kron of numpy floats": (lambda: kron(FLOATS, A), "A", "a torch tensor", "dtype float64"),
    "hadamard": (lambda: hadamard(A, A.T), "B", "the shape of A, (2, 3)", "(3, 2)"),
    "khatri_rao of unequal counts": (lambda: khatri_rao([A], []), "B_blocks", "as many blocks as A_blocks, 1", "0"),
    "khatri_rao of nothing": (lambda: khatri_rao([], []), "blocks", "at least one matrix", "none"),
    "khatri_rao of unequal widths": (
        lambda: khatri_rao([A, A], [A, A.T]),
        "blocks",
        "matrices of equally many columns",
        "shapes [(4, 9), (6, 6)]",
    ),
    "concatenate": (lambda: concatenate([A, A.T], 1), "blocks", "matrices of equally many rows", "[(2, 3), (3, 2)]"),
    "block_diag of nothing": (lambda: block_diag([]), "blocks", "at least one matrix", "none"),
    "diag of a matrix": (lambda: diag(A), "v", "a vector", "shape (2, 3)"),
    "trace": (lambda: trace(A), "A", "a square matrix", "shape (2, 3)"),
    "softmax of a vector": (lambda: softmax(torch.ones(3)), "T", "a matrix (two dimensions)", "shape (3,)"),
    "softmax of numpy floats": (lambda: softmax(FLOATS), "T", "a torch tensor", "dtype float64"),
    "exp of numpy floats": (lambda: exp(FLOATS), "entries of a matrix", "floats belong in a torch tensor", "float64"),
    "exp of a float": (lambda: exp(0.0), "entries of a matrix", "integers, flint.fmpq, flint.arb", "float 0.0"),
    "exp of text": (lambda: exp(np.array(["1"], dtype=object)), "entries of a matrix", "sympy expressions", "str '1'"),
    "expm of a rectangle": (lambda: expm(torch.ones(2, 3)), "A", "a square matrix", "shape (2, 3)"),
    "expm of numpy floats": (lambda: expm(FLOATS), "A", "a torch tensor", "dtype float64"),
    "inverse": (lambda: inverse(A), "A", "a square matrix", "shape (2, 3)"),
    "singular values of a vector": (lambda: singular_values(VECTOR), "A", "a matrix (two dimensions)", "shape (2,)"),
    "eigenvalues of a rectangle": (lambda: symmetric_eigenvalues(A), "B", "a square matrix", "shape (2, 3)"),
    "eigenvalues of an asymmetric matrix": (
        lambda: symmetric_eigenvalues(to_rationals([[0, 1], [-1, 0]])),
        "B",
        "a symmetric matrix",
        "across the diagonal",
    ),
    "effective rank": (lambda: effective_condition_number(A, 3), "rank", "between 1 and 2", "3"),
    "sqrt of a negative integer": (lambda: sqrt(-1), "radicand", "an integer >= 0", "-1"),
    "rational of a float": (lambda: rational(0.5), "numerator", "an integer", "0.5"),
    "rational over zero": (lambda: rational(1, 0), "denominator", "a nonzero integer", "0"),
    "surd times a float": (
        lambda: sqrt(2) * 0.5,
        "entries of a matrix",
        "floats belong in a torch tensor",
        "float 0.5",
    ),
    "a float among operands": (lambda: kind_of(A, 1.5), "entries of a matrix", "integers", "float 1.5"),
    "balls of nan": (lambda: to_balls([float("nan")]), "value", "a finite number", "nan"),
    "rationals of infinity": (lambda: to_rationals([float("inf")]), "value", "a finite number", "inf"),
    "jacobian by an unknown name": (lambda: jacobian(softmax, "X")(A), "wrt", "one of ['T']", "'X'"),
    "hessian by an unknown name": (lambda: hessian(softmax, ("T", "X"))(A), "wrt", "one of ['T']", "'X'"),
}


@pytest.mark.parametrize("name", CASES)
def test_error_names_argument_expectation_and_what_came(name):
    call, argument, expected, got = CASES[name]
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument
    assert expected in caught.value.expected
    assert got in caught.value.got
    assert str(caught.value) == f"{argument}: expected {caught.value.expected}; got {caught.value.got}"
