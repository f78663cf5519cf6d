"""LayerNorm and RMSNorm of more than two axes: what is normalised together."""

from __future__ import annotations

from typing import Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.definitions import Epsilon, Gain, Samples, Shift, layer_norm, rms_norm
from theorems.transformer.layers import (
    MatrixGain, MatrixShift, layer_norm_of_matrices, layer_norm_of_samples, rms_norm_of_samples,
)  # fmt: skip
from verify.matrix import concatenate, each
from verify.vocabulary import Assumption, Claim, Equal, Setting

SAMPLES = Setting(TRANSFORMER, "Normalisation of samples",
    assumptions=[Assumption("epsilon > 0", positive=lambda epsilon: epsilon)],
    sizes={"B": (1, 3), "n": (1, 3), "d": (1, 4)})  # fmt: skip

LAYER = Claim(SAMPLES, "transformer.layer-norm-of-samples", label="LayerNorm of each sample",
    statement=r"\operatorname{LN}(X)_b = \operatorname{LN}(X_b),\quad b = 1, \dots, B",
    name="LayerNorm over the last of three axes", relation=Equal(), all_sizes=True)  # fmt: skip


@LAYER.formula
def layer_norms(X: Samples, gamma: Gain, beta: Shift, epsilon: Epsilon) -> Any:
    """LayerNorm of every sample by itself, on top of each other, shape (B n, d)."""
    return concatenate(each(X.shape[0], lambda b: layer_norm(X[b], gamma, beta, epsilon)), axis=0)


LAYER.oracle(lambda X, gamma, beta, epsilon: layer_norm_of_samples(X, gamma, beta, epsilon).reshape(-1, X.shape[2]))
LAYER.mutant("the first sample for all", "X[b] -> X[0]")
LAYER.mutant("no shift", "beta -> 0 * beta")

RMS = Claim(SAMPLES, "transformer.rms-norm-of-samples", label="RMSNorm of each sample",
    statement=r"\operatorname{RMS}(X)_b = \operatorname{RMS}(X_b),\quad b = 1, \dots, B",
    name="RMSNorm over the last of three axes", relation=Equal(), all_sizes=True)  # fmt: skip


@RMS.formula
def rms_norms(X: Samples, gamma: Gain, epsilon: Epsilon) -> Any:
    """RMSNorm of every sample by itself, on top of each other, shape (B n, d)."""
    return concatenate(each(X.shape[0], lambda b: rms_norm(X[b], gamma, epsilon)), axis=0)


RMS.oracle(lambda X, gamma, epsilon: rms_norm_of_samples(X, gamma, epsilon).reshape(-1, X.shape[2]))
RMS.mutant("the first sample for all", "X[b] -> X[0]")
RMS.mutant("no epsilon", "epsilon -> 0 * epsilon")

MATRICES = Claim(SAMPLES, "transformer.layer-norm-of-matrices", label="LayerNorm over two axes",
    statement=r"\operatorname{LN}(X)_b = \operatorname{LN}(\operatorname{vec}X_b),\quad b = 1, \dots, B",
    name="LayerNorm over the last two of three axes", relation=Equal(), all_sizes=True,
    note="Not LayerNorm of each row: mean and variance are those of all entries of a sample.")  # fmt: skip


@MATRICES.formula
def norms_of_matrices(X: Samples, gamma: MatrixGain, beta: MatrixShift, epsilon: Epsilon) -> Any:
    """LayerNorm of every sample as one row, on top of each other, shape (B, n d)."""
    gains, shifts = gamma.reshape(-1), beta.reshape(-1)
    rows = each(X.shape[0], lambda b: layer_norm(X[b].reshape(1, -1), gains, shifts, epsilon))
    return concatenate(rows, axis=0)


MATRICES.oracle(lambda X, gamma, beta, epsilon: layer_norm_of_matrices(X, gamma, beta, epsilon).reshape(X.shape[0], -1))
MATRICES.mutant("the first sample for all", "X[b] -> X[0]")
MATRICES.mutant("no gain", "gains -> 0 * gains + 1")
