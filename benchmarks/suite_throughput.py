"""How many examples a check gets through: 64 seeds drawn and evaluated together under vmap, beside one seed at a time."""

from __future__ import annotations

from typing import Any

from measure import OURS, PEER, Case, Entry, Goal, Topic, breakdown, measure

from verify.checks.evaluation import in_batch, raw_tensors
from verify.checks.settings import settings_for
from verify.inputs.generators import Draw
from verify.vocabulary import load

#: Seeds evaluated together at effort ci.
BATCH = 64
TOGETHER, ALONE = "64 seeds under vmap", "64 seeds, one at a time"
#: Claim, which of its sides, sizes, what is counted, and how many a second are wanted.
CASES = (
    ("convergence.lemma-11", "oracle", {"d_s": 4}, "softmax Jacobians by autodiff, d_s = 4", 60_000),
    (
        "hessian.thm-3.2-qk",
        "formula",
        {"L": 4, "d_V": 3, "d_K": 3},
        "Hessian blocks in closed form, L = 4, d = 3",
        13_000,
    ),
    ("hessian.thm-3.2-qk", "oracle", {"L": 4, "d_V": 3, "d_K": 3}, "Hessian blocks by autodiff, L = 4, d = 3", 13_000),
)


def _case(claim_id: str, side: str, sizes: dict[str, int], label: str, device: str) -> Case:
    claim, settings = load()[claim_id], settings_for(device=device)
    function = claim.the_oracle if side == "oracle" else claim.the_formula
    draw = Draw(tuple(sizes.items()), "generic", 0)

    def together() -> Any:
        return in_batch(claim, function, raw_tensors(claim, draw.arrays(claim, BATCH), settings, "float64"))

    def alone() -> Any:
        raw = raw_tensors(claim, draw.arrays(claim, BATCH), settings, "float64")
        seeds = [
            {name: value if isinstance(value, int) else value[i] for name, value in raw.items()} for i in range(BATCH)
        ]
        return [claim.evaluate(function, claim.prepare(seed)) for seed in seeds]

    entries = [Entry(TOGETHER, OURS, together), Entry(ALONE, PEER, alone)]
    return Case(f"{label}, float64", f"{BATCH} seeds", BATCH, entries)


def topic(device: str, quick: bool) -> Topic:
    """Draws and evaluations together; a check adds its rounding unit, mutants and the search around them."""
    cases = [_case(claim_id, side, sizes, label, device) for claim_id, side, sizes, label, _ in CASES]
    measure(cases, device, quick)
    goals = [
        Goal(f"{label}, a second", wanted, BATCH / case.seconds[TOGETHER])
        for case, (_, _, _, label, wanted) in zip(cases, CASES, strict=True)
    ]
    runs = {case.series: case.entries[0].run for case in cases}
    profiles = [] if device != "cpu" else [breakdown(label, run) for label, run in runs.items() if run is not None]
    return Topic("The suite itself", cases, [], goals, breakdowns=profiles)
