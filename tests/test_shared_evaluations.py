"""What checks evaluate together gives what it gives one by one: draws, ascents, variants of a bound, contractions."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest
import sympy
import torch

from tests import claims_that_fail as toy
from theorems.hessian.part_4_design import gpt2_block
from verify.arithmetics.symbols.heads import tensor
from verify.arithmetics.symbols.points import NumericPoint, _contracted, in_floats
from verify.arithmetics.symbols.scalars import ONE
from verify.arithmetics.symbols.sums import single
from verify.checks import checks_of, equality, foresight, limits
from verify.checks.ascent import _Stop, ascents
from verify.checks.decisions import Place
from verify.checks.equality import EqualityAttack
from verify.checks.evaluation import one_of
from verify.checks.foresight import foreseen, plan
from verify.checks.record import UPHELD, VIOLATED
from verify.checks.search import Violated, one_of_each_domain, search
from verify.checks.settings import settings_for
from verify.evidence.parallel import tasks_of
from verify.inputs.generators import Draw, applicable_domains, systematic
from verify.inputs.witnesses import Given, Witnesses
from verify.matrix import spectral
from verify.vocabulary import Claim, load
from verify.vocabulary.shapes import Real, Shape, Size

pytestmark = pytest.mark.kept

SETTINGS = settings_for("quick")


def found_in(claim: Claim, ahead: bool, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the sampled check finds, with its draws evaluated ahead or one by one."""
    attack = EqualityAttack(claim.relation)
    with monkeypatch.context() as patched:
        if not ahead:
            patched.setattr(equality, "plan", lambda *_: 1 / 0)
        else:
            patched.setattr(equality, "search", lambda *_: 1 / 0)
        return dataclasses.asdict(attack.sampled(claim, SETTINGS, "float64"))


def test_draws_evaluated_ahead_give_the_same_record(monkeypatch):
    one = found_in(toy.TRUE_IDENTITY, True, monkeypatch)
    assert one == found_in(toy.TRUE_IDENTITY, False, monkeypatch)
    assert one["outcome"] == UPHELD and one["mutants"] and all(each["killed"] for each in one["mutants"].values())


def test_values_of_another_draw_would_be_seen(monkeypatch):
    """The halves of a group exchanged: what is found then is a violation."""
    right = torch.Tensor.split

    def exchanged(value: torch.Tensor, seeds: Any) -> Any:
        parts = right(value, seeds)
        return parts if value.shape[1] == 0 or value is not exchanged.last else parts[::-1]  # type: ignore[attr-defined]

    whole = foresight.all_in_batch

    def remembered(*args: Any) -> Any:
        values = whole(*args)
        exchanged.last = values[0]  # type: ignore[attr-defined]
        return values

    monkeypatch.setattr(foresight, "all_in_batch", remembered)
    monkeypatch.setattr(torch.Tensor, "split", exchanged)
    record = EqualityAttack(toy.TRUE_IDENTITY.relation).sampled(toy.TRUE_IDENTITY, SETTINGS, "float64")
    assert record.outcome == VIOLATED


def test_a_violation_ahead_stands_if_the_search_does_not_find_it_again(monkeypatch):
    attack = EqualityAttack(toy.TRUE_IDENTITY.relation)
    plain = attack._sampled

    def once(claim: Claim, settings: Any, dtype: str, *ahead: Any) -> Any:
        if ahead:
            raise Violated("residual 7 units", {"domain": "generic"})
        return plain(claim, settings, dtype)

    monkeypatch.setattr(attack, "_sampled", once)
    record = attack.sampled(toy.TRUE_IDENTITY, SETTINGS, "float64")
    assert (record.outcome, record.message, record.details["domain"]) == (VIOLATED, "residual 7 units", "generic")


