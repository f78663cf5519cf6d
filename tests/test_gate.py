"""The gate: a right implementation passes, each broken one fails with its cause, and nothing undecided passes."""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import verify
from tests.efforts import is_deep, whole_or_part
from theorems.adapters import attention_kernel, multihead_attention
from verify.checks.units import unit_at
from verify.gate import measure
from verify.gate.adapters import batched, call_module, from_jax, from_numpy, stacked, unstacked
from verify.gate.arguments import named
from verify.gate.batch_places import place, places
from verify.gate.checking import gate
from verify.gate.choice import Choice
from verify.gate.findings import BROKEN, SATISFIED, UNCHECKABLE, UNDECIDED
from verify.gate.profiles import Profile, profile_of
from verify.gate.reach import claims_by_subject
from verify.gate.rounding import RandomRounding, reference
from verify.gate.standing import Standing
from verify.vocabulary import Claim, Equal, InputError, Paper, RegistryError, definition_of
from verify.vocabulary.subjects import subjects as signatures

pytestmark = pytest.mark.kept

LEMMAS = "hessian.*jac*"
sdpa = torch.nn.functional.scaled_dot_product_attention


def right(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return torch.softmax(X @ W_Q @ W_K.T @ X.T / math.sqrt(W_Q.shape[1]), -1) @ X @ W_V


def in_float32(*matrices: Any) -> Any:
    return right(*(matrix.float() for matrix in matrices)).to(matrices[0].dtype)


def with_tensor_changed(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    result = right(X, W_Q, W_K, W_V)
    W_V += 1
    return result


def raising(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    raise KeyError("no such head")


WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    "scale missing": (
        lambda X, W_Q, W_K, W_V: torch.softmax(X @ W_Q @ (X @ W_K).T, -1) @ X @ W_V,
        "the scale 1/sqrt(d_K) is missing",
    ),
    "scale of the values": (
        lambda X, W_Q, W_K, W_V: torch.softmax(X @ W_Q @ (X @ W_K).T / W_V.shape[1] ** 0.5, -1) @ X @ W_V,
        "the logits are divided by sqrt(d_V), of the width of the tokens X, not by sqrt(d_K)",
    ),
    "value transposed": (lambda X, W_Q, W_K, W_V: right(X, W_Q, W_K, W_V.T), "W_V is transposed"),
    "wrong axis": (
        lambda X, W_Q, W_K, W_V: torch.softmax(X @ W_Q @ (X @ W_K).T / W_Q.shape[1] ** 0.5, 0) @ X @ W_V,
        "softmax over the wrong axis: columns sum to 1, not rows",
    ),
    "causal": (lambda X, W_Q, W_K, W_V: sdpa(X @ W_Q, X @ W_K, X @ W_V, is_causal=True), "a causal mask is applied"),
    "exchanged": (lambda X, W_Q, W_K, W_V: right(X, W_K, W_Q, W_V), "W_Q and W_K are exchanged"),
    "factor": (lambda X, W_Q, W_K, W_V: 2 * right(X, W_Q, W_K, W_V), "the result has a constant factor 2"),
    "sign": (lambda X, W_Q, W_K, W_V: -right(X, W_Q, W_K, W_V), "the result has the opposite sign"),
    "size": (lambda X, W_Q, W_K, W_V: right(X, W_Q, W_K, W_V) / len(X), "the result has a factor L^-1"),
    "precision": (in_float32, "it computes in float32"),
}


@pytest.fixture(scope="module")
def report_of_right() -> verify.SubjectReport:
    return verify.check("hessian.attention", right)


def test_a_right_implementation_satisfies_every_theorem_about_attention(report_of_right):
    assert report_of_right.ok and not report_of_right.causes
    assert set(report_of_right.satisfied) == set(verify.subjects()["hessian.attention"].claims)
    assert all(finding.residual <= 1 for finding in report_of_right.findings)


def test_accuracy_is_given_in_ulps_for_each_dtype(report_of_right):
    assert set(report_of_right.accuracy) == {"float64", "float32"}
    assert all(0 < ulps < 8 for ulps in report_of_right.accuracy.values())
    assert "ulps of the largest entry" in str(report_of_right)
    report_of_right.raise_if_broken()


@pytest.mark.parametrize("name", WRONG)
def test_each_wrong_implementation_is_caught_and_its_cause_named(name):
    function, cause = WRONG[name]
    report = verify.check("hessian.attention", function, claims=LEMMAS, dtypes=["float64"])
    assert not report.ok and "definition" in report.broken
    assert report.causes == [cause]
    first = report.findings[0]
    assert first.inputs and first.yours != first.expected
    with pytest.raises(verify.SubjectFailure, match="likely cause"):
        report.raise_if_broken()


def test_theorems_catch_a_derivative_that_is_cut_although_values_are_right():
    def detached(X, W_Q, W_K, W_V):
        return sdpa(X @ W_Q, (X @ W_K).detach(), X @ W_V)

    report = verify.check("hessian.attention", detached, claims=LEMMAS, dtypes=["float64"])
    assert report.findings[0].status == SATISFIED and "hessian.jacobian-key" in report.broken
    assert "first-derivatives" in report.broken
    assert any("derivative by W_K is cut" in cause for cause in report.causes)


def test_what_cannot_be_differentiated_is_not_checkable_and_never_satisfied():
    import numpy as np

    def softmax(T):
        weights = np.exp(T - T.max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True)

    report = verify.check("hessian.softmax", softmax, adapter=from_numpy, claims="hessian.lem-C*")
    of_values = ("definition", "sizes", "long-sequences", "forward-derivatives")
    claims = [finding for finding in report.findings if finding.check not in of_values]
    assert claims and {finding.status for finding in claims} == {UNCHECKABLE}
    assert all(finding.why.startswith("not differentiable") for finding in claims)
    assert report.outcome == UNDECIDED and not report.ok and report.satisfied == []
    assert report.verdict.startswith("UNDECIDED: ") and "first-derivatives" in report.undecided
    report.raise_if_broken()
    strict = verify.check("hessian.softmax", softmax, adapter=from_numpy, claims="hessian.lem-C.1-entry", dtypes=["float64"],
                          require="derivatives")  # fmt: skip
    assert not strict.ok and strict.verdict.startswith("NOT decided, though required")


class OldSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, T):
        A = torch.softmax(T, -1)
        ctx.save_for_backward(A)
        return A

    @staticmethod
    def backward(ctx, g):
        (A,) = ctx.saved_tensors
        return A * (g - (g * A).sum(-1, keepdim=True))


class WithoutSums(OldSoftmax):
    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0] * g


