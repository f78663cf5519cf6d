"""Other people's implementations under our theorems: torch, scipy, curvlinops, transformers; and broken copies of them."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import verify
from tests.efforts import whole_or_part
from tests.part_of_comparisons import in_part, reported
from theorems.adapters import (
    attention_kernel,
    curvature_operator,
    hugging_face_vit,
    multihead_attention,
    orthogonal_initialiser,
    rms_norm,
    sdpa,
)
from verify.gate.adapters import from_numpy
from verify.gate.checking import gate
from verify.gate.findings import BROKEN, DEFINITION, SATISFIED, UNCHECKABLE
from verify.vocabulary import InputError

pytestmark = pytest.mark.kept("docs/your-implementation.md", "docs/fully-masked-rows.md")

#: Where one rounding of the definition is up to 1024 ulps, a value this near is as good as the definition's own.
FEW_ULPS = 64


def assert_right(report: verify.SubjectReport) -> None:
    report.raise_if_broken()
    assert max(report.accuracy.values()) < FEW_ULPS, str(report)


# -- attention ---------------------------------------------------------------------------------------------------------


def available(backend: str) -> bool:
    q = torch.ones(1, 1, 2, 2)
    try:
        sdpa(backend, else_math=False)(q, q, q)
    except RuntimeError:
        return False
    return True


def causes_of_values(subject: str, implementation: Any, **options: Any) -> list[str]:
    """Why its values are wrong."""
    made = gate(subject, implementation, **options)
    finding = made.run(DEFINITION, "float64")
    assert finding.status == BROKEN
    return made.causes_of(finding)


@pytest.mark.parametrize(("number", "backend"), list(enumerate(["math", "flash", "efficient", "cudnn"])))
def test_scaled_dot_product_attention_in_every_backend(number, backend, pytestconfig):
    if not available(backend):
        pytest.skip(f"the {backend} backend of scaled_dot_product_attention does not run on this device")
    options = {"adapter": attention_kernel(), "claims": "hessian.*-v*", "dtypes": ["float64"]}
    named = ("hessian.thm-3.2-vv",)
    report = reported(number, pytestconfig, "hessian.attention", sdpa(backend), named=named, **options)
    assert_right(report)
    second = {finding.check: finding.status for finding in report.findings}["hessian.thm-3.2-vv"]
    # fused kernels have no second derivatives: the theorem is undecided, not satisfied
    assert second == (SATISFIED if backend == "math" else UNCHECKABLE)


@pytest.mark.parametrize(
    ("number", "subject"),
    list(enumerate(["skipless.self_attention", "dynamics.attention_head", "convergence.self_attention"])),
)
def test_scaled_dot_product_attention_under_the_scales_of_other_papers(number, subject, pytestconfig):
    options = {"adapter": attention_kernel(subject), "dtypes": ["float64"]}
    report = reported(number, pytestconfig, subject, sdpa("math"), **options)
    assert_right(report)
    assert report.satisfied


def test_multihead_attention(pytestconfig):
    subject = "dynamics.multi_head_attention"
    options = {"adapter": multihead_attention, "named": ("dynamics.prop-5.1",)}
    report = reported(3, pytestconfig, subject, torch.nn.MultiheadAttention, **options)
    assert_right(report)
    assert "dynamics.prop-5.1" in report.satisfied


@pytest.mark.long("the first imports transformers")
@pytest.mark.parametrize(("number", "implementation"), list(enumerate(["eager", "sdpa"])))
def test_attention_of_a_hugging_face_model_built_from_its_configuration(number, implementation, pytestconfig):
    pytest.importorskip("transformers", reason="transformers is not installed (extra 'hugging-face')")
    try:
        from transformers.models.vit.modeling_vit import ViTAttention
    except (ImportError, RuntimeError) as problem:
        pytest.skip(f"transformers cannot be imported here: {problem}")
    adapter = {"adapter": lambda module: hugging_face_vit(module, implementation)}
    report = reported(number, pytestconfig, "dynamics.multi_head_attention", ViTAttention, **adapter)
    if implementation == "sdpa":
        assert_right(report)
    else:  # its softmax is computed in float32, whatever the dtype of the tokens
        assert report.causes == ["it computes in float32"]
        assert {finding.dtype for finding in report.findings if finding.status == "broken"} == {"float64"}


# -- normalisation and initialisation ----------------------------------------------------------------------------------


def test_rms_norm_is_that_of_the_paper_over_sqrt_d(pytestconfig):
    assert_right(reported(2, pytestconfig, "dynamics.rms_norm", torch.nn.RMSNorm, adapter=rms_norm))
    as_it_is = causes_of_values(
        "dynamics.rms_norm",
        torch.nn.functional.rms_norm,
        adapter=lambda norm: lambda Y, g: norm(Y, Y.shape[1:], g, 0.0),
    )
    assert as_it_is == ["rows have unit mean square, not unit norm: sqrt(D) times longer than in this paper"]


def test_the_constant_under_the_root_of_rms_norm_is_found():
    found = causes_of_values("dynamics.rms_norm", torch.nn.RMSNorm, adapter=lambda m: rms_norm(m, eps=None))
    assert found == ["a constant eps = 2^-52, torch's default in float64, is added under the root"]


def test_orthogonal_initialisation_is_uniform(pytestconfig):
    options = {"adapter": orthogonal_initialiser, "named": ("osa.alg-1",)}
    report = reported(0, pytestconfig, "osa.stiefel_uniform", torch.nn.init.orthogonal_, **options)
    report.raise_if_broken()
    assert "osa.alg-1" in report.satisfied


def test_a_biased_orthogonal_sampler_is_caught():
    def without_signs(matrix: Any, generator: Any = None) -> None:
        Z = torch.randn(matrix.shape, dtype=matrix.dtype, generator=generator)
        matrix.copy_(torch.linalg.qr(Z).Q)

    report = verify.check("osa.stiefel_uniform", without_signs, adapter=orthogonal_initialiser, claims="osa.alg-1")
    assert report.broken == ["osa.alg-1", "law"] and any("no sign correction" in cause for cause in report.causes)
    assert "first entry positive" in str(report)


def with_signs(Z: Any) -> Any:
    Q, R = torch.linalg.qr(Z)
    return Q * R.diagonal(dim1=1, dim2=2).sign()[:, None]


def normal(samples: int, n: int, m: int, generator: Any) -> Any:
    return torch.randn(samples, n, m, generator=generator, dtype=torch.float64)


def uniform_source(n: int, m: int, generator: Any, samples: int, dtype: Any) -> Any:
    return with_signs(torch.rand(samples, n, m, generator=generator, dtype=torch.float64) - 0.5)


def a_row_of_larger_variance(n: int, m: int, generator: Any, samples: int, dtype: Any) -> Any:
    Z = normal(samples, n, m, generator)
    Z[:, n // 2] *= 1.5
    return with_signs(Z)


def pairs_of_equal_columns(n: int, m: int, generator: Any, samples: int, dtype: Any) -> Any:
    Q = with_signs(normal(samples, n, m, generator))
    if m >= 6:
        Q[:, :, 1::2] = Q[:, :, 0::2][:, :, : m // 2]
    return Q


def pairs_of_equal_samples(n: int, m: int, generator: Any, samples: int, dtype: Any) -> Any:
    return with_signs(normal((samples + 1) // 2, n, m, generator)).repeat_interleave(2, 0)[:samples]


def right_up_to_four(n: int, m: int, generator: Any, samples: int, dtype: Any) -> Any:
    Z = normal(samples, n, m, generator)
    return with_signs(Z) if n <= 4 else torch.linalg.qr(Z).Q


def polar_factor(n: int, m: int, generator: Any, samples: int, dtype: Any) -> Any:
    """A right one: the polar factor of Z, by another algorithm than Algorithm 1."""
    U, _, V = torch.linalg.svd(normal(samples, n, m, generator), full_matrices=False)
    return U @ V


SEEDS = (0, 1, 7)


@pytest.mark.parametrize(
    ("number", "sampler", "right"),
    [
        (0, uniform_source, False), (1, a_row_of_larger_variance, False), (2, pairs_of_equal_columns, False),
        (3, pairs_of_equal_samples, False), (4, right_up_to_four, False), (5, polar_factor, True),
    ],
)  # fmt: skip
def test_samplers_are_compared_at_larger_sizes(number, sampler, right, pytestconfig):
    made = gate("osa.stiefel_uniform", sampler, claims="osa.alg-1")
    for seed in whole_or_part(pytestconfig, SEEDS, (SEEDS[number % len(SEEDS)],)):
        made.settings = dataclasses.replace(made.settings, seed=seed)
        finding = made.run("law", "float64")
        assert finding.status == (SATISFIED if right else BROKEN), finding.why


# -- the matrix exponential --------------------------------------------------------------------------------------------


def test_exponential_of_scipy_loses_digits():
    linalg = pytest.importorskip("scipy.linalg", reason="scipy is not installed (extra 'dev')")
    report = verify.check(
        "osa.matrix_exponential", linalg.expm, adapter=from_numpy, claims="osa.so-n", dtypes=["float64"]
    )
    # SciPy 1.17 has e^3 wrong by 6e-14; a version that has not is right
    error = abs(linalg.expm([[3.0, 0.0], [1.0, 0.0]])[0, 0] / math.exp(3) - 1)
    assert ("definition" in report.broken) == (error > 1e-14)


def test_softmax_of_scipy():
    special = pytest.importorskip("scipy.special", reason="scipy is not installed (extra 'dev')")
    report = verify.check(
        "hessian.softmax", lambda T: special.softmax(T, axis=-1), adapter=from_numpy, claims="hessian.lem-B.1"
    )
    report.raise_if_broken()
    assert report.satisfied == []  # the claim is about a derivative


def test_exponential_of_torch_for_a_batch_and_for_a_single_matrix(pytestconfig):
    def of_a_batch(S: Any) -> Any:
        return torch.linalg.matrix_exp(S.expand(2, *S.shape))[0]

    reported(0, pytestconfig, "osa.matrix_exponential", of_a_batch, claims="osa.thm-c.1").raise_if_broken()
    single = verify.check("osa.matrix_exponential", torch.linalg.matrix_exp, claims="osa.so-n", dtypes=["float64"])
    gap = single.findings[0].residual
    # torch 2.13 cuts the series of a single matrix of small norm short; a version that does not is right
    assert single.ok if gap < 4 else "definition" in single.broken


# -- curvature ---------------------------------------------------------------------------------------------------------


def curvlinops() -> Any:
    return pytest.importorskip("curvlinops", reason="curvlinops is not installed (extra 'curvature')")


def test_hessian_and_gauss_newton_operators_of_curvlinops(pytestconfig):
    library = curvlinops()
    for number, (subject, operator, claims) in enumerate((
        ("hessian.loss_hessian", library.HessianLinearOperator, ["hessian.loss-hessian-qk"]),
        ("hessian.outer_product_hessian", library.GGNLinearOperator, ["hessian.thm-3.1-qk", "hessian.thm-3.1-vv"]),
    )):  # fmt: skip
        options = {"adapter": curvature_operator, "dtypes": ["float64"], "named": claims}
        report = reported(number, pytestconfig, subject, operator, **options)
        assert_right(report)
        assert set(claims) <= set(report.satisfied)


def test_a_hessian_without_its_functional_part_is_caught(pytestconfig):
    options = {"adapter": curvature_operator, "dtypes": ["float64"], "named": ("hessian.loss-hessian-qk",)}
    report = reported(0, pytestconfig, "hessian.loss_hessian", curvlinops().GGNLinearOperator, **options)
    assert report.causes == ["the functional part is missing: it is the Gauss-Newton (outer-product) Hessian"]
    assert "hessian.loss-hessian-qk" in report.broken


# -- adapters ----------------------------------------------------------------------------------------------------------


def test_unknown_backends_are_refused():
    with pytest.raises(InputError, match="backend: expected one of"):
        sdpa("fast")


# -- the documentation -------------------------------------------------------------------------------------------------

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = "".join(
    (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("your-implementation", "fully-masked-rows")
)
BLOCKS = re.findall(r"```python\n(.*?)```", PAGES, flags=re.DOTALL)


class Words(str):
    """The code of an example, in which checks are named as texts."""

    def __contains__(self, check: object) -> bool:
        return f'"{check}"' in str(self)


@pytest.mark.long("at effort deep one tries every theorem about an attention layer")
@pytest.mark.parametrize(
    ("number", "code"), list(enumerate(BLOCKS)), ids=[str(number) for number in range(len(BLOCKS))]
)
def test_every_documented_example_runs(number, code, pytestconfig):
    """What an example names is checked, and of other comparisons and theorems a part; at effort deep as it is printed."""
    for library in ("scipy", "curvlinops", "transformers"):
        if f"import {library}" in code or f"from {library}" in code:
            pytest.importorskip(library, reason=f"{library} is not installed", exc_type=ImportError)
    try:
        with in_part(number, pytestconfig, Words(code)):
            exec(code, {"__name__": "example"})
    except RuntimeError as problem:  # a torchvision of another build than torch
        if "torchvision" not in str(problem):
            raise
        pytest.skip(f"transformers cannot be imported here: {problem}")