@pytest.mark.parametrize(
    "settings", [SETTINGS, settings_for("quick", seed=3)], ids=["a fixed seed", "a seed asked for"]
)
@pytest.mark.parametrize("claim", [toy.TRUE_IDENTITY, toy.FALSE_IDENTITY, toy.CORNER_BOUND], ids=lambda claim: claim.id)
def test_foreseen_draws_are_those_of_the_search(claim, settings):
    """The first two have as many sizes and domains as each other, so that Hypothesis draws for both once."""
    seen: list[Draw] = []
    search(claim, settings, seen.append, settings.effort.examples)  # type: ignore[arg-type]
    assert foresight.foreseen(claim, settings, settings.effort.examples) == tuple(seen)
    assert {draw.domain for draw in seen} >= set(applicable_domains(claim)) and len(seen) > settings.effort.examples


def test_of_the_domains_that_are_violated_the_most_ordinary_is_shown():
    seen: list[Draw] = []

    def violated(draw: Any) -> None:
        seen.append(draw)
        raise Violated(repr(draw), {})

    found = search(toy.TRUE_IDENTITY, SETTINGS, violated, SETTINGS.effort.examples)
    assert {draw.domain for draw in seen} == set(applicable_domains(toy.TRUE_IDENTITY))
    assert str(found) == repr(seen[-1]) and seen[-1].domain == "generic"


SPECS = {"A": Shape("m", "n"), "t": Real(-1.0, 0.3)}


def score(raw: Any) -> torch.Tensor:
    """Highest at A = 1/2, and at the upper end of t."""
    return raw["t"] - (raw["A"] - 0.5).square().sum((1, 2))


def starts() -> list[dict[str, Any]]:
    generator = torch.Generator().manual_seed(1)

    def start(batch: int, *shape: int) -> dict[str, Any]:
        made = torch.randn(batch, *shape, generator=generator, dtype=torch.float64)
        return {"A": made, "t": torch.zeros(batch, dtype=torch.float64)}

    return [start(4, 2, 3), start(1, 2, 3), start(4, 1, 3)]


def test_ascents_end_where_they_end_alone():
    together = ascents(SPECS, starts(), score, 60)
    alone = [ascents(SPECS, [start], score, 60)[0] for start in starts()]
    for one, other in zip(together, alone, strict=True):
        assert one.seen == other.seen
        assert all(torch.equal(one.raw[name], other.raw[name]) for name in SPECS)
    assert all(bool((ascent.raw["t"] == 0.3).all()) for ascent in together)


def test_ascents_are_those_of_torch():
    (start, *_) = starts()
    free = {name: value.clone().requires_grad_(True) for name, value in start.items()}
    adam = torch.optim.Adam(list(free.values()), lr=0.03)
    for _ in range(15):
        adam.zero_grad()
        (-score(free).sum()).backward()
        adam.step()
        with torch.no_grad():
            free["t"].clamp_(-1.0, 0.3)
    (found,) = ascents(SPECS, [start], score, 15)
    assert found.seen == 15 * 4
    assert all(torch.equal(found.raw[name], free[name].detach()) for name in SPECS)


def test_ascents_stop_without_progress():
    (found,) = ascents(SPECS, [starts()[0]], lambda raw: raw["t"] * 0, 400)
    assert 4 * 100 < found.seen <= 4 * 102  # a quarter of all steps


def test_the_other_side_of_a_bound_is_evaluated_once_for_all_variants():
    claim = toy.TRUE_BOUND
    calls: list[int] = []
    oracle = claim.the_oracle

    draw = systematic(claim, 1, 0)[0]
    raw = one_of(claim, draw.arrays(claim, 1), 0)
    place, before = Place(claim, raw), claim.evaluate

    def evaluate(function: Any, inputs: Any) -> Any:
        calls.append(function is oracle)
        return before(function, inputs)

    claim.evaluate = evaluate  # type: ignore[method-assign]
    try:
        decisions = [place.decide(claim.the_formula), *(place.decide(mutant.function) for mutant in claim.mutants)]
        assert place.decide(claim.the_formula) is decisions[0]
    finally:
        del claim.evaluate  # type: ignore[method-assign]
    assert sum(calls) <= 2  # once at each precision that is asked for
    assert [place.excess(mutant.function) for mutant in claim.mutants] == [
        Place(claim, raw).excess(mutant.function) for mutant in claim.mutants
    ]


