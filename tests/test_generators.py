"""Every named domain is reached, by Hypothesis and systematically, with entries that every arithmetic holds exactly."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import flint
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from tests.arithmetics import quietly
from verify.arithmetics import midpoints, to_balls, to_rationals
from verify.inputs.generators import (
    GRID,
    LOGIT_DOMAINS,
    SCALE_DOMAINS,
    VALUE_DOMAINS,
    WIDE,
    Draw,
    applicable_domains,
    draws,
    size_features,
    systematic,
)
from verify.inputs.witnesses import file_of
from verify.matrix import singular_values, softmax
from verify.vocabulary import Claim, Equal, InputError, Paper, Real, RegistryError, Shape, Size

pytestmark = pytest.mark.kept

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
SIZES = {"L": (1, 4), "d_V": (1, 4), "d_K": (1, 5)}
DOMAINS = [*VALUE_DOMAINS, *SCALE_DOMAINS, *LOGIT_DOMAINS]
FEATURES = ["distinct sizes", "one token", "d_K > d_V", "odd sizes"]
TELLING = (("L", 4), ("d_V", 3), ("d_K", 5))

Tokens = Annotated[Any, Shape("L", "d_V")]
Query = Annotated[Any, Shape("d_V", "d_K", role="query")]
Key = Annotated[Any, Shape("d_V", "d_K")]
Gate = Annotated[Any, Shape("L", role="gate")]


def toy(formula: Callable[..., Any], **options: Any) -> Claim:
    claim = Claim(PAPER, "toy.claim", label="Toy", statement="x = x", relation=Equal(), **{"sizes": SIZES, **options})
    claim.formula(formula)
    return claim


def logits(X: Tokens, W_Q: Query, W_K: Key, g: Gate) -> Any:
    return X @ W_Q @ W_K.T @ X.T


CLAIM = toy(logits)


def batch_of(domain: str, count: int = 64, seed: int = 7) -> dict[str, np.ndarray]:
    return Draw(TELLING, domain, seed).arrays(CLAIM, count)


def exact_rank(matrix: np.ndarray) -> int:
    rows = to_rationals(matrix)
    return flint.fmpq_mat(rows.tolist()).rank()


def attention_rows(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Largest entry of every attention row; the logits overflow nothing in float64."""
    X, W_Q, W_K = (torch.as_tensor(arrays[name]) for name in ("X", "W_Q", "W_K"))
    return softmax_of(X @ W_Q @ W_K.mT @ X.mT).amax(-1).numpy()


def softmax_of(T: torch.Tensor) -> torch.Tensor:
    return torch.func.vmap(softmax)(T)


# -- what each domain is -----------------------------------------------------------------------------------------------


def test_every_domain_has_its_test():
    tested = {name.removeprefix("test_domain_") for name in globals() if name.startswith("test_domain_")}
    assert tested == {domain.replace(" ", "_").replace("-", "_") for domain in DOMAINS}


def test_domain_generic():
    """Full rank, no zero rows, and entries that hardly ever repeat, so that no transpose goes unseen."""
    for name, matrices in batch_of("generic").items():
        assert len(np.unique(matrices)) > 0.5 * min(matrices.size, 400)
        if matrices.ndim == 3:
            assert all(exact_rank(matrix) == min(matrix.shape) for matrix in matrices), name
    X = batch_of("generic")["X"]
    assert not np.allclose(X[:, :3, :3], X[:, :3, :3].swapaxes(1, 2))


def test_domain_integers():
    for matrices in batch_of("integers").values():
        assert set(np.unique(matrices)) == {-2.0, -1.0, 0.0, 1.0, 2.0}


def test_domain_tied():
    arrays = batch_of("tied")
    for matrices in arrays.values():
        assert set(np.unique(matrices)) == {-1.25, 0.5}
    X = arrays["X"]
    assert (X[:, 2:] == X[:, :1]).all()


def test_domain_rank_deficient():
    for name in ("X", "W_Q", "W_K"):
        ranks = Counter(exact_rank(matrix) for matrix in batch_of("rank deficient")[name])
        assert max(ranks) == 2 < min(batch_of("rank deficient")[name].shape[1:])
        assert ranks[2] > 48  # deficient, not degenerate