def test_theorems_are_decided_for_functions_that_torch_func_refuses():
    with pytest.raises(RuntimeError, match="functorch"):
        torch.func.jacrev(OldSoftmax.apply)(torch.ones(2, 2))
    report = verify.check(
        "hessian.softmax", OldSoftmax.apply, claims=["hessian.lem-C*", "hessian.lem-B.1"], dtypes=["float64"]
    )
    assert report.verdict == "ok" and {"hessian.lem-C.1-entry", "hessian.lem-B.1"} <= set(report.satisfied)
    wrong = verify.check("hessian.softmax", WithoutSums.apply, claims="hessian.lem-B.1", dtypes=["float64"])
    assert wrong.broken[0] == "first-derivatives"


def test_statistical_claims_about_random_inputs_are_made_when_named():
    names = [check for check, _ in gate("skipless.self_attention", lambda *given: given[0]).checks]
    assert "skipless.prop-2-gaussian" not in names and len(names) > 10
    named = gate("skipless.self_attention", lambda *given: given[0], claims="skipless.prop-2-g*")
    assert "skipless.prop-2-gaussian" in [check for check, _ in named.checks]


def test_unknown_causes_stay_unknown():
    def odd(X, W_Q, W_K, W_V):
        return right(X, W_Q, W_K, W_V) + X.sum() * 0.1

    report = verify.check("hessian.attention", odd, claims=LEMMAS, dtypes=["float64"])
    assert not report.ok and report.causes == []


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (raising, "it raised KeyError: 'no such head'"),
        (with_tensor_changed, "W_V: expected an argument left as it was"),
        (lambda X, W_Q, W_K, W_V: right(X, W_Q, W_K, W_V)[None], "result: expected shape ("),
        (lambda X, W_Q, W_K, W_V: 0.0, "result: expected a torch tensor; got float"),
        (lambda X, W_Q, W_K, W_V: right(X, W_Q, W_K, W_V).half(), "result: expected the dtype of the arguments"),
        (lambda X: X, "it raised TypeError"),
    ],
)
def test_results_that_no_claim_can_use_end_the_report_with_their_reason(function, message):
    report = verify.check("hessian.attention", function, dtypes=["float64"])
    assert [finding.status for finding in report.findings] == [BROKEN]
    assert message in report.findings[0].why


