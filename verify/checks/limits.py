"""Attacks on limits: a sequence is judged by its observed rate over at least five scales and several seeds."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import flint
import numpy as np

from verify.arithmetics import precision
from verify.checks.attack import Attack, Check
from verify.checks.evaluation import UNDEFINED, as_balls, at_objects, one_of
from verify.checks.record import UPHELD, VIOLATED, Record, blank, scored
from verify.checks.satisfied import satisfies
from verify.checks.search import Tally
from verify.checks.settings import Settings, torch_dtype
from verify.checks.units import magnitude
from verify.inputs.generators import systematic
from verify.oracles.expectations import Drawn
from verify.oracles.statistics import FALSE_ALARM, two_sided_p
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import ArithmeticUnsupported
from verify.vocabulary.relations import PowerRate, QuadraticRate, TendsTo

#: Below this, relative to the limit, an error is rounding: the limit is reached.
EXACT = 1e-12
#: How many times more inputs than needed are tried for some at which the limit is not reached at every scale.
INSTANCES_TRIED = 4
#: log10 of the error at which the limit of a deterministic sequence counts as reached.
REACHED = -12.0
#: Digits per bit of precision, half of what a bit holds, beyond which an error is rounding.
DIGITS_LEFT = 0.15


class LimitAttack(Attack[TendsTo]):
    """Errors of the sequence along the scales: in balls where it is deterministic, over seeds where it is random."""

    def checks(self, claim: Claim, settings: Settings) -> list[Check]:
        if isinstance(self.relation.rate, QuadraticRate) or self.relation.rate.deterministic:
            return [Check("rate", "ball", self.deterministic)]
        return [Check("rate", "float64", self.random)] + [Check("proved", "symbols", self.proved)] * claim.all_sizes

    def proved(self, claim: Claim, settings: Settings) -> Record:
        from verify.checks.limit_proofs import proved_limit

        return proved_limit(claim, settings)

    # -- deterministic sequences ---------------------------------------------------------------------------------------

    def deterministic(self, claim: Claim, settings: Settings) -> Record:
        """Errors along the scales in balls; the order of convergence is fitted where the error is small and positive.

        Under a power rate it is the exponent at which the error falls, fitted at each input whose limit is not reached.
        """
        tally, worst_final, orders = Tally(), -math.inf, []
        finals: dict[str, float] = {mutant.name: -math.inf for mutant in claim.mutants}
        curves = []
        sequence = claim.the_part("sequence")
        wanted = settings.effort.enclosed
        with precision(self.relation.bits):
            for draw in systematic(claim, 4 * wanted, settings.seed):
                if tally.satisfied >= wanted:
                    break
                seed = one_of(claim, draw.arrays(claim, 1), 0)
                try:
                    inputs = claim.prepare(as_balls(seed))
                    met = satisfies(claim, inputs)
                    limit = at_objects(claim, claim.the_formula, as_balls(seed))
                    values = self._values(claim, sequence, inputs) if met is True else []
                    _require_finite(limit, *values)
                except UNDEFINED:
                    tally.count(draw, 1, 0, 1)
                    continue
                if met is not True:
                    tally.count(draw, 1, 0, 0)
                    continue
                tally.count(draw, 1, 1, 0)
                logs = _log_errors(values, limit)
                curves.append({"scales": list(self.relation.scales), "log10 error": logs})
                worst_final = max(worst_final, logs[-1])
                orders.append(self._observed(logs))
                for mutant in claim.mutants:
                    with contextlib.suppress(*UNDEFINED):  # a limit without a value is no measured mismatch
                        _require_finite(wrong := at_objects(claim, mutant.function, as_balls(seed)))
                        finals[mutant.name] = max(finals[mutant.name], _log_errors(values, wrong)[-1])
        fitted = [order for order in orders if order is not None]
        if isinstance(self.relation.rate, QuadraticRate):
            order = self.relation.rate.order
            converged = worst_final < REACHED and bool(fitted) and all(found >= order for found in fitted)
        else:
            converged = all(order >= self.relation.rate.exponent - self.relation.rate.slack for order in fitted)
        gaps = {name: 10.0 ** min(final - worst_final, 300.0) for name, final in finals.items()}
        return blank(
            claim,
            "rate",
            "ball",
            UPHELD if converged and tally.satisfied else VIOLATED,
            **tally.values(),
            worst_residual=10.0 ** min(worst_final, 300.0) if math.isfinite(worst_final) else worst_final,
            separation=min(gaps.values(), default=None),
            mutants={name: scored(value) for name, value in gaps.items()},
            message="" if converged else f"final log10 error {worst_final:.3g}, orders {fitted}",
            details={"order": min(fitted) if fitted else None, "curves": curves[:3]},
        )

    def _observed(self, logs: list[float]) -> float | None:
        """The order, or under a power rate the exponent, at which errors fall; None where none can be fitted."""
        if isinstance(self.relation.rate, QuadraticRate):
            return _order(logs)
        rounding = -self.relation.bits * DIGITS_LEFT
        # an error may vanish at a scale by chance, which says nothing of how errors fall
        left = [(math.log10(at), log) for at, log in zip(self.relation.scales, logs, strict=True) if log >= rounding]
        if logs[-1] < rounding or len(left) < 2:
            return None
        return -float(np.polyfit([scale for scale, _ in left], [log for _, log in left], 1)[0])

    def _values(self, claim: Claim, sequence: Any, inputs: dict[str, Any]) -> list[np.ndarray]:
        """The sequence at every scale, flattened."""
        found = (claim.evaluate(sequence, {**inputs, "scale": scale}) for scale in self.relation.scales)
        return [np.asarray(value, dtype=object).reshape(-1) for value in found]

    # -- random sequences ----------------------------------------------------------------------------------------------

    def random(self, claim: Claim, settings: Settings) -> Record:
        """Errors over scales and seeds in float64: slope of log RMS error, and a t-test of the mean extrapolated from all.

        The exponent is wrong where the mean slope is farther from it than the slack for certain, by a t-test with the
        spread that leaving out one seed at a time shows.  Inputs at which the limit is reached at every scale have no slope.
        """
        import torch

        assert isinstance(self.relation.rate, PowerRate)
        tally = Tally()
        sequence = claim.the_part("sequence")
        slopes: list[float] = []
        variances: list[float] = []
        p_true = 1.0
        p_mutants = {mutant.name: 1.0 for mutant in claim.mutants}
        curves = []
        for draw in systematic(claim, INSTANCES_TRIED * self.relation.instances, settings.seed):
            if len(slopes) >= self.relation.instances:
                break
            seed = one_of(claim, draw.arrays(claim, 1), 0)
            tensors = {
                name: value
                if isinstance(value, int)
                else torch.as_tensor(value, dtype=torch_dtype("float64"), device=settings.device)
                for name, value in seed.items()
            }
            inputs = claim.prepare(tensors)
            limit = claim.evaluate(claim.the_formula, inputs).reshape(-1)
            squares, at_scale = [], []
            seeds = [hash((settings.seed, draw.seed, trial)) % 2**31 for trial in range(settings.effort.trials)]
            for scale in self.relation.scales:
                samples = _samples(claim, sequence, {**inputs, "scale": scale}, seeds, settings)
                at_scale.append(samples)
                squares.append((samples - limit).square().mean(1).cpu().numpy())
            if not np.isfinite(squares).all():
                tally.count(draw, settings.effort.trials, 0, settings.effort.trials)
                continue
            tally.count(draw, settings.effort.trials, settings.effort.trials, 0)
            rms = [math.sqrt(seen.mean()) for seen in squares]
            if rms[-1] > EXACT * (1 + float(limit.abs().max())):
                slopes.append(_slope(self.relation.scales, rms))
                variances.append(_slope_variance(self.relation.scales, np.array(squares)))
            samples = self._without_bias(at_scale)
            p_true = min(p_true, _mean_p(samples, limit))
            for mutant in claim.mutants:
                wrong = claim.evaluate(mutant.function, inputs).reshape(-1)
                p_mutants[mutant.name] = min(p_mutants[mutant.name], _mean_p(samples, wrong))
            curves.append(
                {
                    "scales": list(self.relation.scales),
                    "rms error": rms,
                    "limit": limit.tolist(),
                    "mean": samples.mean(0).tolist(),
                }
            )
        p_true = min(1.0, p_true * len(curves))
        p_mutants = {name: min(1.0, p * len(curves)) for name, p in p_mutants.items()}
        observed = float(np.mean(slopes)) if slopes else math.nan
        spread = math.sqrt(sum(variances)) / max(len(slopes), 1)
        beyond = abs(observed + self.relation.rate.exponent) - self.relation.rate.slack
        degrees = len(slopes) * (settings.effort.trials - 1)
        p_rate = two_sided_p(beyond / spread, degrees) if beyond > 0 and spread > 0 else float(beyond <= 0)
        good = bool(slopes) and min(p_rate, p_true) >= FALSE_ALARM
        gaps = {name: p_true / max(p, 1e-300) for name, p in p_mutants.items()}
        return blank(
            claim,
            "rate",
            "float64",
            UPHELD if good else VIOLATED,
            device=settings.device,
            **tally.values(),
            worst_residual=abs(math.log10(max(p_true, 1e-300))),
            separation=min(gaps.values(), default=None),
            mutants={name: scored(value) for name, value in gaps.items()},
            message=""
            if good
            else f"observed exponent {-observed:.3g} (standard error {spread:.2g}, from {len(slopes)} inputs),"
            f" p-value of the extrapolated mean {p_true:.3g}",
            details={
                "exponent": -observed if slopes else None,
                "standard error": spread,
                "p": p_true,
                "false alarm": FALSE_ALARM,
                "curves": curves,
            },
        )

    def _without_bias(self, at_scale: list[Any]) -> Any:
        """Samples of the limit, shape (seeds, entries): those of all scales with weights at which no bias is left.

        A mean may be off by as much as its samples spread, in the order scale^-exponent at a kink (a gate that is closed at
        the limit can only open), in scale^(-2 exponent) elsewhere, and then no width outgrows it.  The weights are those of
        least squares for a limit and both orders, with a spread of scale^-exponent.
        """
        assert isinstance(self.relation.rate, PowerRate)
        sizes = np.array(self.relation.scales, dtype=float) / self.relation.scales[-1]
        spread = sizes**-self.relation.rate.exponent
        orders = np.stack([np.ones_like(spread), spread, spread**2], axis=1)
        weights = np.linalg.pinv(orders / spread[:, None])[0] / spread
        return sum(weight * samples for weight, samples in zip(weights.tolist(), at_scale, strict=True))


def _samples(
    claim: Claim, sequence: Callable[..., Any], inputs: dict[str, Any], seeds: Sequence[int], settings: Settings
) -> Any:
    """What the sequence gives with a generator of each of the seeds, shape (seeds, entries)."""
    import torch

    generators = [torch.Generator(device=settings.device).manual_seed(seed) for seed in seeds]
    if claim.batched:
        with contextlib.suppress(Exception):  # what it raises is raised seed by seed
            return _samples_together(claim, sequence, inputs, generators)
        generators = [generator.manual_seed(seed) for generator, seed in zip(generators, seeds, strict=True)]
    found = [claim.evaluate(sequence, {**inputs, "generator": generator}) for generator in generators]
    return torch.stack([value.reshape(-1) for value in found])


def _samples_together(
    claim: Claim, sequence: Callable[..., Any], inputs: dict[str, Any], generators: Sequence[Any]
) -> Any:
    """What `_samples` gives, in one run for all seeds: the matrices are drawn that `standard_normal` would draw.

    Raises where the sequence draws otherwise, as it cannot with a generator that only hands out matrices.
    """
    import torch

    def drawn(generator: Any) -> dict[str, Any]:
        kind = {"dtype": torch_dtype("float64"), "device": generator.device}
        return {name: torch.randn(*shape, generator=generator, **kind) for name, shape in noted.shapes.items()}

    def at(matrices: dict[str, Any]) -> Any:
        handing_out = Drawn(lambda name, *_: matrices[name])
        return claim.evaluate(sequence, {**inputs, "generator": handing_out}).reshape(-1)

    kind = {"dtype": torch_dtype("float64"), "device": generators[0].device}
    noted = Drawn(lambda _, *shape: torch.ones(*shape, **kind))
    claim.evaluate(sequence, {**inputs, "generator": noted})
    each = list(map(drawn, generators))
    return torch.func.vmap(at)({name: torch.stack([one[name] for one in each]) for name in noted.shapes})


def _require_finite(*values: np.ndarray) -> None:
    """Raise `ArithmeticUnsupported` where a quotient of enclosures that contain zero left an entry without a value."""
    if not all(flint.arb(entry).is_finite() for value in values for entry in value):
        raise ArithmeticUnsupported("an entry is undefined, or its enclosure unbounded, at these inputs")


def _log_errors(values: list[np.ndarray], limit: np.ndarray) -> list[float]:
    """log10 of the largest error at every scale."""
    return [_log10(magnitude(value - limit)) for value in values]


def _log10(error: Any) -> float:
    """log10 of an upper bound of a ball, far below the range of floats if need be."""
    upper = error.upper()
    if not upper.is_finite():
        return math.inf
    return float((upper.log() / type(upper)(10).log()).mid()) if upper > 0 else -1e6


def _order(logs: list[float]) -> float | None:
    """Slope of log e_{k+1} against log e_k where errors are below 0.1 and still being squared, or None."""
    pairs = [(a, b) for a, b in itertools.pairwise(logs) if -160 < a < -1 and b > -320]
    if len(pairs) < 2:
        return None
    x, y = np.array(pairs).T
    return float(np.polyfit(x, y, 1)[0])


def _slope(scales: tuple[int, ...], errors: list[float]) -> float:
    return float(np.polyfit(np.log(scales), np.log(np.maximum(errors, 1e-300)), 1)[0])


def _slope_variance(scales: tuple[int, ...], squares: np.ndarray) -> float:
    """Variance of the slope, by leaving out one seed at a time; `squares` are mean squared errors, shape (scales, seeds)."""
    trials = squares.shape[1]
    others = (squares.sum(1, keepdims=True) - squares) / (trials - 1)
    slopes = np.array([_slope(scales, list(np.sqrt(others[:, trial]))) for trial in range(trials)])
    return float((trials - 1) * slopes.var())


def _mean_p(samples: Any, limit: Any) -> float:
    """p-value, Bonferroni over entries, that the mean over seeds (rows) differs from `limit` by chance (Student's t).

    1 where the limit, as of a mutant, is not finite: nothing was measured.
    """
    if not bool(limit.isfinite().all()):
        return 1.0
    n = samples.shape[0]
    errors = samples.mean(0) - limit
    spread = samples.std(0) / math.sqrt(n)
    rounding = EXACT * (1 + float(limit.abs().max()))
    p = 1.0
    for error, deviation in zip(errors.tolist(), spread.tolist(), strict=True):
        if abs(error) < rounding:
            continue
        p = min(p, two_sided_p(error / deviation, degrees=n - 1) if deviation else 0.0)
    return min(1.0, p * len(errors))
