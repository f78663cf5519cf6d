"""Layers in use: masks in every arithmetic, what is recognised by name, and wrong layers that are told so."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import flint
import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import verify
from tests.efforts import is_deep
from tests.part_of_comparisons import in_part, reported
from theorems.adapters.layers import hugging_face_attention
from theorems.adapters.libraries import jax_kernel
from theorems.transformer.definitions import attention_layer, masked_attention
from theorems.transformer.settings import mask_of
from verify.arithmetics import midpoints, to_balls, to_rationals
from verify.gate.checking import gate
from verify.gate.choice import square_draws
from verify.gate.diagnosis import derivative_causes
from verify.gate.findings import BROKEN, DEFINITION, FIRST, SATISFIED, SECOND, SIZES
from verify.gate.probes import block_sizes
from verify.gate.profiles import profile_of
from verify.gate.recognised import recognise, recognised
from verify.gate.standing import Standing
from verify.matrix import masked_softmax, softmax
from verify.oracles import jacobian
from verify.vocabulary import Claim, Equal, InputError, Paper, load
from verify.vocabulary.subjects import definition_of

pytestmark = pytest.mark.kept

T = torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.25, 1.0]], dtype=torch.float64)
M = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], dtype=torch.float64)

# -- the softmax under a mask ------------------------------------------------------------------------------------------


def test_a_masked_softmax_is_that_of_the_allowed_entries_in_every_arithmetic() -> None:
    found = masked_softmax(T, M)
    assert torch.allclose(found[0, [0, 2]], softmax(T[:1, [0, 2]])[0]) and found[1].tolist() == [0.0, 1.0, 0.0]
    assert torch.equal(masked_softmax(T, M.bool()), found)
    balls = masked_softmax(to_balls(T.numpy()), to_balls(M.numpy()))
    assert np.abs(midpoints(balls) - found.numpy()).max() < 1e-15
    exact = masked_softmax(to_rationals(0 * T.numpy()), to_rationals(M.numpy()))
    assert exact.tolist() == [[flint.fmpq(1, 2), 0, flint.fmpq(1, 2)], [0, 1, 0]]
    by_jets = jacobian(masked_softmax, "T", by="jets")(T, M)
    assert torch.allclose(jacobian(masked_softmax, "T")(T, M), by_jets, atol=1e-15)


def test_a_masked_softmax_does_not_see_masked_logits_however_large() -> None:
    large = torch.where(M == 0, 1e300, T - 2000)
    assert torch.equal(masked_softmax(large, M), masked_softmax(T - 2000, M))
    assert not jacobian(masked_softmax, "T")(large, M).isnan().any()
    balls = masked_softmax(to_balls(np.array([[4096.0, -4096.0]])), to_balls(np.array([[0.0, 1.0]])))
    assert midpoints(balls).tolist() == [[0.0, 1.0]]


def test_a_mask_of_another_shape_is_refused() -> None:
    with pytest.raises(InputError, match=r"M: expected the shape of T, \(2, 3\); got shape \(2, 2\)"):
        masked_softmax(T, M[:, :2])


def test_masks_that_are_drawn_leave_every_query_some_key() -> None:
    signs = torch.tensor([[-1.0, -1.0, -1.0], [1.0, -1.0, 0.0], [-1.0, -2.0, -1.0]], dtype=torch.float64)
    assert mask_of(signs).tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 1]]
    assert mask_of(to_rationals(signs.numpy())).tolist() == mask_of(signs).tolist()


# -- the gate ----------------------------------------------------------------------------------------------------------


def test_an_implementation_gets_a_boolean_mask_in_every_claim() -> None:
    given = set()

    def kernel(Q: Any, K: Any, V: Any, M: Any) -> Any:
        given.add(M.dtype)
        return scaled_dot_product_attention(Q[None], K[None], V[None], attn_mask=M)[0]

    verify.check("transformer.masked_attention", kernel, claims="transformer.causal*").raise_if_broken()
    assert given == {torch.bool}
    Standing("transformer.masked_attention", kernel)(*torch.ones(3, 2, 2), torch.ones(2, 2))
    assert torch.equal(masked_attention(*torch.ones(3, 2, 2), torch.ones(2, 2).bool()), torch.ones(2, 2))


def in_turns(Q: Any, K: Any, V: Any, M: Any) -> Any:
    R = Q.shape[1] // K.shape[1]
    return scaled_dot_product_attention(Q, K.repeat(1, R, 1, 1), V.repeat(1, R, 1, 1), attn_mask=M)


def interleaved(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
    def heads(W: Any, count: int) -> Any:
        return (X @ W).unflatten(2, (-1, count)).permute(0, 3, 1, 2)

    value = scaled_dot_product_attention(heads(W_Q, H), heads(W_K, G), heads(W_V, G), attn_mask=M, enable_gqa=True)
    return value.transpose(1, 2).flatten(2) @ W_O


WRONG: list[tuple[str, Callable[..., Any], str | None]] = [
    ("transformer.batched_attention", in_turns, "heads take groups of keys in turns: h mod G, not h G / H"),
    ("transformer.attention_layer", interleaved, "heads are interleaved: head h has the columns h, h + H, ..."),
    (
        "transformer.masked_attention",
        lambda Q, K, V, M: torch.softmax(Q @ K.T / Q.shape[1] ** 0.5 * M, -1) @ V,
        "masked logits are 0, not minus infinity",
    ),
    (
        "transformer.masked_attention",
        lambda Q, K, V, M: torch.softmax(Q @ K.T / Q.shape[1] ** 0.5 - 1e3 * (~M).to(Q.dtype), -1) @ V,
        None,  # -1e3 is not minus infinity: right until logits lie far below zero
    ),
    (
        "transformer.causal_attention",
        lambda Q, K, V: scaled_dot_product_attention(Q[None], K[None], V[None])[0],
        "the causal mask is left out",
    ),
    (
        "transformer.layer_norm",
        lambda X, gamma, beta, epsilon: (X - X.mean(1, keepdim=True)) / (X.std(1, keepdim=True) + epsilon) * gamma + beta,
        None,
    ),
    (
        "transformer.rotary",
        lambda X, C, S: torch.stack([X[:, ::2] * C - X[:, 1::2] * S, X[:, 1::2] * C + X[:, ::2] * S], -1).flatten(1),
        "pairs are neighbours, entries 2 k and 2 k + 1",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("subject", "wrong", "cause"), WRONG, ids=[subject for subject, _, _ in WRONG])
def test_wrong_layers_are_broken_and_told_why(subject: str, wrong: Callable[..., Any], cause: str | None) -> None:
    made = gate(subject, wrong, dtypes=["float64"])
    finding = made.run(DEFINITION, "float64")
    assert finding.status == BROKEN
    assert made.causes_of(finding) == ([] if cause is None else [cause])


@pytest.mark.parametrize(
    ("number", "subject", "module"),
    [
        (0, "transformer.batched_attention", scaled_dot_product_attention),
        (1, "transformer.masked_attention", scaled_dot_product_attention),
        (2, "transformer.causal_attention", scaled_dot_product_attention),
        (3, "transformer.attention_layer", torch.nn.MultiheadAttention),
        (0, "transformer.attention_layer", torch.nn.MultiheadAttention(8, 2)),
        (1, "transformer.layer_norm", torch.nn.LayerNorm),
        (2, "transformer.rms_norm", torch.nn.RMSNorm(16)),
    ],
    ids=lambda value: str(value) if isinstance(value, (int, str)) else getattr(value, "__name__", "an instance"),
)
def test_kernels_and_modules_of_torch_need_no_adapter(
    number: int, subject: str, module: Any, pytestconfig: pytest.Config
) -> None:
    report = reported(number, pytestconfig, subject, module)
    report.raise_if_broken()
    assert report.satisfied


def test_a_subclass_is_known_by_its_base_and_a_stranger_is_not() -> None:
    class Mine(torch.nn.LayerNorm):
        def forward(self, input: Any) -> Any:
            return super().forward(input) * 1.5

    assert recognised("transformer.layer_norm", torch.nn.Linear) is None
    assert recognised("transformer.rms_norm", torch.nn.LayerNorm) is None
    assert gate("transformer.layer_norm", Mine).run(DEFINITION, "float64", shrinking=False).status == BROKEN
    recognise("toy.subject", f"{__name__}.plain")(lambda function: function)
    assert recognised("toy.subject", plain) is not None


def plain(x: Any) -> Any:
    return x


def imported(name: str) -> Any:
    """The module or class of this name, or a skip where its library is not installed."""
    module, _, attribute = name.rpartition(".")
    pytest.importorskip(name.split(".", maxsplit=1)[0])
    return getattr(importlib.import_module(module), attribute)


TRANSFORMERS = [
    f"transformers.models.{name}"
    for name in (
        "bert.modeling_bert.BertSelfAttention",
        "vit.modeling_vit.ViTAttention",
        "gpt2.modeling_gpt2.GPT2Attention",
        "llama.modeling_llama.LlamaAttention",
    )
]


@pytest.mark.long("the first imports transformers")
@pytest.mark.parametrize(("number", "name"), list(enumerate(TRANSFORMERS)))
def test_attention_of_transformers_is_recognised(number: int, name: str, pytestconfig: pytest.Config) -> None:
    subject, module = "transformer.attention_layer", imported(name)
    reported(number, pytestconfig, subject, module).raise_if_broken()
    eager = reported(number, pytestconfig, subject, module, adapter=hugging_face_attention("eager"))
    assert {finding.dtype for finding in eager.findings if finding.status == "broken"} <= {"float64"}


#: JAX compiles a function anew at every shape: at any but effort deep few are tried.
FEW_SIZES = {
    "transformer.layer_norm": {"n": 3, "d": 4}, "transformer.rms_norm": {"n": 3, "d": 4},
    "transformer.attention_layer": {"B": 2, "n": 3, "e": 2, "H": 2, "G": 2},
}  # fmt: skip


@pytest.mark.long("the first imports JAX and flax, and JAX compiles at every shape")
@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("transformer.layer_norm", "flax.nnx.LayerNorm"),
        ("transformer.rms_norm", "flax.nnx.RMSNorm"),
        ("transformer.layer_norm", "equinox.nn.LayerNorm"),
        ("transformer.rms_norm", "equinox.nn.RMSNorm"),
        ("transformer.attention_layer", "flax.nnx.MultiHeadAttention"),
        ("transformer.attention_layer", "equinox.nn.MultiheadAttention"),
    ],
)
def test_layers_of_flax_and_equinox_are_recognised(subject: str, name: str, pytestconfig: pytest.Config) -> None:
    deep = is_deep(pytestconfig)
    made = gate(subject, imported(name), sizes=None if deep else FEW_SIZES[subject])
    # to compile derivatives takes most of the time: below effort deep, of one layer of each library
    differentiated = "norm" in subject if deep else name in ("flax.nnx.LayerNorm", "equinox.nn.RMSNorm")
    for check in [DEFINITION] + [FIRST] * differentiated:
        assert made.run(check, "float32").status == SATISFIED


@pytest.mark.long("it imports JAX and flax where no test did before, and JAX compiles at every shape")
def test_attention_of_flax_computes_in_32_bits(pytestconfig: pytest.Config) -> None:
    """Without dropout it is jax.nn.dot_product_attention, whose logits and softmax have 32 bits."""
    subject = "transformer.attention_layer"
    sizes = None if is_deep(pytestconfig) else FEW_SIZES[subject]
    made = gate(subject, imported("flax.nnx.MultiHeadAttention"), sizes=sizes)
    finding = made.run(DEFINITION, "float64", shrinking=is_deep(pytestconfig))
    assert finding.status == BROKEN and made.causes_of(finding) == ["it computes in float32"]


@pytest.mark.long("JAX compiles dozens of operations for the shapes of the points that the theorem is tried at")
def test_the_kernel_of_jax_is_given_values_of_another_width_in_pieces() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed: its kernel cannot be tried")
    sizes = {"B": 1, "H": 2, "G": 1, "m": 2, "n": 3, "d_K": 2, "d_V": 2}
    subject, kernel = "transformer.batched_attention", jax.nn.dot_product_attention
    compiled = jax.jit(kernel)  # as one operation at each shape, in the place of four
    assert recognised(subject, compiled) is recognised(subject, kernel) is jax_kernel
    made = gate(subject, compiled, dtypes=["float32"], sizes=sizes)
    assert made.comparison is not None
    # that is a mark of torch; to look for it, second derivatives would be compiled that nothing is compared with
    made.comparison.is_differentiable_once = False
    assert made.run("transformer.shared-value-gradient", "float32").status == SATISFIED


def test_a_derivative_of_32_bits_is_no_wrong_derivative_and_what_raises_has_no_other_cause() -> None:
    def rounded(Q: Any, K: Any, V: Any, M: Any) -> Any:
        if V.shape[3] != K.shape[3]:
            raise ValueError("values as wide as keys")
        return definition_of("transformer.batched_attention")(Q.float(), K.float(), V.float(), M).to(Q.dtype)

    sizes = {"B": 1, "H": 2, "G": 1, "m": 2, "n": 3, "d_K": 2, "d_V": 2}
    made = gate("transformer.batched_attention", rounded, dtypes=["float32"], sizes=sizes)
    assert derivative_causes(made.profile, made.standing, made.settings, "float32") == []
    assert "derivative by Q is wrong" in str(derivative_causes(made.profile, made.standing, made.settings, "float64"))
    finding = made.run("transformer.shared-value-gradient", "float32")
    assert "values as wide as keys" in finding.why and made.causes_of(finding) == []


# -- subjects with masks are compared in full --------------------------------------------------------------------------

WITH_MASKS = ["masked_softmax", "masked_attention", "batched_attention", "attention_layer"]


@pytest.mark.parametrize("name", WITH_MASKS)
def test_derivatives_and_sizes_of_masked_layers_are_decided(name: str) -> None:
    made = gate(f"transformer.{name}", definition_of(f"transformer.{name}"), dtypes=["float64"])
    for check in [FIRST] if name == "attention_layer" else [FIRST, SECOND, SIZES]:
        finding = made.run(check, "float64")
        assert finding.status == SATISFIED and finding.examples >= 6


def test_a_derivative_cut_under_a_mask_is_found() -> None:
    def cut(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
        return attention_layer(X, W_Q, W_K.detach(), W_V, W_O, M, H, G)

    finding = gate("transformer.attention_layer", cut, dtypes=["float64"]).run(FIRST, "float64")
    assert finding.status == BROKEN and finding.why == "d/dW_K is wrong"


def test_a_function_of_torch_behind_a_bridge_takes_masks(pytestconfig: pytest.Config) -> None:
    class Weights(torch.autograd.Function):  # the old style, which torch.func refuses
        @staticmethod
        def forward(ctx: Any, logits: torch.Tensor) -> torch.Tensor:
            weights = torch.softmax(logits, -1)
            ctx.save_for_backward(weights)
            return weights

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            (weights,) = ctx.saved_tensors
            return weights * (gradient - (gradient * weights).sum(-1, keepdim=True))

    def weights(T: torch.Tensor, M: torch.Tensor) -> torch.Tensor:
        return Weights.apply(T.masked_fill(~M, float("-inf")))

    in_reverse = ("first-derivatives", "second-derivatives")
    with in_part(0, pytestconfig, in_reverse):
        report = verify.check("transformer.masked_softmax", weights, dtypes=["float64"], require=in_reverse)
    report.raise_if_broken()
    assert len(report.satisfied) >= 1 and not report.missing


# -- collections of own claims -----------------------------------------------------------------------------------------


def test_claims_of_a_collection_are_the_projects_own() -> None:
    own = Paper("toy", "Toy claims", "this project", "row-major", of_project=True)
    assert Claim(own, "toy.a", label="a", statement="x", relation=Equal()).of_project
    printed = Paper("toy", "Toy claims", "nobody", "row-major")
    assert not Claim(printed, "toy.a", label="a", statement="x", relation=Equal()).of_project
    layers = [claim for claim in load().values() if claim.paper.key == "transformer"]
    assert layers and all(claim.of_project for claim in layers)


# -- sizes and examples ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "lengths"),
    [("batched_attention", ("m", "n", "d_K", "d_V")), ("attention_layer", ("n", "e")), ("rotary", ("n", "p"))],
)
def test_lengths_become_large_where_sizes_depend_on_each_other_and_numbers_of_heads_do_not(subject, lengths):
    profile = profile_of(f"transformer.{subject}")
    found = block_sizes(profile, 0)
    for name in lengths:
        assert {17, 33, 64, 65, 129} <= {sizes[name] for sizes in found} | ({17, 33} if name == "e" else set())
    assert max((sizes[name] for sizes in found for name in ("B", "H", "G") if name in sizes), default=0) <= 6
    assert all(sizes.get("d") == sizes["H"] * sizes["e"] for sizes in found if "e" in sizes)


def test_some_sizes_are_equal_and_some_masks_whole_or_causal():
    claim = profile_of("transformer.masked_attention").claim()
    draws = square_draws(claim, 0)
    assert [set(dict(draw.sizes).values()) for draw in draws[:2]] == [{2}, {3}]
    masks = {draw.domain: mask_of(torch.as_tensor(draw.arrays(claim, 1)["S"][0])) for draw in draws}
    assert bool((masks["no key masked"] == 1).all())
    assert torch.equal(masks["a causal mask"], torch.ones_like(masks["a causal mask"]).tril())


def test_an_example_with_a_mask_can_be_pasted():
    def mask_taken_for_whole(Q: Any, K: Any, V: Any, M: Any) -> Any:
        weights = torch.softmax((Q @ K.T / Q.shape[1] ** 0.5).masked_fill(~M, -torch.inf), -1)
        return weights.detach() @ V

    finding = gate("transformer.masked_attention", mask_taken_for_whole).run("first-derivatives", "float64")
    (line,) = (line for line in finding.describe().splitlines() if "M = " in line)
    assert line.endswith("dtype=torch.bool)") and ("True" in line or "False" in line)
    assert eval(line.partition("=")[2], {"torch": torch}).dtype == torch.bool


def test_kernels_that_keep_logarithms_of_sums_are_right_at_steep_weights():
    def stored(Q: Any, K: Any, V: Any, M: Any) -> Any:
        T = (Q @ K.T / Q.shape[1] ** 0.5).masked_fill(~M, -torch.inf)
        return torch.exp(T - torch.logsumexp(T, 1, keepdim=True)) @ V

    sizes = {"where": lambda lengths: lengths["e"] % 2 == 0}
    for subject, right, options in (
        ("transformer.attention_layer", torch.nn.MultiheadAttention, sizes), ("transformer.masked_attention", stored, {}),
    ):  # fmt: skip
        made = gate(subject, right, **options)
        assert made.run("sizes", "float64").status == made.run("first-derivatives", "float64").status == SATISFIED
