"""Matrix primitives that run in every arithmetic: layouts, products, functions, spectra.

Formulas use these and otherwise only ``+ - * / @ .T``.  Each primitive recognises the arithmetic of its operands; one
that does not exist in an arithmetic raises `verify.errors.ArithmeticUnsupported` and says so.
"""

from verify.arithmetic import absolute, exp, maximum, rational, relu, sqrt, step, total
from verify.matrix.functions import expm, normalize_rows, row_norms, row_sums, softmax
from verify.matrix.layout import (
    COLUMN,
    ROW,
    Layout,
    basis_matrix,
    basis_vector,
    commutation_matrix,
    eye,
    ones,
    transpose,
    unvec_r,
    vec_c,
    vec_r,
    zeros,
)
from verify.matrix.products import block_diag, concatenate, diag, diag_part, hadamard, khatri_rao, kron, stack_rows, trace
from verify.matrix.spectral import (
    condition_number,
    effective_condition_number,
    frobenius_norm,
    inverse,
    singular_values,
    smallest_singular_value,
    spectral_norm,
    symmetric_eigenvalues,
)

__all__ = [
    "COLUMN",
    "ROW",
    "Layout",
    "absolute",
    "basis_matrix",
    "basis_vector",
    "block_diag",
    "commutation_matrix",
    "concatenate",
    "condition_number",
    "diag",
    "diag_part",
    "effective_condition_number",
    "exp",
    "expm",
    "eye",
    "frobenius_norm",
    "hadamard",
    "inverse",
    "khatri_rao",
    "kron",
    "maximum",
    "normalize_rows",
    "ones",
    "rational",
    "relu",
    "row_norms",
    "row_sums",
    "singular_values",
    "smallest_singular_value",
    "softmax",
    "spectral_norm",
    "sqrt",
    "stack_rows",
    "step",
    "symmetric_eigenvalues",
    "total",
    "trace",
    "transpose",
    "unvec_r",
    "vec_c",
    "vec_r",
    "zeros",
]
