"""Undecided is not ok; and every kind of point at which the gate looks decides: an error planted there is seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import verify
from tests import loaded
from tests.efforts import whole_or_part
from tests.wrong_layers.backward import attend, right
from verify.gate.autograd import Point, every_other, taken_for_constants
from verify.gate.checking import gate
from verify.gate.findings import BROKEN, LEFT_OUT, OK, SATISFIED, UNCHECKABLE, UNDECIDED, Finding, SubjectReport
from verify.gate.measure import allowed
from verify.gate.rounding import reference
from verify.gate.standing import Standing
from verify.vocabulary import InputError
from verify.vocabulary.subjects import definition_of

pytestmark = pytest.mark.kept


def plain(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return attend(X @ W_Q, X @ W_K, X @ W_V)


# -- undecided is not ok -----------------------------------------------------------------------------------------------


def finding(check: str, status: str, why: str = "") -> Finding:
    return Finding(check, "", "float64", status, why)


def test_a_report_is_ok_only_where_everything_was_decided_or_accepted() -> None:
    right, undecided = (
        finding("definition", SATISFIED),
        finding("first-derivatives", UNCHECKABLE, "not differentiable: x"),
    )
    assert SubjectReport("s", "f").outcome == UNDECIDED
    assert SubjectReport("s", "f", [right]).outcome == OK
    assert SubjectReport("s", "f", [undecided]).outcome == UNDECIDED
    report = SubjectReport("s", "f", [right, undecided])
    assert report.outcome == UNDECIDED and not report.ok and report.verdict.startswith("UNDECIDED: 1 not decided")
    values_alone = finding("sizes", SATISFIED, "values alone, not differentiable: x")
    assert SubjectReport("s", "f", [right, values_alone]).outcome == UNDECIDED
    for accepted in ("derivatives", "first-*"):
        report = SubjectReport("s", "f", [right, undecided], accepted=(accepted,))
        assert report.ok and report.verdict == "ok, with 1 accepted as undecided: first-derivatives"
    assert not SubjectReport("s", "f", [right, undecided], accepted=("second-*",)).ok
    assert SubjectReport("s", "f", [right, undecided], required=("derivatives",)).outcome == "broken"
    assert SubjectReport("s", "f", [right, finding("a", LEFT_OUT)]).ok


@pytest.mark.long("four runs of the gate")
def test_the_exit_status_tells_undecided_from_ok_and_from_broken(tmp_path: Path) -> None:
    (tmp_path / "of_numpy.py").write_text(
        "import numpy as np\ndef softmax(T):\n    E = np.exp(T - T.max(1, keepdims=True))\n"
        "    return E / E.sum(1, keepdims=True)\ndef wrong(T):\n    return 2 * softmax(T)\n"
    )
    few = ["--adapter", "verify.gate.adapters:from_numpy", "--claims", "hessian.lem-B.1", "--dtype", "float64"]

    def checked(name: str, *more: str) -> tuple[int, str]:
        ran = loaded.run("verify.cli", ["check", "hessian.softmax", f"of_numpy:{name}", *few, *more], tmp_path)
        return ran.returncode, ran.stdout

    status, said = checked("softmax")
    assert status == 3 and ": UNDECIDED: " in said
    status, said = checked("softmax", "--accept", "derivatives")
    assert status == 0 and ": ok, with " in said
    assert checked("softmax", "--require", "derivatives")[0] == 1
    assert checked("wrong")[0] == 1


def test_what_is_accepted_has_to_be_a_check() -> None:
    with pytest.raises(InputError, match="accept: expected derivatives, or a glob that matches one of"):
        verify.check("hessian.softmax", lambda T: T, accept="third-derivatives")


def once(products: Callable[..., Any]) -> Callable[..., Any]:
    """Attention as an autograd.Function of the new style, whose backward pass is marked as differentiable once."""

    def backward(ctx: Any, g: Any) -> Any:
        Q, K, V = ctx.saved_tensors
        return products(Q, K, V, torch.softmax(Q @ K.T / math.sqrt(Q.shape[1]), -1), g)

    class Kernel(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(Q: Any, K: Any, V: Any) -> Any:
            return attend(Q, K, V)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

    Kernel.backward = staticmethod(torch.autograd.function.once_differentiable(backward))  # type: ignore[assignment]
    return lambda X, W_Q, W_K, W_V: Kernel.apply(X @ W_Q, X @ W_K, X @ W_V)


def test_what_is_marked_as_differentiable_once_breaks_no_theorem_on_second_derivatives() -> None:
    claims = ["hessian.thm-3.2-qk", "hessian.jacobian-key"]
    report = verify.check("hessian.attention", once(right), claims=claims, dtypes=["float64"])
    assert report.broken == [] and report.outcome == UNDECIDED
    assert {"second-derivatives", "hessian.thm-3.2-qk"} == set(report.undecided)
    assert report.satisfied == ["hessian.jacobian-key"]
    accepted = verify.check("hessian.attention", once(right), claims=claims, dtypes=["float64"], accept="derivatives")
    assert accepted.ok


# -- every kind of point decides ---------------------------------------------------------------------------------------

SUBJECTS = [
    "hessian.softmax", "hessian.attention", "transformer.masked_attention", "transformer.layer_norm",
    "transformer.packed_attention", "transformer.packed_both_ways",
]  # fmt: skip


def never_decided(made: Any, check: str) -> list[str]:
    """The kinds of points of a comparison at none of which an implementation, wrong everywhere, is seen to be wrong."""
    decided: dict[str, list[bool]] = {}
    for point, _ in made.comparison.points.drawn(check):
        kind = point.title.partition(",")[0]
        if any(decided.get(kind, ())):
            continue
        truth = point.reference(made.standing.definition)
        if truth is not None:
            gap = made.comparison._gap(point, truth, "float64")
            decided.setdefault(kind, []).append(
                gap is not None and not gap.agrees and gap.residual > allowed("float64")
            )
    assert len(decided) >= 6
    return [kind for kind, found in decided.items() if not any(found)]


#: Those of which every kind of large point is looked at below effort deep: one has masks, one declares points of its own.
SOME = ["transformer.masked_attention", "transformer.layer_norm", "transformer.packed_attention"]
#: The comparisons at small points with their subjects, and those below effort deep.
SMALL_POINTS = [
    (subject, check)
    for subject in ("hessian.softmax", "transformer.masked_attention")
    for check in ("first-derivatives", "second-derivatives", "forward-derivatives")
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """At effort deep all subjects, else some of them."""
    if "large" in metafunc.fixturenames:
        metafunc.parametrize("large", whole_or_part(metafunc.config, SUBJECTS, SOME))
    if "small" in metafunc.fixturenames:
        some = whole_or_part(metafunc.config, SMALL_POINTS, SMALL_POINTS[:4])
        metafunc.parametrize("small", some, ids=[f"{subject}-{check}" for subject, check in some])


def test_an_error_planted_at_any_kind_of_large_point_is_seen(large: str) -> None:
    subject = large

    def wrong(first: Any, *given: Any) -> Any:
        return definition_of(subject)(first, *given) + 1.0 + (first**2).sum()

    made = gate(subject, wrong, dtypes=["float64"])
    assert never_decided(made, "sizes") == []
    kinds = {point.title.partition(",")[0] for point, _ in made.comparison.points.drawn("sizes")}  # type: ignore[union-attr]
    assert {"second derivatives", "forward derivatives"} <= kinds


def softmax_of_one_pass(factors: tuple[float, ...] = (1.0,)) -> Callable[[Any], Any]:
    """A softmax, differentiable once, that goes through its graph so often, its derivative times a factor in each pass."""

    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, T: Any) -> Any:
            ctx.weights, ctx.left = torch.softmax(T, -1), list(factors)
            return ctx.weights.clone()

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            P, factor = ctx.weights, ctx.left.pop(0)
            return P * (g - (g * P).sum(-1, keepdim=True)) * factor

    return Softmax.apply  # type: ignore[no-any-return]


def test_what_refuses_second_derivatives_or_a_second_backward_pass_is_not_blamed_for_it() -> None:
    """Neither at large sizes, where first derivatives are right, nor where tensors are gone after the first pass."""
    made = gate("hessian.softmax", softmax_of_one_pass(), dtypes=["float64"])
    first, sizes = (made.run(check, "float64") for check in ("first-derivatives", "sizes"))
    assert first.status == sizes.status == SATISFIED and first.why == sizes.why == ""
    of_numpy = gate(
        "hessian.softmax", lambda T: torch.as_tensor(softmax_of_one_pass()(T).detach().numpy()), dtypes=["float64"]
    )
    found = of_numpy.run("sizes", "float64")
    assert found.status == SATISFIED and found.why.startswith("values alone")


def test_second_and_forward_derivatives_that_long_rows_alone_refuse_are_said_not_to_be_there() -> None:
    kernel = softmax_of_one_pass()
    found = gate("hessian.softmax", lambda T: kernel(T) if T.shape[1] > 16 else torch.softmax(T, -1)).run(
        "sizes", "float64"
    )
    assert found.status == SATISFIED and found.is_undecided
    assert (
        found.why.startswith("no second derivatives where m = ") and "; it has no forward mode where m = " in found.why
    )


@pytest.mark.parametrize(
    ("factors", "wrong", "again"), [((1.0, 1.0), False, False), ((2.0, 1.0), True, False), ((1.0, 2.0), True, True)]
)
def test_the_first_and_the_second_backward_pass_are_both_compared(
    factors: tuple[float, ...], wrong: bool, again: bool
) -> None:
    made = gate("hessian.softmax", softmax_of_one_pass(factors), dtypes=["float64"]).comparison
    assert made is not None
    prepared = next(each for each in made.points.prepared("first-derivatives") if each.point.twice)
    gap = made._gap(prepared.point, prepared.truth, "float64")
    assert gap is not None and (not gap.agrees, gap.again) == (wrong, again)


def test_an_error_planted_in_any_domain_of_small_points_is_seen(small: tuple[str, str]) -> None:
    subject, check = small

    def wrong(first: Any, *given: Any) -> Any:
        value = definition_of(subject)(first, *given)
        error = (first**3).sum() + (first**2).sum() + first.sum()
        # in no proportion from entry to entry, so that no cotangent of halves hides it
        return value + error * torch.arange(2.0, 2.0 + value.numel(), dtype=value.dtype).sqrt().reshape(value.shape)

    never = never_decided(gate(subject, wrong, dtypes=["float64"]), check)
    assert set(never) <= (set() if check == "first-derivatives" else STEEPEST)


#: Logits so large that their rounding is all that higher derivatives consist of.
STEEPEST = {"huge", "logits of allowed keys far below those of masked ones"}


def test_a_layer_that_is_wrong_at_zero_alone_is_caught() -> None:
    def wrong(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        return plain(X, W_Q, W_K, W_V) + (0.0 if X.any() else 1.0)

    found = gate("hessian.attention", wrong, dtypes=["float64"]).run("sizes", "float64")
    assert found.status == BROKEN and found.at.startswith("zero")


def test_a_kink_is_still_excused() -> None:
    """A maximum has several derivatives where two entries are equal: a layer may have either."""

    def function(arguments: Any) -> Any:
        x = arguments["x"].detach().requires_grad_()
        value = x.amax(1).sum()
        return {"the value": value.detach(), "d/dx": torch.autograd.grad(value, x)[0]}

    for entries, smooth in (([[1.0, 1.0]], False), ([[1.0, 0.5]], True), ([[0.0, 0.0]], False)):
        truth = reference(function, {"x": torch.tensor(entries, dtype=torch.float64)})
        assert truth is not None and truth.smooth is smooth


# -- in place ----------------------------------------------------------------------------------------------------------


def inverting(Q: Any, K: Any, V: Any, M: Any) -> Any:
    M.logical_not_()
    return torch.softmax((Q @ K.T / Q.shape[1] ** 0.5).masked_fill(M, -math.inf), -1) @ V


def changing_large_values(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    value = plain(X, W_Q, W_K, W_V)
    if len(X) > 16:
        W_V.data.mul_(2)
    return value


class Doubling(torch.autograd.Function):
    """The identity, which doubles its cotangent in place after it has used it."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        found = g.clone()
        g.mul_(2)
        return found