@pytest.mark.parametrize("seed", range(40))
def test_contractions_are_those_of_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, summed = int(rng.integers(0, 4)), int(rng.integers(0, 6))
    sizes = rng.integers(1, 5, count + summed)
    factors = []
    for _ in range(int(rng.integers(1, 7))):
        own = tuple(map(int, rng.integers(0, count + summed, int(rng.integers(0, 5))))) if count + summed else ()
        factors.append((rng.standard_normal([sizes[i] for i in own]), own))
    met = {i for _, own in factors for i in own}
    factors += [(np.ones(sizes[i]), (i,)) for i in range(count) if i not in met]
    expected = np.einsum(*(item for pair in factors for item in pair), range(count))
    assert np.allclose(_contracted(factors, count), expected, rtol=1e-12, atol=1e-12)


def test_terms_that_two_sums_share_are_evaluated_for_the_slots_of_each():
    m, n = sympy.symbols("m n", integer=True, positive=True)
    A, found = tensor("A", (m, n)), []
    for point in (NumericPoint({m: 2, n: 3}, {"A": np.arange(6.0).reshape(2, 3)}) for _ in range(2)):
        sums = [single(A, (0, 1), (m, n)), single(A, (0, 1), (m, n, m)), single(A, (0, 1), (m, n)).times(ONE + ONE)]
        found.append([point.values(each) for each in (sums if not found else sums[::-1])])
    assert [value.shape for value in found[0]] == [(2, 3), (2, 3, 2), (2, 3)]
    assert all(np.array_equal(one, other) for one, other in zip(found[0], found[1][::-1], strict=True))
    assert np.array_equal(found[0][2], 2 * found[0][0]) and found[0][0][1, 2] == 5


def test_coefficients_in_floats_are_what_sympy_finds():
    d, c = sympy.Symbol("d", integer=True, positive=True), sympy.Symbol("c", real=True)
    values = {d: 3, c: -0.7}
    for each in (
        d, c, sympy.Rational(2, 3), 1 / sympy.sqrt(d), 2 * d - c / d, (d + c) ** sympy.Rational(-3, 2), c**3, c**-2,
        sympy.sqrt(2) * c * d, sympy.exp(c), sympy.log(d) / d, (c + 1) ** 2 * (c - 1), sympy.pi * d, sympy.Integer(0),
        (d - 3) ** 2 + 1, sympy.Abs(c) ** sympy.Rational(1, 2),
    ):  # fmt: skip
        assert float(in_floats(each, values)) == pytest.approx(float(each.subs(values)), rel=1e-14)


def test_rotations_diagonalise_what_floats_cannot_tell_apart():
    tiny = flint.arb(2) ** -90
    B = np.array([[1 + tiny, tiny, 0], [tiny, 1 - tiny, 2 * tiny], [0, 2 * tiny, 1]], dtype=object)
    B = np.array([[flint.arb(entry) for entry in row] for row in B], dtype=object)
    V = spectral._eigenvectors_in_full(B)
    C = V.transpose() * flint.arb_mat(B.tolist()) * V
    off = max(abs(C[i, j]).upper() for i in range(3) for j in range(3) if i != j)
    assert off < flint.arb(2) ** -280
    values = spectral.symmetric_eigenvalues(B)
    assert bool(values[1] - values[0] > tiny) and bool(values[2] - values[1] > tiny)


