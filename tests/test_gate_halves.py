"""Implementations in bfloat16 and float16: right kernels pass, a wrong scale and sums in half precision do not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import verify
from tests.efforts import is_deep, whole_or_part
from tests.wrong_layers.encodings import between
from tests.wrong_layers.kernels import band, positions, same_sequence, slopes
from tests.wrong_layers.summed import summed
from verify.checks.units import unit_at
from verify.gate.bias import biases
from verify.gate.checking import gate
from verify.gate.findings import BROKEN, SATISFIED
from verify.gate.probes import summing_points
from verify.gate.profiles import profile_of
from verify.vocabulary.shapes import Shape
from verify.vocabulary.subjects import replaced

pytestmark = pytest.mark.kept

HALVES = ["bfloat16", "float16"]


def fused(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return scaled_dot_product_attention(*((X @ W)[None, None] for W in (W_Q, W_K, W_V)))[0, 0]


def plain(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return torch.softmax((X @ W_Q / W_Q.shape[1] ** 0.5) @ (X @ W_K).mT, -1) @ (X @ W_V)


def scaled_late(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return torch.softmax(X @ W_Q @ (X @ W_K).mT / W_Q.shape[1] ** 0.5, -1) @ (X @ W_V)


def without_scale(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return torch.softmax(X @ W_Q @ (X @ W_K).mT, -1) @ (X @ W_V)


def sums_in_half(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    """Attention of which the sums of weights are accumulated key by key in the precision of X."""
    logits = X @ W_Q @ (X @ W_K).mT / W_Q.shape[1] ** 0.5
    weights = (logits - logits.amax(1, keepdim=True)).exp()
    total = torch.zeros_like(weights[:, :1])
    for key in range(weights.shape[1]):
        total = total + weights[:, key : key + 1]
    return weights @ (X @ W_V) / total


@pytest.mark.parametrize(("attention", "dtype"), [(fused, "bfloat16"), (plain, "float16")])
def test_right_kernels_pass_in_half_precision(attention: Any, dtype: str, pytestconfig: pytest.Config) -> None:
    dtypes = whole_or_part(pytestconfig, HALVES, [dtype])
    report = verify.check("hessian.attention", attention, dtypes=dtypes)
    report.raise_if_broken()
    assert report.verdict == "ok" and {finding.check for finding in report.findings} == {
        "definition", "first-derivatives", "sizes", "long-sequences", "bias",
    }  # fmt: skip
    assert max(finding.residual or 0.0 for finding in report.findings) < 0.5


@pytest.mark.parametrize(
    ("subject", "dtype"), [("transformer.masked_attention", "float16"), ("transformer.causal_attention", "bfloat16")]
)
def test_the_kernel_of_torch_passes_under_masks(subject: str, dtype: str, pytestconfig: pytest.Config) -> None:
    dtypes = whole_or_part(pytestconfig, HALVES, [dtype])
    verify.check(subject, scaled_dot_product_attention, dtypes=dtypes).raise_if_broken()


@pytest.mark.parametrize("dtype", HALVES)
def test_a_missing_scale_is_found_and_named(dtype: str) -> None:
    made = gate("hessian.attention", without_scale, dtypes=[dtype])
    for check in ("definition", "first-derivatives", "sizes", "long-sequences", "bias"):
        finding = made.run(check, dtype, shrinking=check == "definition")
        assert finding.status == BROKEN
        assert made.causes_of(finding) == ["the scale 1/sqrt(d_K) is missing"]


def test_sums_in_bfloat16_are_found_where_they_are_long() -> None:
    made = gate("hessian.attention", sums_in_half, dtypes=["bfloat16"])
    assert made.run("definition", "bfloat16").status == SATISFIED
    assert made.run("long-sequences", "bfloat16", shrinking=False).status == BROKEN


def in_turn(logits: Any) -> Any:
    """Weights of which the sums are accumulated key by key in the precision of the logits."""
    weights = (logits - logits.amax(-1, keepdim=True)).exp()
    total = torch.zeros_like(weights[..., 0])
    for column in weights.unbind(-1):
        total = total + column
    return weights / total.unsqueeze(-1)


def masked_in_turn(Q: Any, K: Any, V: Any, M: Any) -> Any:
    repeated = [x.repeat_interleave(Q.shape[1] // K.shape[1], 1) if Q.ndim > 2 else x for x in (K, V)]
    logits = Q @ repeated[0].mT / Q.shape[-1] ** 0.5
    return in_turn(logits.masked_fill(~M, -torch.inf)) @ repeated[1]


def causal_in_turn(Q: Any, K: Any, V: Any) -> Any:
    return masked_in_turn(Q, K, V, torch.ones(len(Q), len(Q), dtype=torch.bool).tril())


@pytest.mark.parametrize(
    ("number", "subject", "layer"),
    [
        (0, "masked_attention", masked_in_turn), (1, "causal_attention", causal_in_turn),
        (2, "batched_attention", masked_in_turn),
    ],
)  # fmt: skip
def test_sums_in_bfloat16_are_found_under_masks_and_in_batches(
    number: int, subject: str, layer: Any, pytestconfig: pytest.Config
) -> None:
    both = [(layer, BROKEN), (scaled_dot_product_attention, SATISFIED)]
    for kernel, status in whole_or_part(pytestconfig, both, [both[number % 2]]):
        made = gate(f"transformer.{subject}", kernel, dtypes=["bfloat16"])
        finding = made.run("long-sequences", "bfloat16", shrinking=False)
        assert finding.status == status
        assert finding.residual is not None and (finding.residual > 8 if status == BROKEN else finding.residual < 0.5)


def positioned(weights: Any) -> dict[str, Any]:
    """Layers whose generic rows add up few weights, with weights that are found from logits in this way, by subject."""

    def under(mask: Any) -> Any:
        def attention(Q: Any, K: Any, V: Any, *rest: Any) -> Any:
            return weights((Q * Q.shape[1] ** -0.5 @ K.mT).masked_fill(~mask(len(Q), *rest), -torch.inf)) @ V

        return attention

    def alibi(Q: Any, K: Any, V: Any) -> Any:
        H, n = Q.shape[1:3]
        bias = (slopes(H)[:, None, None] * (torch.arange(n)[None, :] - torch.arange(n)[:, None])).to(Q.dtype)
        T = Q * Q.shape[-1] ** -0.5 @ K.mT + bias
        return weights(T.masked_fill(~positions(n, n), -torch.inf)) @ V

    return {
        "alibi_attention": alibi,
        "window_attention": under(lambda n, w: band(n, n, w)),
        "window_both_ways": under(lambda n, a, b: between(n, n, a, b)),
        "packed_attention": under(lambda n, E: same_sequence(E) & positions(n, n)),
        "packed_both_ways": under(lambda n, E: same_sequence(E)),
    }


#: Sums of weights that are found, and those of a right kernel.
SUMS: list[tuple[Any, str]] = [(lambda T: torch.softmax(T, -1), SATISFIED), (in_turn, BROKEN)]


def sums_at(number: int, config: pytest.Config) -> list[tuple[Any, str]]:
    """What the subject of this number in a list meets: at effort deep both, otherwise right sums and wrong ones in turns."""
    return whole_or_part(config, SUMS, [SUMS[number % 2]])


def test_sums_in_bfloat16_are_found_where_only_declared_points_have_many_weights(
    declared: tuple[int, str], pytestconfig: pytest.Config
) -> None:
    number, subject = declared
    for weights, status in sums_at(number, pytestconfig):
        made = gate(f"transformer.{subject}", positioned(weights)[subject], dtypes=["bfloat16"])
        finding = made.run("long-sequences", "bfloat16", shrinking=False)
        assert finding.status == status, finding.describe()
        assert finding.residual is not None and (finding.residual > 4 if status == BROKEN else finding.residual < 0.6)
        assert status == SATISFIED or finding.at.startswith(tuple(each.title for each in made.profile.longs))


def sink_by_logarithms(precision: torch.dtype | None) -> Any:
    """Attention with sinks as attention without, times a sigmoid of its logarithm, which is found in a precision."""

    def attention(Q: Any, K: Any, V: Any, M: Any, z: Any) -> Any:
        K, V = (x.repeat_interleave(Q.shape[1] // x.shape[1], 1) for x in (K, V))
        empty = ~M.any(-1, keepdim=True)
        T = (Q * Q.shape[-1] ** -0.5 @ K.mT).masked_fill(~M, -torch.inf).masked_fill(empty, 0.0)
        kept = precision or Q.dtype
        logarithm = torch.logsumexp(T.to(kept), -1, keepdim=True)
        F = (torch.softmax(T, -1) @ V).to(kept) * torch.sigmoid(logarithm - z[None, :, None, None].to(kept))
        return F.to(Q.dtype).masked_fill(empty, 0.0)

    return attention


def test_the_gradient_of_sinks_is_lost_where_their_part_is_found_in_half_precision(pytestconfig: pytest.Config) -> None:
    both: list[tuple[torch.dtype | None, str]] = [(None, BROKEN), (torch.float32, SATISFIED)]
    for precision, status in whole_or_part(pytestconfig, both, both[:1]):
        made = gate("transformer.sink_attention", sink_by_logarithms(precision), dtypes=["bfloat16"])
        finding = made.run("long-sequences", "bfloat16", shrinking=False)
        assert finding.status == status and (status == SATISFIED or finding.why.startswith("d/dz is wrong"))
        point = next(iter(made.comparison.points.prepared("long-sequences")))  # type: ignore[union-attr]
        found = point.point.evaluate(made.standing, point.point.in_dtype(torch.bfloat16, "cpu"))["d/dz"].double()
        right = point.truth.results["d/dz"]
        part = float((found - right).abs().max() / right.abs().max())
        assert part > 0.2 if status == BROKEN else part < 0.02


def test_logits_that_overflow_before_they_are_scaled_and_masks_of_1e4_are_found_in_float16() -> None:
    def scaled_late(Q: Any, K: Any, V: Any, M: Any) -> Any:
        return torch.softmax((Q @ K.mT / Q.shape[-1] ** 0.5).masked_fill(~M, -torch.inf), -1) @ V

    def masked_with(depth: float) -> Any:
        return lambda Q, K, V, M: torch.softmax((Q * Q.shape[-1] ** -0.5 @ K.mT).masked_fill(~M, depth), -1) @ V

    for layer, status in ((scaled_late, BROKEN), (masked_with(-1e4), BROKEN), (masked_with(-torch.inf), SATISFIED)):
        made = gate("transformer.masked_attention", layer, dtypes=["float16"])
        assert made.run("definition", "float16", shrinking=False).status == status


def sums_of(weights: Any) -> dict[str, Any]:
    """Layers of several subjects, with weights that are found from logits in this way."""

    def attend(Q: Any, K: Any, V: Any) -> Any:
        n = Q.shape[-2]
        T = (Q * Q.shape[-1] ** -0.5 @ K.mT).masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -torch.inf)
        return weights(T) @ V

    def gpt(X: Any, W: Any, b: Any, W_O: Any, c: Any, H: int) -> Any:
        Q, K, V = (part.unflatten(2, (H, -1)).transpose(1, 2) for part in (X @ W + b).chunk(3, 2))
        return attend(Q, K, V).transpose(1, 2).flatten(2) @ W_O + c

    def layer(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
        Q, K, V = ((X @ W).unflatten(2, (n, -1)).transpose(1, 2) for W, n in ((W_Q, H), (W_K, G), (W_V, G)))
        K, V = (x.repeat_interleave(H // G, 1) for x in (K, V))
        T = (Q * Q.shape[-1] ** -0.5 @ K.mT).masked_fill(~M, -torch.inf)
        return (weights(T) @ V).transpose(1, 2).flatten(2) @ W_O

    def heads(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
        each = [weights(X @ Q @ (X @ K).mT) @ (X @ V) for Q, K, V in zip(W_Q, W_K, W_V, strict=True)]
        return torch.cat(each, 1) @ W_O

    def columns(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: int) -> Any:
        Q, K, V = ((X @ W).unflatten(-1, (H, -1)).transpose(0, 1) for W in (W_Q, W_K, W_V))
        return (weights((Q * beta) @ K.mT) @ V).transpose(0, 1).flatten(1) @ W_O

    return {
        "hessian.softmax": weights,
        "hessian.attention_matrix": lambda X, Q, K: weights((X @ Q * Q.shape[1] ** -0.5) @ (X @ K).mT),
        "convergence.softmax": weights,
        "skipless.multi_head_attention": heads,
        "dynamics.attention_head": lambda X, Q, K, V, beta: weights((X @ Q * beta) @ (X @ K).mT) @ (X @ V),
        "dynamics.multi_head_attention": columns,
        "transformer.masked_softmax": lambda T, M: weights(T.masked_fill(~M, -torch.inf)),
        "transformer.gpt_attention": gpt,
        "transformer.attention_layer": layer,
    }


#: By the name of an argument of a test: its subjects, with their numbers, and the numbers of those below effort deep.
SUBJECTS: dict[str, tuple[Callable[[Any], dict[str, Any]], tuple[int, ...]]] = {
    "declared": (positioned, (1, 3, 4)),
    "weighted": (sums_of, (0, 1, 2, 5)),
    "adding": (summed, (0, 2, 4, 5, 9, 10)),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """At effort deep all subjects, else some of them."""
    for name, (layers, numbers) in SUBJECTS.items():
        if name in metafunc.fixturenames:
            every = list(enumerate(layers(True)))
            some = whole_or_part(metafunc.config, every, [every[number] for number in numbers])
            metafunc.parametrize(name, some, ids=[subject for _, subject in some])


def test_sums_in_bfloat16_are_found_wherever_there_is_a_softmax(
    weighted: tuple[int, str], pytestconfig: pytest.Config
) -> None:
    number, subject = weighted
    for weights, status in sums_at(number, pytestconfig):
        made = gate(subject, sums_of(weights)[subject], dtypes=["bfloat16"])
        finding = made.run("long-sequences", "bfloat16", shrinking=False)
        assert finding.status == status, finding.describe()
        assert finding.residual is not None and (finding.residual > 4 if status == BROKEN else finding.residual < 0.6)


@pytest.mark.parametrize(
    ("subject", "layer"),
    [
        ("hessian.attention", lambda weights: sums_in_half if weights is in_turn else fused),
        ("transformer.masked_attention", lambda w: masked_in_turn if w is in_turn else scaled_dot_product_attention),
        ("convergence.softmax", lambda weights: weights),
        ("transformer.alibi_attention", lambda weights: positioned(weights)["alibi_attention"]),
        ("transformer.packed_attention", lambda weights: positioned(weights)["packed_attention"]),
    ],
)
def test_sums_in_float16_are_found_where_keys_are_alike(subject: str, layer: Any, pytestconfig: pytest.Config) -> None:
    """Elsewhere they are off by less than two units at 1025 tokens: of one subject, or at effort deep, all points are met."""
    for weights, status in SUMS:
        made, met = gate(subject, layer(weights), dtypes=["float16"]), 0
        for prepared in made.comparison.points.prepared("long-sequences", in_half=True):  # type: ignore[union-attr]
            with replaced(subject, made.standing):
                gap = made.comparison._gap(prepared.point, prepared.truth, "float16")  # type: ignore[union-attr]
            assert gap is not None and (gap.residual > 4 if status == BROKEN else gap.residual < 0.5)
            met += 1
        assert met
        if subject == "hessian.attention" or is_deep(pytestconfig):
            assert made.run("long-sequences", "float16", shrinking=False).status == status


def gaps_where_rows_are_alike(subject: str, one_by_one: bool, seed: int, dtype: str) -> dict[str, Any]:
    """The distances at all points whose rows are alike, of layers that add up gradients one by one or in float32, by titles."""
    made = gate(subject, summed(one_by_one)[subject], dtypes=[dtype], seed=seed)
    found = {}
    for prepared in made.comparison.points.prepared("sizes", in_half=True):  # type: ignore[union-attr]
        with replaced(subject, made.standing):
            found[prepared.point.title] = made.comparison._gap(prepared.point, prepared.truth, dtype)  # type: ignore[union-attr]
    return found


def test_gradients_that_are_added_up_in_half_precision_are_found_at_every_seed(
    adding: tuple[int, str], pytestconfig: pytest.Config
) -> None:
    number, subject = adding
    every = [(seed, dtype) for seed in range(10) for dtype in HALVES]
    for seed, dtype in whole_or_part(pytestconfig, every, [(number % 10, HALVES[number // 2 % 2])]):
        wrong = gaps_where_rows_are_alike(subject, True, seed, dtype)
        right = gaps_where_rows_are_alike(subject, False, seed, dtype)
        assert list(wrong) == list(right) and len(wrong) == len(profile_of(subject).summed) > 0
        assert all(gap.residual > 8 and gap.name.startswith("d/d") for gap in wrong.values())
        assert all(gap.agrees or gap.residual < 1.0 for gap in right.values())


def test_a_norm_that_adds_up_gradients_in_half_precision_is_told_so() -> None:
    """That of torch does, on one thread of the CPU."""
    for seed in (0, 1):
        made = gate("transformer.layer_norm", torch.nn.LayerNorm, dtypes=["bfloat16"], seed=seed)
        finding = made.run("sizes", "bfloat16")
        assert finding.status == BROKEN and finding.why.startswith("d/dbeta is wrong")
        assert seed or finding.at == "alike along n, n = 1025, d = 9"


def is_added(name: str, dims: tuple[str, ...], first: tuple[str, ...]) -> bool:
    """Whether a parameter is a gain, a bias or a sink: no product with it is a sum, and it has fewer axes than tokens have."""
    return not name.startswith("W") and len(dims) < len(first) and not set(dims) >= {first[-2]}


def test_every_subject_with_gains_biases_or_sinks_says_over_which_rows_their_gradients_are_summed() -> None:
    found = set()
    for subject in verify.subjects():
        profile = profile_of(subject)
        if profile.largest and profile.derivatives and profile.is_drawn:
            parameters = profile.claim().parameters.items()
            shapes = {name: spec.dims for name, spec in parameters if isinstance(spec, Shape)}
            first = next(iter(shapes.values()))
            if any(is_added(name, dims, first) for name, dims in shapes.items()):
                found.add(subject)
    # those have an entry for each token, too
    assert found | {"transformer.layer_norm_of_matrices", "transformer.biased_heads"} == set(summed(True))


def test_points_with_rows_that_are_alike_keep_to_the_sizes_that_are_chosen() -> None:
    made = gate("transformer.layer_norm", torch.nn.LayerNorm, dtypes=["bfloat16"], sizes={"n": (1, 64), "d": 16})
    (point,) = summing_points(made.profile, made.settings)
    assert point.sizes == {"n": 64, "d": 16}


def test_keys_that_are_rounded_to_float32_are_found_though_their_gradient_is_not() -> None:
    """Short numbers, as of small draws, are the same in float32: those of large points have more bits."""

    def rounded(Q: Any, K: Any, V: Any, M: Any) -> Any:
        if len(K) > 64:
            K = K + (K.float().to(K) - K).detach()
        return torch.softmax((Q @ K.mT / Q.shape[1] ** 0.5).masked_fill(~M, -torch.inf), -1) @ V

    made = gate("transformer.masked_attention", rounded, dtypes=["float64", "float32"])
    for check in ("sizes", "long-sequences"):
        finding = made.run(check, "float64", shrinking=False)
        assert finding.status == BROKEN
        assert made.run(check, "float32").status == SATISFIED  # there it is right


def test_logits_that_overflow_are_found_in_float16_where_tokens_have_weights() -> None:
    for layer, status in ((scaled_late, BROKEN), (plain, SATISFIED), (fused, SATISFIED)):
        finding = gate("hessian.attention", layer, dtypes=["float16"]).run("definition", "float16")
        assert finding.status == status
        if status == BROKEN:  # and an example is shown, at which smaller inputs may be excused
            assert "at 'logits beyond float16 before they are scaled' inputs" in finding.describe()
            assert "W_Q = torch.tensor(" in finding.example() and finding.why == ""


def test_masks_that_are_not_far_enough_below_are_found_in_float16() -> None:
    def masked_with(depth: float) -> Any:
        return lambda T, M: torch.softmax(T.masked_fill(~M, depth), -1)

    for depth, status in ((-1e4, BROKEN), (-torch.inf, SATISFIED)):
        made = gate("transformer.masked_softmax", masked_with(depth), dtypes=["float16"])
        assert made.run("definition", "float16", shrinking=False).status == status


def test_the_unit_of_half_precision_is_that_of_inputs_and_result_rounded_once() -> None:
    verify.subjects()
    claim = profile_of("hessian.softmax").claim()
    inputs = {"T": torch.tensor([[0.0, 1.0]], dtype=torch.float64).numpy()}
    roundings = {bits: unit_at(claim, [claim.the_oracle], inputs, bits).value * 2.0**bits for bits in (24, 11, 8)}
    # of the logit 1, with slope 1/4 in both entries, and of the result; what is between them does not show
    assert 1.9 < roundings[8] < roundings[11] < 2.2 and roundings[24] > 4


class Scaled(torch.autograd.Function):
    """The identity, with a gradient that is a multiple of the right one."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.factor, None