def test_domain_repeated_singular_values():
    for name in ("X", "W_Q", "W_K"):
        for matrix in batch_of("repeated singular values", count=6)[name]:
            values = singular_values(to_rationals(matrix))
            assert len(values) == 3 and all(value.contains(1) for value in values)
    assert set(np.unique(batch_of("repeated singular values")["g"])) == {-1.0, 1.0}


def test_domain_kinks():
    hair = 2.0**-20
    for matrices in batch_of("kinks").values():
        values = set(np.unique(matrices))
        assert {0.0, hair, -hair, 1.0, -1.0} <= values
    assert (batch_of("kinks")["X"] == 0).mean() > 0.1


def test_domain_tiny():
    generic, tiny = batch_of("generic"), batch_of("tiny")
    for name, matrices in tiny.items():
        assert 0 < np.abs(matrices).max() < 2e-3
        assert (matrices == generic[name] * 2.0**-12).all()


def test_domain_huge():
    for matrices in batch_of("huge").values():
        assert np.abs(matrices).max() > 40


def test_domain_uniform_attention():
    largest = attention_rows(batch_of("uniform attention"))
    assert np.allclose(largest, 1 / 4, atol=1e-15)
    assert batch_of("uniform attention")["X"].any()  # only the logits vanish


def test_domain_large_logits():
    large = attention_rows(batch_of("large logits"))
    spread = (large > 0.9).mean()
    # sharper than generic attention, yet with rows left between uniform and one-hot
    assert (attention_rows(batch_of("generic")) > 0.9).mean() < spread < 0.99


def test_domain_one_hot_attention():
    largest = attention_rows(batch_of("one-hot attention"))
    assert (largest > 1 - 1e-9).mean() > 0.9


# -- and that it is reached --------------------------------------------------------------------------------------------


