"""Attacks on orders of growth: a count is judged by exponents along growing sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from verify.checks.attack import Attack, Check
from verify.checks.record import UPHELD, VIOLATED, Record, blank, scored, separation_of, sizes_text
from verify.checks.settings import Settings
from verify.inputs.generators import systematic
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import RegistryError
from verify.vocabulary.relations import OrderOfGrowth
from verify.vocabulary.shapes import Size

#: An exponent is not resolved finer than this: one rounding of an exponent of size 1.
FINEST = 2.0**-52


class GrowthAttack(Attack[OrderOfGrowth]):
    """Exponents of cost / formula along every direction of growing sizes."""

    def checks(self, claim: Claim, settings: Settings) -> list[Check]:
        return [Check("order", "counted", self.counted)] + [Check("proved", "norms", self.proved)] * claim.all_sizes

    def proved(self, claim: Claim, settings: Settings) -> Record:
        from verify.checks.order_proofs import proved_order

        return proved_order(claim, settings)

    def violation(self, formula: np.ndarray, oracle: np.ndarray) -> np.ndarray:
        raise RegistryError("no inputs of one size are a counterexample to an order of growth")

    def counted(self, claim: Claim, settings: Settings) -> Record:
        """Count along every direction from several sizes; the worst row and direction judge the claim."""
        worst, message, curves = 0.0, "", []
        mutants = {mutant.name: 0.0 for mutant in claim.mutants}
        seen: dict[str, int] = {}
        starts = dict.fromkeys(draw.sizes for draw in systematic(claim, self.relation.instances, settings.seed))
        for start in starts:
            for direction in self.relation.along:
                grown = [self._sizes(claim, dict(start), direction, scale) for scale in self.relation.scales]
                cost = [_rows(claim, claim.the_part("cost"), sizes) for sizes in grown]
                exponents = self._exponents(cost, [_rows(claim, claim.the_formula, sizes) for sizes in grown])
                resolution = _resolution(exponents)
                residual = float((exponents[-1] / resolution).max())
                if residual > max(1.0, worst):
                    message = (
                        f"along {direction} from {dict(start)} the count outgrows the claim with exponent"
                        f" {float(exponents[-1].max()):.3g}"
                    )
                worst = max(worst, residual)
                for mutant in claim.mutants:
                    wrong = self._exponents(cost, [_rows(claim, mutant.function, sizes) for sizes in grown])
                    excess = wrong[-1] / np.maximum(resolution, _resolution(wrong))
                    mutants[mutant.name] = max(mutants[mutant.name], float(excess.max()))
                seen[f"along {direction}"] = seen.get(f"along {direction}", 0) + len(self.relation.scales)
                curves.append(
                    {
                        "from": dict(start),
                        "along": direction,
                        "scales": list(self.relation.scales),
                        "counts": [[int(entry) for entry in row] for row in cost],
                        "last exponents": exponents[-1].tolist(),
                        "resolutions": resolution.tolist(),
                    }
                )
        total = sum(seen.values())
        return blank(
            claim,
            "order",
            "counted",
            UPHELD if worst <= 1.0 else VIOLATED,
            examples=total,
            satisfied=total,
            domains=seen,
            worst_residual=worst,
            separation=separation_of(mutants, worst),
            mutants={name: scored(value) for name, value in mutants.items()},
            message=message,
            details={"curves": curves},
        )

    def _sizes(self, claim: Claim, start: dict[str, int], direction: str, scale: int) -> dict[str, int]:
        """The formula's arguments with the sizes of `direction` multiplied by `scale`."""
        growing = direction.split()
        unknown = [name for name in growing if name not in start]
        if unknown:
            raise RegistryError(f"{claim.id}: the order of growth is along {unknown}, which are no sizes of the claim")
        arguments = {}
        for name, spec in claim.parameters.items():
            if not isinstance(spec, Size):
                raise RegistryError(f"{claim.id}: an order of growth takes sizes only, and {name} is none")
            arguments[name] = start[spec.name] * scale ** growing.count(spec.name)
        return arguments

    def _exponents(self, cost: list[list[Fraction]], claimed: list[list[Fraction]]) -> np.ndarray:
        """Local exponents of cost / claimed between successive scales, shape (scales - 1, rows)."""
        ratios = [[c / g for c, g in zip(*rows, strict=True)] for rows in zip(cost, claimed, strict=True)]
        step = math.log(self.relation.scales[1] / self.relation.scales[0])
        return np.array(
            [
                [math.log1p(float(after / before - 1)) / step for before, after in zip(*pair, strict=True)]
                for pair in itertools.pairwise(ratios)
            ]
        )


def _resolution(exponents: np.ndarray) -> np.ndarray:
    """How much the exponent of each row changed at the last step."""
    return np.maximum(np.abs(exponents[-1] - exponents[-2]), FINEST)


def _rows(claim: Claim, function: Callable[..., Any], sizes: dict[str, int]) -> list[Fraction]:
    """One positive number per row of the claim, exactly."""
    found = claim.evaluate(function, sizes)
    rows = [Fraction(row) for row in (found if isinstance(found, (list, tuple)) else [found])]
    if any(row <= 0 for row in rows):
        raise RegistryError(
            f"{claim.id}: {function.__name__} gives {found} at {sizes_text(sizes)}, which is no order of growth"
        )
    return rows
