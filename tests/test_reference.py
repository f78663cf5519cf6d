"""Exported functions: their claims hold, they run in every float dtype, in batches and under autograd, the table is theirs."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path

import pytest
import torch

import theorems
import verify
from tests.efforts import whole_or_part
from tests.part_of_comparisons import in_part
from theorems.reference import references
from verify.checks.settings import settings_for
from verify.gate.checking import gate
from verify.gate.findings import SIZES, SubjectReport
from verify.gate.measure import ComparedSides, allowed, rejected_laws, sample_at
from verify.gate.reach import GATING
from verify.inputs.generators import applicable_domains, systematic
from verify.oracles import count
from verify.vocabulary import FollowsLaw, InputError, load

pytestmark = pytest.mark.kept("docs/reference.md")

REFERENCES = references()
REGISTRY = load()
SETTINGS = settings_for("quick", None, "cpu", ("float64",))
TABLE = (Path(__file__).resolve().parents[1] / "docs/reference.md").read_text(encoding="utf-8")


def example(name, dtype=torch.float64, seed=0):
    return REFERENCES[name].example(dtype, torch.Generator().manual_seed(seed))


CERTIFYING = sorted({claim for reference in REFERENCES.values() for claim in reference.claims})
DETERMINISTIC = [name for name, reference in REFERENCES.items() if reference.ulps is not None]
OF_CLAIMS = [
    name
    for name in DETERMINISTIC
    if inspect.unwrap(REFERENCES[name].function) is REGISTRY[REFERENCES[name].claims[0]].the_formula
]


@pytest.mark.parametrize("claim_id", CERTIFYING)
def test_every_certifying_claim_holds(claim_id):
    """By its theorem item, which makes all of its checks; of a law, here also as the gate tries one."""
    claim = REGISTRY[claim_id]
    assert claim.expects in GATING
    if isinstance(claim.relation, FollowsLaw):
        assert rejected_laws(claim, claim.the_formula, SETTINGS) == []


@pytest.mark.parametrize("name", REFERENCES)
def test_functions_are_found_by_topic_and_documented(name):
    reference = REFERENCES[name]
    assert getattr(getattr(theorems, reference.topic), reference.name) is reference.function
    assert reference.claims and all(claim in (reference.function.__doc__ or "") for claim in reference.claims[:1])
    assert reference.row() in TABLE


def test_the_table_has_no_other_rows():
    assert sum(line.startswith("| `theorems.") for line in TABLE.splitlines()) == len(REFERENCES)


@pytest.mark.parametrize("name", REFERENCES)
def test_the_stated_cost_is_the_counted_one(name):
    given = example(name)
    tensors = {key: value for key, value in given.items() if isinstance(value, torch.Tensor)}
    rest = {key: value for key, value in given.items() if key not in tensors}

    def called(*values):
        return REFERENCES[name].function(**dict(zip(tensors, values, strict=True)), **rest)

    assert count(called, *tensors.values()).operations == REFERENCES[name].operations


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_dtypes_and_gradients(name):
    function = REFERENCES[name].function
    value = function(**example(name))
    single = function(**{key: item.float() if torch.is_tensor(item) else item for key, item in example(name).items()})
    assert value.dtype == torch.float64 and single.dtype == torch.float32
    assert (single.double() - value).abs().max() < 1e-4 * value.abs().max()
    if name not in ("curvature.functional_hessian_query", "curvature.loss_hessian_query_key"):  # slow, and alike
        first = next(iter(example(name)))
        gradient = torch.func.grad(lambda x: function(**{**example(name), first: x}).square().sum())(
            example(name)[first]
        )
        assert gradient.isfinite().all() and gradient.any()


@pytest.mark.parametrize(
    "name", ["jacobians.softmax_jacobian", "jacobians.rms_norm_jacobian", "layers.attention_through_basis"]
)
def test_leading_axes_are_batches(name):
    function = REFERENCES[name].function
    draws = [example(name, seed=seed) for seed in range(6)]
    first = next(iter(draws[0]))
    stacked = torch.stack([draw[first] for draw in draws]).reshape(2, 3, *draws[0][first].shape)
    together = function(**{**draws[0], first: stacked})
    alone = torch.stack([function(**{**draws[0], first: draw[first]}) for draw in draws])
    assert torch.allclose(together.reshape(alone.shape), alone, rtol=1e-12, atol=1e-13)


def test_batches_that_disagree_are_refused():
    with pytest.raises(
        InputError, match=r"gamma: expected shape \(batch 0, D\) with batch 0 = 2, from Y; got shape \(3, 4\)"
    ):
        theorems.jacobians.rms_norm_jacobian(torch.ones(2, 1, 4), torch.ones(3, 4))


@pytest.mark.parametrize("name", OF_CLAIMS)
def test_the_stated_accuracy_is_met(name, pytestconfig):
    reference = REFERENCES[name]
    claim = copy.copy(REGISTRY[reference.claims[0]])
    claim.batched, claim._oracle = False, claim.the_formula
    sides = ComparedSides(claim.the_formula, claim.the_oracle, bound=False)
    domains = len(applicable_domains(claim))
    wanted = whole_or_part(pytestconfig, max(2 * domains, SETTINGS.effort.examples), domains)
    draws = [draw.arrays(claim, 1) for draw in systematic(claim, wanted, SETTINGS.seed)]
    for dtype, stated in zip(("float64", "float32"), reference.ulps, strict=True):
        samples = [sample_at(claim, sides, arrays, SETTINGS, dtype, of_values=True) for arrays in draws]
        assert max(sample.ulps for sample in samples if sample is not None and sample.ulps is not None) <= stated


def assert_accurate(report, name):
    stated = dict(zip(("float64", "float32"), REFERENCES[name].ulps, strict=True))
    assert all(found <= stated[dtype] for dtype, found in report.accuracy.items())


def own_layer(method):
    def layer(X, W_Q, W_K, W_V, W_O, alpha):
        return theorems.layers.orthogonal_self_attention(X, W_Q, W_K, W_V, W_O, alpha, method=method)

    return layer


@pytest.mark.long("the first imports torch's compiler, which torch passes operations under random rounding through")
@pytest.mark.parametrize(("method", "dtype"), [("frame", "float32"), ("dense", "float64")])
def test_our_own_layer_passes_the_gate(method, dtype, pytestconfig):
    dtypes = whole_or_part(pytestconfig, ["float64", "float32"], [dtype])
    with in_part(0 if method == "frame" else 3, pytestconfig):
        report = verify.check("osa.attention", own_layer(method), claims="osa.thm-c.1", dtypes=dtypes)
    report.raise_unless_ok()


def test_our_own_layer_pushed_through_passes_the_gate_at_the_sizes_of_the_subject():
    made = gate("osa.attention", own_layer("push-through"), claims="osa.thm-c.1")
    findings = [made.run(check, dtype) for check, dtype in made.checks if check != SIZES]
    report = SubjectReport("osa.attention", "push-through", findings)
    report.raise_unless_ok()
    assert_accurate(report, "layers.orthogonal_self_attention")


def test_our_own_layer_pushed_through_rounds_more_than_allowed_at_tokens_of_rank_one_alone():
    """Where X has no condition number its error is larger than the gate allows, as its docstring says."""
    made = gate("osa.attention", own_layer("push-through"), claims="osa.thm-c.1")
    beyond, compared = [], 0
    for prepared in made.comparison.points.prepared(SIZES):
        for dtype in made.settings.dtypes:
            gap = made.comparison._gap(prepared.point, prepared.truth, dtype)
            compared += gap is not None
            if gap is not None and not gap.agrees and gap.residual > allowed(dtype):
                assert prepared.point.title.startswith("tokens of equal rows") and gap.residual < 2**8
                beyond.append(prepared.point.title)
    assert compared > 20 and beyond


def test_our_own_basis_passes_the_gate():
    def basis(M, steps, epsilon):
        return theorems.layers.newton_schulz(M, steps, float(epsilon))

    report = verify.check("osa.newton_schulz_basis", basis, claims="osa.ns-prenorm")
    report.raise_unless_ok()
    assert_accurate(report, "layers.newton_schulz")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_on_cuda(name):
    given = {key: item.cuda() if torch.is_tensor(item) else item for key, item in example(name).items()}
    value = REFERENCES[name].function(**given)
    assert value.is_cuda and torch.allclose(value.cpu(), REFERENCES[name].function(**example(name)))