OFF: dict[str, Any] = {
    "d/dW_K": lambda X, Q, K, V: plain(X, Q, Scaled.apply(K, 0.97), V),
    "d/dW_Q": lambda X, Q, K, V: fused(X, Scaled.apply(Q, 0.95), K, V),
    "d/dW_V": lambda X, Q, K, V: plain(X, Q, K, Scaled.apply(V, 1.03)),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", OFF)
def test_a_gradient_that_is_off_by_less_than_its_roundings_is_found_on_average(name: str, dtype: str) -> None:
    made = gate("hessian.attention", OFF[name], dtypes=[dtype])
    assert dtype == "float16" or made.run("first-derivatives", dtype).status == SATISFIED
    finding = made.run("bias", dtype)
    assert finding.status == BROKEN and name in finding.why
    assert made.causes_of(finding)[-1] == f"its values are right, its derivative by {name[3:]} is wrong"


RIGHT: list[tuple[str, Any]] = [
    ("hessian.attention", fused), ("transformer.masked_attention", scaled_dot_product_attention),
    ("transformer.layer_norm", torch.nn.LayerNorm), ("transformer.rms_norm", torch.nn.RMSNorm),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "seeds"), [("bfloat16", 20), ("float16", 4)])
@pytest.mark.parametrize("subject, right", RIGHT)
def test_right_kernels_have_no_bias_at_any_seed(
    subject: str, right: Any, dtype: str, seeds: int, pytestconfig: pytest.Config
) -> None:
    made = gate(subject, right, dtypes=[dtype])
    assert made.comparison is not None
    for seed in range(whole_or_part(pytestconfig, seeds, 2)):
        made.comparison.settings = dataclasses.replace(made.settings, seed=seed)
        assert made.run("bias", dtype).status == SATISFIED


def test_the_bias_of_roundings_is_not_rejected_and_twice_that_is() -> None:
    eps, noise = 2.0**-7, torch.randn(64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for mean, rejected in ((0.0, False), (eps, False), (-eps, False), (2 * eps, True), (-2 * eps, True)):
        (found,) = biases({"the value": (mean + 0.002 * noise).tolist()}, eps)
        assert found.is_rejected is rejected