def test_what_took_longest_comes_first_and_what_never_ran_by_its_kind():
    claims = [toy.TRUE_IDENTITY, toy.TRUE_BOUND]
    known = {("toy.true-bound", "enclosed"): 3.0}
    tasks = tasks_of(claims, SETTINGS, known)
    assert tasks[:2] == [("toy.true-bound", "enclosed"), ("toy.true-bound", "attacked float64")]
    assert len(tasks) == sum(len(checks_of(claim, SETTINGS)) for claim in claims)
    assert tasks.index((toy.TRUE_IDENTITY.id, "sampled float32")) < tasks.index((toy.TRUE_IDENTITY.id, "enclosed"))


def test_an_ascent_goes_on_while_the_score_rises() -> None:
    stop, rising = _Stop(3), [torch.tensor([float(k)]) for k in range(12)]
    assert not any(stop.reached(score) for score in rising)
    level = [stop.reached(rising[-1]) for _ in range(5)]
    assert level == [False, False, False, True, True]


def test_in_float32_every_domain_and_a_quarter_of_the_other_draws_are_examined() -> None:
    claim, kept = toy.TRUE_IDENTITY, Witnesses()
    usual = settings_for("ci")
    draws = plan(claim, usual, kept).certain
    fewer = plan(claim, usual, kept, "float32").certain
    assert fewer == draws[: len(fewer)] and {draw.domain for draw in fewer} == {draw.domain for draw in draws}
    first = len(one_of_each_domain(claim, usual))
    assert first < len(fewer) <= first + len(draws) // 4
    for other in (settings_for("deep"), settings_for("ci", dtypes=("float32",))):
        whole = foreseen(claim, other, other.effort.examples)
        assert plan(claim, other, kept, "float32").certain == whole == plan(claim, other, kept, "float32").draws