class Emptying(torch.autograd.Function):
    """The identity, which sets what it was given to zero in its backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = x
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        ctx.x.data.zero_()
        return g


@pytest.mark.parametrize(
    ("subject", "layer", "check", "cause"),
    [
        ("transformer.masked_attention", inverting, "definition", "it changes M in place"),
        ("hessian.attention", changing_large_values, "sizes", "it changes W_V in place"),
        (
            "hessian.attention", lambda *given: Doubling.apply(plain(*given)), "first-derivatives",
            "it changes the cotangent of its backward pass in place",
        ),
        (
            "hessian.attention", lambda X, Q, K, V: plain(X, Q, Emptying.apply(K), V), "first-derivatives",
            "it changes W_K in place in its backward pass",
        ),
    ],
    ids=["mask", "large", "cotangent", "in the backward pass"],
)  # fmt: skip
def test_what_is_changed_in_place_is_named(subject: str, layer: Any, check: str, cause: str) -> None:
    made = gate(subject, layer, dtypes=["float64"])
    found = made.run(check, "float64")
    assert found.status == BROKEN and made.causes_of(found) == [cause]


# -- forward mode, layouts of masks, gradients in part -------------------------------------------------------------------


class Weights(torch.autograd.Function):
    """The softmax of rows, with a derivative in forward mode that is a multiple of the right one."""

    @staticmethod
    def forward(T: Any, factor: float) -> Any:
        return torch.softmax(T, -1)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (A,) = ctx.saved_tensors
        return A * (g - (g * A).sum(-1, keepdim=True)), None

    @staticmethod
    def jvp(ctx: Any, dT: Any, _: Any) -> Any:
        (A,) = ctx.saved_tensors
        return ctx.factor * A * (dT - (dT * A).sum(-1, keepdim=True))


def test_a_wrong_derivative_in_forward_mode_is_caught() -> None:
    for factor, status in ((1.0, SATISFIED), (1.01, BROKEN)):
        made = gate("hessian.softmax", lambda T, factor=factor: Weights.apply(T, factor), dtypes=["float64"])
        assert made.run("first-derivatives", "float64").status == SATISFIED
        assert made.run("forward-derivatives", "float64").status == status


def test_what_has_no_forward_mode_is_left_out_and_said() -> None:
    made = gate("hessian.attention", once(right), dtypes=["float64"])
    found = made.run("forward-derivatives", "float64")
    assert found.status == LEFT_OUT and found.why.startswith("it has no forward mode")
    assert SubjectReport("s", "f", [finding("a", SATISFIED), found], required=("derivatives",)).missing == [found.check]


def test_masks_come_in_every_layout_of_memory() -> None:
    def row_major_alone(Q: Any, K: Any, V: Any, M: Any) -> Any:
        """Reads the memory of the mask as if it were stored by rows."""
        memory = torch.as_strided(M, M.shape, (M.shape[1], 1)) if M.numel() > 1 else M
        return torch.softmax((Q @ K.T / Q.shape[1] ** 0.5).masked_fill(~memory, -math.inf), -1) @ V

    made = gate("transformer.masked_attention", row_major_alone, dtypes=["float64"])
    assert made.run("first-derivatives", "float64").status == BROKEN
    M = torch.tensor([[True, False], [True, True]])
    assert torch.equal(every_other(M), M) and not every_other(M).is_contiguous()


def test_gradients_are_asked_for_in_part() -> None:
    class Frozen(torch.autograd.Function):
        """Attention whose gradient in the values is zero where the keys need none."""

        @staticmethod
        def forward(ctx: Any, Q: Any, K: Any, V: Any) -> Any:
            ctx.save_for_backward(Q, K, V)
            return attend(Q, K, V)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            Q, K, V = ctx.saved_tensors
            dQ, dK, dV = right(Q, K, V, torch.softmax(Q @ K.T / math.sqrt(Q.shape[1]), -1), g)
            return dQ, dK, dV * ctx.needs_input_grad[1]

    def keys_alone(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        values = X @ W_V if W_K.requires_grad else (X @ W_V).detach()
        return attend(X @ W_Q, X @ W_K, values)

    for wrong in (lambda X, Q, K, V: Frozen.apply(X.detach() @ Q + 0 * X @ Q, X.detach() @ K, X @ V), keys_alone):
        found = gate("hessian.attention", wrong, dtypes=["float64"]).run("first-derivatives", "float64")
        assert found.status == BROKEN
    assert "where only" in found.why


# -- numbers that are taken for constants ------------------------------------------------------------------------------


def with_beta(beta_of: Callable[[Any], Any]) -> Callable[..., Any]:
    """The attention of the dynamics paper with another beta in its backward pass."""
    return lambda X, W_Q, W_K, W_V, beta: torch.softmax(beta_of(beta) * X @ W_Q @ (X @ W_K).T, -1) @ X @ W_V


@pytest.mark.parametrize(
    ("beta_of", "status"),
    [
        (lambda beta: beta, SATISFIED),
        (lambda beta: float(beta.detach()), SATISFIED),  # a layer may take a number for a constant
        (lambda beta: beta.detach(), SATISFIED),
        (lambda beta: beta.detach() + 0 * beta, BROKEN),  # a gradient that is there, and zero, is a wrong one
    ],
    ids=["differentiated", "a plain number", "cut", "a gradient of zero"],
)
def test_a_number_is_a_constant_where_the_result_is_cut_from_it_and_not_where_its_gradient_is_zero(
    beta_of: Callable[[Any], Any], status: str
) -> None:
    made = gate("dynamics.attention_head", with_beta(beta_of), dtypes=["float64"], claims="dynamics.eq-7-omega")
    for check in ("first-derivatives", "second-derivatives", "forward-derivatives"):
        found = made.run(check, "float64")
        assert found.status == status, found.describe()
        if status == BROKEN:
            break


def test_a_number_is_no_constant_where_its_gradient_is_zero_at_a_point() -> None:
    """At tokens that are zero the definition has no gradient in beta either: mixed derivatives are compared there, too."""
    ones = torch.ones(2, 2, dtype=torch.float64)
    arguments = {"X": 0 * ones, "W_Q": ones, "W_K": ones, "W_V": ones, "beta": ones[0, 0]}

    def taken(layer: Callable[..., Any]) -> list[str]:
        return taken_for_constants(Point(arguments, 2, 0), Standing("dynamics.attention_head", layer), arguments)

    assert taken(definition_of("dynamics.attention_head")) == []
    assert taken(with_beta(lambda beta: beta.detach())) == ["beta"]
