"""Orders of growth: a count of operations or of memory is O(formula), judged by exponents along growing sizes."""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from verify.claims import Claim
from verify.errors import ArithmeticUnsupported, RegistryError
from verify.evidence import UPHELD, VIOLATED, Record
from verify.generators import systematic
from verify.relations.base import Check, Relation, blank, scored, separation_of
from verify.settings import Settings
from verify.shapes import Size

#: An exponent is not resolved finer than this: one rounding of an exponent of size 1.
FINEST = 2.0**-52


@dataclass
class OrderOfGrowth(Relation):
    """The claim's part "cost" is O(formula); both take sizes and return one number per row of the claim.

    `along` names the directions in which sizes are multiplied by the scales, such as ``("N", "d", "N d", "N N d")``, the
    last with N growing as the square of d; sizes not named stay at their drawn values.  cost <= C formula for a constant C
    if the exponent of cost / formula, log(f(s') / f(s)) / log(s' / s), does not end above 0.  What terms of lower order
    add to it dies out, by the ratio of the scales at each step; so its last value must be within its last change, the
    resolution.  That is also the unit of the residual; a mutant's exponent is measured in the coarser of its own
    resolution and the claim's.  A logarithm too many already fails.
    """

    along: tuple[str, ...]
    scales: tuple[int, ...] = tuple(4**k for k in range(9))
    instances: int = 2
    kind = "order"

    def __post_init__(self) -> None:
        if len(self.scales) < 5:
            raise RegistryError(f"an order of growth is fitted over at least five scales, not {len(self.scales)}")
        if len({Fraction(b, a) for a, b in itertools.pairwise(self.scales)}) != 1:
            raise RegistryError("the scales of an order of growth are geometric")
        if not self.along or self.scales[1] <= self.scales[0]:
            raise RegistryError("an order of growth needs directions and growing scales")

    def required_parts(self) -> list[str]:
        return ["cost"]

    def own_checks(self, claim: Claim, settings: Settings) -> list[Check]:
        return [Check("order", "counted", self.counted)]

    def counted(self, claim: Claim, settings: Settings) -> Record:
        """Count along every direction from several sizes; the worst row and direction judge the claim."""
        worst, message, curves = 0.0, "", []
        mutants = {mutant.name: 0.0 for mutant in claim.mutants}
        seen: dict[str, int] = {}
        starts = dict.fromkeys(draw.sizes for draw in systematic(claim, self.instances, settings.seed))
        for start in starts:
            for direction in self.along:
                grown = [self._sizes(claim, dict(start), direction, scale) for scale in self.scales]
                cost = [_rows(claim, claim.the_part("cost"), sizes) for sizes in grown]
                exponents = self._exponents(cost, [_rows(claim, claim.the_formula, sizes) for sizes in grown])
                unit = _resolution(exponents)
                residual = float((exponents[-1] / unit).max())
                if residual > max(1.0, worst):
                    message = (
                        f"along {direction} from {dict(start)} the count outgrows the claim with exponent"
                        f" {float(exponents[-1].max()):.3g}"
                    )
                worst = max(worst, residual)
                for mutant in claim.mutants:
                    wrong = self._exponents(cost, [_rows(claim, mutant.function, sizes) for sizes in grown])
                    excess = wrong[-1] / np.maximum(unit, _resolution(wrong))
                    mutants[mutant.name] = max(mutants[mutant.name], float(excess.max()))
                seen[f"along {direction}"] = seen.get(f"along {direction}", 0) + len(self.scales)
                curves.append(
                    {
                        "from": dict(start),
                        "along": direction,
                        "scales": list(self.scales),
                        "counts": [[int(entry) for entry in row] for row in cost],
                        "last exponents": exponents[-1].tolist(),
                        "resolutions": unit.tolist(),
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
        step = math.log(self.scales[1] / self.scales[0])
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
        raise RegistryError(f"{claim.id}: {function.__name__} gives {found} at {sizes}, which is no order of growth")
    return rows


# -- counting what an implementation does ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """Floating-point operations, and the largest number of entries alive at a time, arguments not included."""

    operations: int
    memory: int


def count(function: Callable[..., Any], *arguments: Any, squarings: int = 8) -> Count:
    """What the torch code `function` does at these arguments; on the meta device nothing is computed or allocated.

    A product of (m, k) by (k, n) counts 2 m n k.  Torch's kernels cannot be looked into, so theirs are stated: a reduced
    QR is Householder's with its orthonormal factor formed (Golub and Van Loan, 5.2.2), the exponential a Taylor polynomial
    of degree 18 in 5 products and `squarings` squarings.  (Their number depends on the norm, not on the size.)  Their
    workspace, a fixed multiple of what they take and return, is not counted.  Any other operation that fills new memory
    counts once per entry of its result; a further factorisation is refused.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    aten = torch.ops.aten

    class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
        operations = live = peak = 0

        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.storages: dict[int, int] = {}

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            filled = sum(self.keep(tensor) for tensor in (out if isinstance(out, (tuple, list)) else [out]))
            packet = func.overloadpacket
            if packet is aten.linalg_qr:
                self.operations += _householder(*args[0].shape[-2:])
            elif packet is aten.linalg_matrix_exp:
                self.operations += 2 * (5 + squarings) * int(args[0].shape[-1]) ** 3
            elif packet in flop_registry:
                self.operations += int(flop_registry[packet](*args, **(kwargs or {}), out_val=out))
            elif "linalg" in str(packet) or "cholesky" in str(packet):
                raise ArithmeticUnsupported(f"the operations of {packet} are not stated, so they cannot be counted")
            else:
                self.operations += filled
            return out

        def keep(self, tensor: Any) -> int:
            """The entries of `tensor` if its memory is new, alive from now on until it is released; 0 for views."""
            if not isinstance(tensor, torch.Tensor):
                return 0
            storage = tensor.untyped_storage()
            key, entries = storage._cdata, storage.nbytes() // tensor.element_size()
            if key in self.storages:
                return 0
            self.storages[key] = entries
            self.live += entries
            self.peak = max(self.peak, self.live)
            weakref.finalize(storage, self.release, key)
            return entries

        def release(self, key: int) -> None:
            self.live -= self.storages.pop(key)

    with Counter() as counter:
        counter.storages = {argument.untyped_storage()._cdata: 0 for argument in arguments}
        result = function(*arguments)
    del result
    return Count(int(counter.operations), int(counter.peak))


def _householder(m: int, n: int) -> int:
    """Operations of a reduced QR of (m, n): the triangular factor, then the first min(m, n) columns of the other."""
    k = min(m, n)
    triangular = 2 * k * k * (max(m, n) - Fraction(k, 3))
    return math.ceil(triangular + 2 * k * k * (m - Fraction(k, 3)))