def test_points_of_equal_shapes_are_evaluated_together_whatever_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws, kept draws with other numbers of seeds, and explicit inputs; each has the values that it has alone."""
    claim, usual = toy.TRUE_IDENTITY, settings_for("ci")
    drawn = systematic(claim, 6, 0)
    points = [*drawn, dataclasses.replace(drawn[0], seeds=5), Given(one_of(claim, drawn[0].arrays(claim, 1), 0))]
    groups: list[int] = []
    whole = foresight.all_in_batch

    def counted(claim: Claim, functions: Any, raw: Any) -> Any:
        groups.append(len(next(value for value in raw.values() if not isinstance(value, int))))
        return whole(claim, functions, raw)

    monkeypatch.setattr(foresight, "all_in_batch", counted)
    functions = [claim.the_formula, claim.the_oracle]
    ahead = foresight.Ahead(claim, functions, points, usual, "float64")
    for point in points:
        alone = foresight.Ahead(claim, functions, [point], usual, "float64").at(point)
        found = ahead.at(point)
        assert all(torch.equal(mine, own) for mine, own in zip(found.values, alone.values, strict=True))
        assert len(found.values[0]) == (point.seeds or usual.effort.batch)
        assert point not in ahead
    shapes = {foresight.shapes_at(claim, point) for point in points}
    together = [seeds for seeds in groups if seeds not in (5, 1, usual.effort.batch)]
    assert len(groups) == len(points) + len(shapes) and max(together) >= usual.effort.batch + 6


def test_inputs_are_grouped_by_name_in_whatever_order_they_were_found() -> None:
    """By values in their own order two points could share sizes that only one of them has."""
    claim: Any = SimpleNamespace(parameters={"n": Size("n"), "m": Size("m")})
    given = Given({"m": 3, "n": 2})
    assert foresight.shapes_at(claim, given) == foresight.shapes_at(claim, Given({"n": 2, "m": 3})) == (2, 3)
    assert foresight.shapes_at(claim, Given({"n": 3, "m": 2})) == (3, 2)


@pytest.mark.parametrize("pooling", ["average", "sum"])
def test_a_random_sequence_runs_for_all_seeds_at_once_with_the_matrices_of_each(pooling: str) -> None:
    claim, seeds = load()[f"convergence.lemma-1-{pooling}-pooling"], [3, 1, 4, 1, 5]
    X = torch.tensor(one_of(claim, systematic(claim, 3, 0)[0].arrays(claim, 1), 0)["X"])
    given = {"X": X, "scale": 32}
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    together = limits._samples_together(claim, claim.the_part("sequence"), given, generators)
    assert torch.equal(together, limits._samples(claim, claim.the_part("sequence"), given, seeds, SETTINGS))
    alone = [
        claim.evaluate(claim.the_part("sequence"), {**given, "generator": torch.Generator().manual_seed(seed)})
        for seed in seeds
    ]
    torch.testing.assert_close(together, torch.stack([value.reshape(-1) for value in alone]), rtol=1e-12, atol=1e-14)
    assert torch.equal(together[1], together[3]) and not torch.allclose(together[0], together[1])


def test_a_sequence_that_draws_in_its_own_way_runs_seed_by_seed() -> None:
    claim = toy.RIGHT_LIMIT
    sequence, given = claim.the_part("sequence"), {"v": torch.ones(1, 2, dtype=torch.float64), "scale": 64}
    with pytest.raises(TypeError):
        limits._samples_together(claim, sequence, given, [torch.Generator()])
    found = limits._samples(claim, sequence, given, [7, 8], SETTINGS)
    alone = [sequence(**given, generator=torch.Generator().manual_seed(seed)) for seed in (7, 8)]
    assert torch.equal(found, torch.stack(alone)) and not torch.equal(found[0], found[1])


def test_derivatives_by_rows_and_by_columns_are_those_of_torch() -> None:
    generator = torch.Generator().manual_seed(0)
    tokens, weights = gpt2_block.random_block(4, 2, generator)
    labels = tokens[:, 1:].reshape(-1)

    def network(W: Any) -> Any:
        return gpt2_block.predictions({**weights, "Q": W}, tokens, 0.8, norm=True)

    def loss(W: Any) -> Any:
        return torch.nn.functional.cross_entropy(network(W), labels)

    J = gpt2_block.jacobian_by_columns(network, weights["Q"])
    torch.testing.assert_close(J, torch.func.jacrev(network)(weights["Q"]).flatten(-2))
    H = gpt2_block.hessian_by_rows(loss, weights["Q"])
    torch.testing.assert_close(H, torch.func.hessian(loss)(weights["Q"]).reshape(16, 16))
    assert float(H.abs().max()) > 1e-3 and not H.requires_grad and not J.requires_grad


def test_the_eigenvalue_of_one_entry_is_that_entry_with_its_radius() -> None:
    entry = flint.arb(3, 2.0**-40)
    (value,) = spectral.symmetric_eigenvalues(np.array([[entry]], dtype=object))
    assert value.contains(entry) and float(value.rad()) == float(entry.rad())
    unbounded = np.array([[flint.arb(1) / flint.arb(0, 1)]], dtype=object)
    assert not spectral.symmetric_eigenvalues(unbounded)[0].is_finite()


def test_seeds_that_balls_cannot_decide_do_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rounding makes them the worst of a batch, as kernels of another device do, the next worst one decides."""
    claim = load()["dynamics.eq-17"]
    settings = settings_for("ci")

    def scores(most: int) -> list[float]:
        monkeypatch.setattr(equality, "UNDECIDED", most)
        sampling = equality._Sampling(EqualityAttack(claim.relation), claim, settings, "float32")
        (draw,) = [each for each in sampling._starts if isinstance(each, Draw) and each.domain == "kinks"]
        at = sampling._evaluated(draw)
        undecided = [k for k in range(settings.effort.batch) if not sampling._unit(at.arrays, k).usable]
        assert 0 < len(undecided) <= equality.UNDECIDED or not most
        at.values[0][undecided] *= 1 + 1e-4
        monkeypatch.setattr(sampling, "_evaluated", lambda *_: at)
        sampling._compare(draw)
        return list(sampling.mutants.values())

    assert all(score > 1000 for score in scores(equality.UNDECIDED))
    assert scores(0) == [0.0, 0.0]
