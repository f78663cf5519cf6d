"""Gradient ascent on a score from several batches of inputs: by Adam, batches of equal shapes together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verify.vocabulary.shapes import Real, Spec

if TYPE_CHECKING:
    import torch

#: Step size, decay of the two averages and least root of the second in Adam (Kingma and Ba, 2015).
RATE, FIRST, SECOND, LEAST = 0.03, 0.9, 0.999, 1e-8
#: Matrices stay in this range.
LARGEST = 64.0
#: A score that has not risen by this share for a quarter of all steps, and for so many, does not rise any more.
RISE, PATIENCE = 1e-3, 20

Tensors = dict[str, Any]
#: The score (batch,) of tensors with a leading batch axis.
Score = Callable[[Mapping[str, Any]], Any]


@dataclass
class Ascent:
    """Where the ascent from one batch of inputs ended, how many inputs it saw, and where its score was infinite on the way."""

    raw: Tensors
    seen: int = 0
    crossed: list[Tensors] = field(default_factory=list)


class _Adam:
    """Adam on tensors in place.  That of torch loads its compiler, which takes longer than most searches."""

    def __init__(self, values: Sequence[torch.Tensor]) -> None:
        self.values, self.steps = values, 0
        self.averages = [(value.detach() * 0, value.detach() * 0) for value in values]

    def step(self, gradients: Sequence[torch.Tensor | None]) -> None:
        """One step down; values without a gradient stay."""
        self.steps += 1
        size, root = RATE / (1 - FIRST**self.steps), (1 - SECOND**self.steps) ** 0.5
        for value, gradient, (mean, square) in zip(self.values, gradients, self.averages, strict=True):
            if gradient is not None:
                gradient = gradient.nan_to_num(0.0, 0.0, 0.0)
                mean.lerp_(gradient, 1 - FIRST)
                square.mul_(SECOND).addcmul_(gradient, gradient, value=1 - SECOND)
                value.addcdiv_(mean, (square.sqrt() / root).add_(LEAST), value=-size)


class _Stop:
    """Whether the score of one batch still rises: its best seed and the others both count as progress."""

    def __init__(self, patience: int) -> None:
        self.patience, self.highest, self.since = patience, -math.inf, 0

    def reached(self, score: torch.Tensor) -> bool:
        """Whether the ascent ends at this score (batch,)."""
        good = score[score.isfinite()]
        if good.numel() == 0:
            return True
        reached = float(good.max()) + float(good.mean())
        first = self.highest == -math.inf  # of which no share can be taken
        risen = first or reached > self.highest + RISE * abs(self.highest)
        self.highest, self.since = (reached, 0) if risen else (self.highest, self.since + 1)
        return self.since > self.patience


def ascents(specs: Mapping[str, Spec], starts: Sequence[Tensors], score: Score, steps: int) -> list[Ascent]:
    """The ascents of `score` from each of the batches; what they are at does not depend on which are taken together."""
    found = [Ascent(start) for start in starts]
    alike: dict[tuple[Any, ...], list[Ascent]] = {}
    for ascent in found:
        shapes = (value if isinstance(value, int) else tuple(value.shape[1:]) for value in ascent.raw.values())
        alike.setdefault(tuple(shapes), []).append(ascent)
    for group in alike.values():
        _ascend(specs, group, score, steps)
    return found


def _ascend(specs: Mapping[str, Spec], group: Sequence[Ascent], score: Score, steps: int) -> None:
    """Ascents from batches of equal shapes: Adam treats every entry by itself, so they share each evaluation."""
    import torch

    first = group[0].raw
    static = {name: value for name, value in first.items() if isinstance(value, int)}
    free = {
        name: torch.cat([ascent.raw[name] for ascent in group]).requires_grad_(True)
        for name in first
        if name not in static
    }
    lengths = [len(next(value for value in ascent.raw.values() if not isinstance(value, int))) for ascent in group]
    stops, adam = [_Stop(max(steps // 4, PATIENCE)) for _ in group], _Adam(list(free.values()))
    rising = list(range(len(group)))
    crossed = torch.zeros(sum(lengths), dtype=torch.bool)

    def rows(place: int) -> slice:
        return slice(sum(lengths[:place]), sum(lengths[: place + 1]))

    def settle(places: Sequence[int]) -> None:
        for place in places:
            own = rows(place)
            group[place].raw = {**static, **{name: value.detach()[own].clone() for name, value in free.items()}}

    def keep_crossings(scores: torch.Tensor) -> None:
        """Keep the inputs at which the score of a seed is infinite for the first time: no slope leads further, or back."""
        new = scores.isposinf().cpu() & ~crossed
        for place in rising if bool(new.any()) else ():
            here = new[rows(place)]
            if bool(here.any()):
                kept = {name: value.detach()[rows(place)][here.to(value.device)] for name, value in free.items()}
                group[place].crossed.append({**static, **kept})
        crossed.logical_or_(new)

    for _ in range(steps):
        scores = score({**static, **free})
        for place in rising:
            group[place].seen += lengths[place]
        keep_crossings(scores.detach())
        each = scores.detach().split(lengths)
        stopped = (
            rising if not scores.requires_grad else [place for place in rising if stops[place].reached(each[place])]
        )
        settle(stopped)
        rising = [place for place in rising if place not in stopped]
        if not rising:
            return
        loss = -scores[scores.isfinite()].sum()
        adam_gradients = torch.autograd.grad(loss, list(free.values()), allow_unused=True)
        with torch.no_grad():
            adam.step(adam_gradients)
            for name, value in free.items():
                spec = specs[name]
                value.clamp_(*((spec.low, spec.high) if isinstance(spec, Real) else (-LARGEST, LARGEST)))
    settle(rising)