def test_not_a_number_is_broken():
    report = verify.check("hessian.softmax", lambda T: T / 0, claims="hessian.lem-C.1-entry", dtypes=["float64"])
    assert report.findings[0].status == BROKEN and report.findings[0].residual == math.inf


def test_balls_and_rationals_still_speak_of_the_definition():
    from verify.arithmetics import to_balls

    T = to_balls([[0.0, 1.0]])
    standing = Standing("hessian.softmax", raising)
    assert float(standing(T)[0, 0].mid()) == pytest.approx(1 / (1 + math.e)) and standing.calls == 0


# -- every subject -----------------------------------------------------------------------------------------------------


def test_every_subject_is_listed_with_what_a_replacement_needs():
    cards = verify.subjects()
    assert set(cards) == {name for name in signatures() if not name.startswith("subjects-test.")}
    card = cards["hessian.attention"]
    assert card.signature == "(X, W_Q, W_K, W_V)" and card.shapes["W_Q"] == "(d_V, d_K)"
    assert "rows of X" in card.layout and card.dtypes == ("float64", "float32")
    assert "hessian.thm-3.2-qk" in card.claims and "hessian.thm-3.2-qk" in str(card)


def test_only_claims_that_hold_are_gates():
    for claims in claims_by_subject("theorems").values():
        assert {claim.expects for claim in claims} <= {"holds", "reading"}


DRAWN = [name for name in verify.subjects() if name != "osa.stiefel_uniform"]


@pytest.mark.parametrize(("number", "name"), list(enumerate(DRAWN)))
def test_every_definition_can_be_drawn_and_passes_for_itself(
    number: int, name: str, pytestconfig: pytest.Config
) -> None:
    """In one precision, subjects in turns; at effort deep in both."""
    made = gate(name, definition_of(name))
    dtypes = ["float64", "float32"]
    for dtype in whole_or_part(pytestconfig, dtypes, [dtypes[number % 2]]):
        finding = made.run("definition", dtype)
        assert finding.status == SATISFIED and finding.residual <= 1 and finding.ulps is not None


NAMED = [(name, variant.name) for name in verify.subjects() for variant in profile_of(name).variants]


@pytest.mark.parametrize(("name", "variant"), NAMED)
def test_named_variants_are_caught_and_recognised(name: str, variant: str, pytestconfig: pytest.Config) -> None:
    """Most at the inputs as they are drawn: to make them small takes most of the time, and effort deep always does."""
    function = next(item.function for item in profile_of(name).variants if item.name == variant)
    for shrinking in (True,) if is_deep(pytestconfig) else (False, True):
        made = gate(name, function, dtypes=["float64"])
        finding = made.run("definition", "float64", shrinking=shrinking)
        assert finding.status == BROKEN
        if variant in (causes := made.causes_of(finding)):
            break
    assert variant in causes


def test_a_second_profile_of_a_subject_is_refused():
    with pytest.raises(RegistryError, match=r"two profiles of subject 'hessian\.attention'"):
        Profile("hessian.attention")


# -- adapters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["BHNd", "BNHd", "BNd", "HNd", "Nd"])
@pytest.mark.parametrize("subject", ["hessian.attention", "skipless.self_attention", "dynamics.attention_head"])
def test_kernels_are_adapted_in_every_layout_and_scale(subject, layout):
    def kernel(q, k, v):
        if layout == "BNHd":
            q, k, v = (value.transpose(1, 2) for value in (q, k, v))
        result = sdpa(q, k, v)
        return result.transpose(1, 2) if layout == "BNHd" else result

    made = gate(subject, kernel, adapter=attention_kernel(subject, layout), dtypes=["float64"])
    assert made.run("definition", "float64").status == SATISFIED