def reached(condition: Callable[[Draw], bool]) -> Draw:
    """A draw of the strategy that meets the condition, within the number of examples of an ordinary check."""
    return find(
        draws(CLAIM),
        condition,
        settings=settings(
            max_examples=200,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("domain", DOMAINS)
def test_hypothesis_reaches_every_domain(domain):
    assert reached(lambda draw: draw.domain == domain).domain == domain


@pytest.mark.parametrize("feature", FEATURES)
def test_hypothesis_reaches_every_size_feature(feature):
    assert feature in size_features(dict(reached(lambda draw: feature in size_features(dict(draw.sizes))).sizes))


def test_hypothesis_reaches_explicit_entries():
    draw = reached(lambda draw: len(draw.explicit) == 3)
    plain = Draw(draw.sizes, draw.domain, draw.seed).arrays(CLAIM, 2)
    edited = draw.arrays(CLAIM, 2)
    changed = sum(int((plain[name] != edited[name]).sum()) for name in plain)
    assert 0 < changed <= 2 * 3
    assert [name for name in plain] == ["X", "W_Q", "W_K", "g"]


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_systematic_draws_reach_every_domain_and_feature(seed):
    found = systematic(CLAIM, len(DOMAINS), seed)
    assert {draw.domain for draw in found} == set(DOMAINS)
    features = Counter(feature for draw in found for feature in size_features(dict(draw.sizes)))
    assert features["distinct sizes"] >= len(DOMAINS) // 2
    later = Counter(feature for draw in systematic(CLAIM, 60, seed) for feature in size_features(dict(draw.sizes)))
    assert set(later) == set(FEATURES)


def test_systematic_draws_begin_with_sizes_that_tell_transposes_apart():
    for draw in systematic(CLAIM, 20, 0)[::2]:
        values = [value for _, value in draw.sizes]
        assert len(set(values)) == len(values) and 1 not in values


def test_systematic_draws_can_stay_in_one_domain():
    assert {draw.domain for draw in systematic(CLAIM, 9, 0, domain="tied")} == {"tied"}


@pytest.mark.parametrize(
    ("sizes", "features"),
    [
        ({"L": 1, "d": 2}, {"one token", "distinct sizes", "odd sizes"}),
        ({"N": 1, "d": 1}, {"one token", "odd sizes"}),
        ({"S": 1}, {"one token", "distinct sizes", "odd sizes"}),
        ({"n": 1, "m": 2}, {"one token", "distinct sizes", "odd sizes"}),
        ({"d": 1, "m": 1}, {"odd sizes"}),
        ({"N": 2, "S": 2}, set()),
        ({"d_K": 4, "d_V": 2}, {"d_K > d_V", "distinct sizes"}),
        ({"d_K": 2, "d_V": 2}, set()),
        ({"d_K": 6}, {"distinct sizes"}),
        ({"d_V": 6}, {"distinct sizes"}),
        ({}, set()),
    ],
)
def test_features_of_sizes(sizes, features):
    found = size_features(sizes)
    assert set(found) == features and len(found) == len(features)


def test_numbers_of_a_domain_are_all_drawn():
    shape, rng = (4000, 2), np.random.default_rng(0)
    assert set(np.unique(VALUE_DOMAINS["kinks"](shape, rng))) == {0.0, 2.0**-20, -(2.0**-20), 1.0, -1.0, 0.5}
    assert set(np.unique(VALUE_DOMAINS["integers"](shape, rng))) == {-2.0, -1.0, 0.0, 1.0, 2.0}
    assert set(np.unique(VALUE_DOMAINS["tied"](shape, rng))) == {0.5, -1.25}
    for form in (shape, (500, 3, 2)):
        assert {-1.0, 1.0} <= set(np.unique(VALUE_DOMAINS["repeated singular values"](form, rng))) <= {-1.0, 0.0, 1.0}
    wide = Draw((("L", 3), ("d_V", 4), ("d_K", 2)), WIDE, 0).arrays(CLAIM, 2000)["X"] * 2.0**10
    assert (wide == np.round(wide)).all() and -(2.0**20) <= wide.min() < -1.04e6 and 1.04e6 < wide.max() < 2.0**20


# -- exactness and reproducibility -------------------------------------------------------------------------------------


@quietly
@given(draw=draws(CLAIM))
def test_entries_are_the_same_numbers_in_every_arithmetic(draw):
    for matrices in draw.arrays(CLAIM, 4).values():
        assert matrices.dtype == np.float64 and np.isfinite(matrices).all()
        assert (matrices.astype(np.float32).astype(np.float64) == matrices).all()
        assert (midpoints(to_balls(matrices)) == matrices).all()
        assert all(ball.is_exact() for ball in to_balls(matrices).flat)


@quietly
@given(draw=draws(CLAIM))
def test_arrays_depend_on_the_draw_alone(draw):
    first, again = draw.arrays(CLAIM, 3), eval(repr(draw)).arrays(CLAIM, 3)
    assert all((first[name] == again[name]).all() for name in first)
    sizes = dict(draw.sizes)
    assert first["X"].shape == (3, sizes["L"], sizes["d_V"])
    assert first["W_Q"].shape == first["W_K"].shape == (3, sizes["d_V"], sizes["d_K"])
    assert first["g"].shape == (3, sizes["L"])


def test_parameters_seeds_and_members_of_a_batch_differ():
    arrays, others = batch_of("generic"), batch_of("generic", seed=8)
    assert (arrays["W_Q"] != arrays["W_K"]).any() and (arrays["X"] != others["X"]).any()
    assert len({matrix.tobytes() for matrix in arrays["X"]}) == 64


def test_systematic_draws_depend_on_claim_and_seed_alone():
    assert systematic(CLAIM, 12, 3) == systematic(toy(logits), 12, 3)
    assert systematic(CLAIM, 12, 3) != systematic(CLAIM, 12, 4)


# -- sizes, scalars, special domains -----------------------------------------------------------------------------------


def with_scalars(
    X: Tokens,
    a: Annotated[Any, Real(0.1, 0.9)],
    b: Annotated[Any, Real(-1, 1, avoid_zero=True)],
    c: Annotated[Any, Real(-3.7, 0.0)],
    n: Annotated[int, Size("d_K")],
) -> Any:
    return a * b * c * X * n


@quietly
@given(draw=draws(toy(with_scalars)))
def test_scalars_are_exact_and_within_their_interval_and_sizes_are_integers(draw):
    arrays = draw.arrays(toy(with_scalars), 64)
    for name, low, high in (("a", 0.1, 0.9), ("b", -1, 1), ("c", -3.7, 0)):
        values = arrays[name]
        assert values.shape == (64,) and (low <= values).all() and (values <= high).all()
        assert (values / GRID == np.round(values / GRID)).all()
    assert (arrays["b"] != 0).all()
    assert arrays["n"] == dict(draw.sizes)["d_K"] and isinstance(arrays["n"], int)


def test_an_interval_without_representable_numbers_is_refused():
    def narrow(a: Annotated[Any, Real(0.0001, 0.0002)]) -> Any:
        return a

    with pytest.raises(InputError, match="an interval that holds a multiple of"):
        Draw((), "generic", 0).arrays(toy(narrow, sizes={}), 1)


@quietly
@given(data=st.data())
def test_conditions_on_sizes_are_met(data):
    claim = toy(logits, where=lambda sizes: sizes["L"] < sizes["d_V"])
    sizes = dict(data.draw(draws(claim)).sizes)
    assert sizes["L"] < sizes["d_V"]
    assert all(dict(draw.sizes)["L"] < dict(draw.sizes)["d_V"] for draw in systematic(claim, 20, 0))


def test_impossible_sizes_are_refused():
    with pytest.raises(RegistryError, match=r"toy\.claim: no sizes in .* satisfy its condition"):
        draws(toy(logits, where=lambda sizes: False))


def test_special_domains_edit_the_arrays():
    claim = toy(logits)

    @claim.domain("tokens sum to zero")
    def _(arrays: dict[str, np.ndarray], sizes: Mapping[str, int], rng: np.random.Generator) -> None:
        arrays["X"] -= arrays["X"].sum(1, keepdims=True) / 4

    assert applicable_domains(claim)[-1] == "tokens sum to zero"
    assert "tokens sum to zero" in {draw.domain for draw in systematic(claim, 20, 0)}
    X = Draw(TELLING, "tokens sum to zero", 0).arrays(claim, 4)["X"]
    assert not X.sum(1).any() and X.any()


def test_rank_deficiency_reaches_stacks_of_matrices():
    def stacked(W: Annotated[Any, Shape("L", "d_V", "d_K")]) -> Any:
        return W

    for name, rank in (("rank deficient", 2), ("repeated singular values", 3)):
        W = Draw(TELLING, name, 0).arrays(toy(stacked), 2)["W"]
        assert W.shape == (2, 4, 3, 5)
        assert max(exact_rank(matrix) for matrix in W.reshape(-1, 3, 5)) == rank


# -- which domains apply -----------------------------------------------------------------------------------------------


def test_logit_domains_need_a_query():
    def unscaled(X: Tokens) -> Any:
        return X

    assert applicable_domains(CLAIM) == DOMAINS
    assert applicable_domains(toy(unscaled)) == [*VALUE_DOMAINS, *SCALE_DOMAINS]


def test_domains_can_be_named_or_excluded():
    assert applicable_domains(toy(logits, domains=["tied", "tiny"])) == ["tied", "tiny"]
    assert "huge" not in applicable_domains(toy(logits, without_domains={"huge": "overflows"}))


@pytest.mark.parametrize("options", [{"domains": ["generic", "tide"]}, {"without_domains": {"tide": "misspelt"}}])
def test_unknown_domains_are_refused(options):
    with pytest.raises(RegistryError, match=r"toy\.claim: unknown generator domains \['tide'\]"):
        applicable_domains(toy(logits, **options))


def test_excluding_everything_is_refused():
    with pytest.raises(RegistryError, match="no generator domain is left"):
        applicable_domains(toy(logits, domains=["tied"], without_domains={"tied": "because"}))


def test_unannotated_parameters_are_refused():
    def unannotated(X: Tokens, y: Any) -> Any:
        return X + y

    with pytest.raises(RegistryError, match="parameter y has no annotation that says how to draw it"):
        applicable_domains(toy(unannotated))


def test_shapes_resolve_names_and_numbers():
    assert Shape("1", "L").resolve({"L": 4}) == (1, 4)


def test_claims_of_a_script_have_their_kept_inputs_where_it_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)  # as in `python script.py`
    assert file_of("__main__") == Path("witnesses.json")
    assert file_of("theorems.osa.definitions").parent.name == "osa"