def test_scales_that_a_kernel_leaves_to_its_caller():
    def unscaled(q, k, v):
        return torch.softmax(q @ k.mT, -1) @ v

    for kernel, scale in ((unscaled, "none"), (sdpa, "argument")):
        adapter = attention_kernel("hessian.attention", scale=scale)
        function = kernel if scale == "none" else lambda q, k, v, scale: sdpa(q, k, v, scale=scale)
        made = gate("hessian.attention", function, adapter=adapter, dtypes=["float64"])
        assert made.run("definition", "float64").status == SATISFIED


def test_what_leaks_between_the_entries_of_a_batch_is_seen():
    def leaking(q, k, v):
        return sdpa(q.flip(0), k, v)

    made = gate("hessian.attention", leaking, adapter=attention_kernel(), dtypes=["float64"])
    assert made.run("definition", "float64").status == BROKEN


def wrong_in_one_head(q, k, v):
    scale = torch.full((1, q.shape[1], 1, 1), q.shape[-1] ** -0.5, dtype=q.dtype)
    scale[:, 0] = 1.0
    return torch.softmax(q @ k.mT * scale, -1) @ v


@pytest.mark.parametrize(
    "kernel",
    [
        lambda q, k, v: sdpa(q, k[-1:].expand_as(k), v),
        lambda q, k, v: torch.cat([torch.zeros_like(v[:-1]), sdpa(q, k, v)[-1:]]),
        wrong_in_one_head,
        lambda q, k, v: sdpa(q, k, v).transpose(0, 1).reshape(q.shape),
        lambda q, k, v: sdpa(q, k, v).transpose(0, 1),
        lambda q, k, v: sdpa(q, k[:, :1].expand_as(k), v),
        lambda q, k, v: torch.cat([sdpa(q, k, v)[:, :2], v[:, 2:]], 1),
    ],
    ids=["last keys", "last entry alone", "first head", "reshaped", "exchanged axes", "first keys", "two heads"],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_entry_of_a_batch_and_every_head_is_compared(kernel, dtype):
    made = gate("hessian.attention", kernel, adapter=attention_kernel(), dtypes=[dtype])
    assert made.run("definition", dtype).status == BROKEN


def test_a_kernel_is_called_with_unequal_numbers_of_batch_entries_and_heads():
    seen = set()

    def kernel(q, k, v):
        seen.add(q.shape[:2])
        return sdpa(q, k, v)

    made = gate("hessian.attention", kernel, adapter=attention_kernel(), dtypes=["float64"])
    assert made.run("definition", "float64").status == SATISFIED
    assert {tuple(shape) for shape in seen} == {(2, 3), (3, 1), (1, 2), (1, 1)}


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_each_place_of_a_batch_is_met_once_in_a_round(axes):
    every = places(axes)
    assert len(set(every)) == len(every)
    for lengths, _ in every:
        count = sum(known == lengths for known, _ in every)
        assert count == math.prod(lengths)
    for number in range(len(every)):
        with place(number):
            matrix = torch.tensor([[1.0, 2.0]])
            stack = stacked(matrix, axes)
            assert stack.shape[:-2] == every[number][0] and torch.equal(unstacked(stack, axes), matrix)


def padded_with(depth: float) -> Callable[..., Any]:
    """Attention to keys padded to a multiple of eight, the padding masked with -depth instead of -inf."""

    def padded(X, W_Q, W_K, W_V):
        more = -len(X) % 8
        keys = torch.nn.functional.pad(X, (0, 0, 0, more))
        logits = X @ W_Q @ (keys @ W_K).T / math.sqrt(W_Q.shape[1])
        logits[:, len(X) :] = -depth
        return torch.softmax(logits, -1) @ keys @ W_V

    return padded


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", [0, 1, 7])
def test_what_is_measured_decides(seed, dtype):
    for depth, status in ((1e3, BROKEN), (math.inf, SATISFIED)):
        made = gate("hessian.attention", padded_with(depth), dtypes=[dtype])
        made.settings = dataclasses.replace(made.settings, seed=seed)
        finding = made.run("definition", dtype)
        assert finding.status == status
        assert finding.ulps is None or finding.ulps < 64


def test_functions_of_batches():
    made = gate("hessian.softmax", lambda T: torch.softmax(T, -1), adapter=batched(2), dtypes=["float64"])
    assert made.run("definition", "float64").status == SATISFIED
    made = gate("hessian.softmax", lambda T: torch.softmax(T, 1), adapter=batched(2), dtypes=["float64"])
    assert made.run("definition", "float64").status == BROKEN


def test_modules_are_called_with_every_parameter_given():
    layer = torch.nn.Linear(2, 3)
    with pytest.raises(InputError, match=r"parameters: expected exactly \['bias', 'weight'\]; got missing \['bias'\]"):
        call_module(layer, {"weight": torch.zeros(3, 2)}, torch.zeros(1, 2))
    with pytest.raises(InputError, match=r"weight: expected shape \(3, 2\)"):
        call_module(layer, {"weight": torch.zeros(2, 3), "bias": torch.zeros(3)}, torch.zeros(1, 2))


def few_shapes(config: pytest.Config) -> dict[str, Any]:
    """Sizes for functions of JAX, which compiles them anew at every shape; all of them at effort deep."""
    return {} if is_deep(config) else {"sizes": {"m": 2, "n": 3}}


def test_functions_of_jax_arrays_are_computed_in_float64_without_being_told(pytestconfig):
    jax = pytest.importorskip("jax", reason="JAX is not installed: from_jax cannot be tried")
    options = {"adapter": from_jax, "dtypes": ["float64"], **few_shapes(pytestconfig)}
    made = gate("hessian.softmax", lambda T: jax.nn.softmax(T, -1), **options)
    assert made.run("definition", "float64").status == SATISFIED


def softmax_of_jax(T: Any, temperature: float) -> Any:
    import jax

    return jax.nn.softmax(T / temperature, -1)


@pytest.mark.parametrize("form", ["partial", "adapter", "mapping"])
def test_functions_of_jax_arrays_take_options(form, pytestconfig):
    pytest.importorskip("jax", reason="JAX is not installed: from_jax cannot be tried")

    def adapter(temperature: float) -> Any:
        if form == "partial":
            return functools.partial(from_jax, temperature=temperature)
        return (
            from_jax(temperature=temperature)
            if form == "adapter"
            else {"call": "verify.gate.adapters:from_jax", "temperature": temperature}
        )

    options = {"dtypes": ["float32"], **few_shapes(pytestconfig)}
    right = gate("hessian.softmax", softmax_of_jax, adapter=adapter(1.0), **options)
    assert right.run("definition", "float32").status == SATISFIED
    wrong = gate("hessian.softmax", softmax_of_jax, adapter=adapter(0.5), **options)
    assert wrong.run("definition", "float32").status == BROKEN


@pytest.mark.parametrize("cut", [False, True], ids=["right", "keys cut"])
def test_derivatives_of_functions_of_jax_arrays_with_a_mask(cut, pytestconfig):
    jax = pytest.importorskip("jax", reason="JAX is not installed: from_jax cannot be tried")

    def attention(Q: Any, K: Any, V: Any, M: Any) -> Any:
        keys = jax.lax.stop_gradient(K) if cut else K
        return jax.nn.softmax(jax.numpy.where(M, Q @ keys.T / Q.shape[1] ** 0.5, -jax.numpy.inf), -1) @ V

    options = few_shapes(pytestconfig)
    if options:
        options["sizes"] |= {"d_K": 2, "d_V": 2}
    made = gate("transformer.masked_attention", attention, adapter=from_jax, dtypes=["float64"], **options)
    assert made.run("first-derivatives", "float64").status == (BROKEN if cut else SATISFIED)


def test_a_torchvision_that_cannot_be_imported_counts_as_absent(tmp_path, monkeypatch):
    for library, line in {
        "torchvision": "raise RuntimeError('operator torchvision::nms does not exist')",
        "transformers": "from importlib.util import find_spec\nif find_spec('torchvision'): import torchvision\nvit = abs",
    }.items():
        (tmp_path / library).mkdir()
        (tmp_path / library / "__init__.py").write_text(line)
        for module in [name for name in sys.modules if name.partition(".")[0] == library]:
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        assert named("transformers:vit") is abs
    finally:
        for library in ("torchvision", "transformers"):
            sys.modules.pop(library, None)


def test_without_jax_its_adapter_says_so(monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="adapter: expected an environment with JAX"):
        from_jax(lambda T: T)


# -- where rounding leaves no digit ------------------------------------------------------------------------------------


def test_derivatives_that_are_no_numbers_at_large_tokens_are_found():
    class NoNumbers(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, X: Any) -> Any:
            ctx.large = bool(X.abs().max() > 4e3)
            return X.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * math.nan if ctx.large else gradient

    def attention(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        return definition_of("hessian.attention")(NoNumbers.apply(X), W_Q, W_K, W_V)

    made = gate("hessian.attention", attention, dtypes=["float32"])
    finding = made.run("sizes", "float32")
    assert finding.status == BROKEN and finding.why == "d/dX is wrong" and finding.at.startswith("tokens about 1e4")


def test_only_exponents_whose_roundings_overflow_excuse_derivatives_that_are_no_numbers():
    def softmax(arguments: Any) -> Any:
        return {"the value": torch.softmax(arguments["T"], -1)}

    for factor, excused in ((2.0**24, False), (2.0**28, True)):
        truth = reference(softmax, {"T": factor * torch.tensor([[1.0, 0.5]], dtype=torch.float64)})
        assert truth is not None and truth.may_overflow(torch.float32) is excused
        assert not truth.may_overflow(torch.float64)


def test_values_that_are_no_numbers_are_excused_by_exponentials_of_matrices_alone():
    def of_matrix(arguments: Any) -> Any:
        return {"the value": arguments["S"].matrix_exp()}

    def softmax(arguments: Any) -> Any:
        return {"the value": torch.softmax(arguments["S"], -1)}

    turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    for function, factor, excused in (
        (of_matrix, 2.0**24, False),
        (of_matrix, 2.0**28, True),
        (softmax, 2.0**28, False),
    ):
        truth = reference(function, {"S": factor * turn})
        assert truth is not None and truth.may_overflow(torch.float32, value=True) is excused
        assert not truth.may_overflow(torch.float64, value=True)


# -- sizes that an implementation admits -------------------------------------------------------------------------------


def square_weights(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    """Attention of a kernel that takes only weights with d_K = d_V."""
    if W_Q.shape != W_V.shape:
        raise ValueError("d_K has to be d_V")
    return sdpa(X @ W_Q, X @ W_K, X @ W_V)


def eights(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    """Attention of a kernel for d_K = 8, 16, ..., 64."""
    if W_Q.shape[1] % 8 or W_Q.shape[1] > 64:
        raise ValueError("d_K has to be a multiple of 8 up to 64")
    return sdpa(X @ W_Q, X @ W_K, X @ W_V)


def wrong_at_64(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return eights(X, W_Q, W_K, W_V) * (1 + 1e-3 * (W_Q.shape[1] == 64))


def d_k_is_d_v(sizes: Any) -> bool:
    return sizes["d_K"] == sizes["d_V"]


def test_kernels_are_checked_at_the_sizes_that_they_admit():
    options = {"dtypes": ["float64"], "claims": "hessian.jacobian-*"}
    assert "definition" in verify.check("hessian.attention", square_weights, **options).broken
    report = verify.check("hessian.attention", square_weights, where=f"{__name__}:d_k_is_d_v", **options)
    report.raise_if_broken()
    assert report.satisfied and "sizes" not in report.undecided
    eight = {"sizes": {"d_K": (8, 64), "L": [1, 40]}, "where": lambda sizes: sizes["d_K"] % 8 == 0}
    report = verify.check("hessian.attention", eights, **eight, **options)
    report.raise_if_broken()
    assert report.satisfied
    assert verify.check("hessian.attention", wrong_at_64, **eight, **options).broken == ["sizes"]


def test_claims_that_have_none_of_the_chosen_sizes_are_undecided():
    other = Claim(
        Paper("toy", "Toy", "", "row-major"), "toy.a", label="a", statement="", relation=Equal(), sizes={"m": (1, 2)}
    )
    assert Choice.of(None, d_k_is_d_v).narrowed(other) is None
    assert Choice.of({"m": 5}, None).narrowed(other).sizes == {"m": (5, 5)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sizes": 8}, "sizes: expected sizes by name"),
        ({"sizes": {"d_K": (4, 2)}}, r"sizes\['d_K'\]: expected sizes by name"),
        ({"sizes": {"d_K": 2.5}}, r"sizes\['d_K'\]: expected"),
        ({"sizes": {"d_k": 8}}, "sizes: expected names among .*'d_K'.*; got 'd_k'"),
        ({"where": lambda sizes: False}, "sizes or where: expected some admissible sizes"),
        ({"where": lambda sizes: sizes["d_k"] == 2}, "sizes or where: expected some admissible sizes, by the names"),
        ({"where": lambda sizes: sizes.d_K}, "where: expected a condition on the sizes"),
        ({"where": "d_K == d_V"}, "where: expected a callable, or text"),
    ],
)
def test_wrong_choices_of_sizes_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        verify.check("hessian.attention", square_weights, **arguments)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"subject": "hessian.atention"}, "subject: expected one of"),
        ({"implementation": "math"}, "implementation: expected a callable, or text"),
        ({"implementation": "math:nothing"}, "implementation: expected a callable, or text"),
        ({"implementation": "math:pi"}, "got 'math:pi', a float"),
        ({"adapter": lambda function: None}, "adapter: expected a function that returns a callable"),
        ({"claims": ["hessian.*", "osa.*"]}, "claims: expected a glob that matches one of"),
        ({"claims": 3}, "claims: expected text, or a list of texts"),
        ({"require": "no-such"}, "require: expected derivatives, or a glob that matches one of"),
        ({"claims": "osa.*"}, "claims: expected a glob that matches one of"),
        ({"effort": "heroic"}, "effort: expected one of"),
        ({"dtypes": ["float8"]}, "dtypes: expected float64, float32, float16 or bfloat16"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    given: dict[str, Any] = {"subject": "hessian.attention", "implementation": right, **arguments}
    with pytest.raises(InputError, match=message):
        verify.check(given.pop("subject"), given.pop("implementation"), **given)


def test_wrong_options_of_adapters_are_named():
    for options, argument in (({"subject": "x"}, "subject"), ({"layout": "NBHd"}, "layout"), ({"scale": "2"}, "scale")):
        with pytest.raises(InputError, match=f"{argument}: expected one of"):
            attention_kernel(**options)
    with pytest.raises(InputError, match="axes: expected an integer >= 1"):
        batched(0)
    assert callable(multihead_attention(torch.nn.MultiheadAttention))


# -- what is measured --------------------------------------------------------------------------------------------------


def test_balls_measure_a_theorem_once_where_sides_agree_and_everywhere_where_they_do_not(monkeypatch):
    seen: list[str] = []
    monkeypatch.setattr(measure, "unit_at", lambda claim, *given: seen.append(claim.id) or unit_at(claim, *given))
    made = gate("hessian.attention", right, claims="hessian.jacobian-key")
    finding = made.run("hessian.jacobian-key", "float64")
    assert finding.status == SATISFIED and finding.examples == 4 and len(seen) == 1
    assert finding.residual is not None and 0 < finding.residual < 1
    seen.clear()

    def off(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        return right(X, W_Q * (1 + 1e-10), W_K, W_V)

    assert gate("hessian.attention", off).run("hessian.jacobian-key", "float64").status == BROKEN
    assert len(seen) >= 1


def test_the_definition_is_put_under_random_rounding_only_where_an_implementation_is_off(monkeypatch):
    runs: list[float] = []
    begun = RandomRounding.__init__
    monkeypatch.setattr(
        RandomRounding,
        "__init__",
        lambda self, grain, seed, **given: runs.append(grain) or begun(self, grain, seed, **given),
    )
    assert gate("hessian.attention", right).run("first-derivatives", "float64").status == SATISFIED
    assert runs == []  # within one rounding everywhere: nothing has to be measured
    slightly = gate("hessian.attention", lambda X, *W: right(X * (1 + 2e-15), *W)).run("first-derivatives", "float64")
    assert slightly.status == SATISFIED and len(runs) == 3  # at the point where it differs most
    finding = gate("hessian.attention", lambda X, *W: right(X * (1 + 4e-13), *W)).run("first-derivatives", "float64")
    assert finding.status == BROKEN and len(runs) > 3
