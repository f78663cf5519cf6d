"""What searches found once, kept as data: where wrong variants die, where bounds are tight, where assumptions are met.

A witness is a draw, or explicit inputs where an ascent led to them.  Every search begins at its claim's witnesses and goes
on from there, so that what was found at one seed is found at all.  They stand in `witnesses.json`, a line per claim, in the
folder of the paper that declares the claims.
"""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from verify.inputs.generators import Arrays, Draw
from verify.vocabulary.claims import Claim

FILE = "witnesses.json"

#: A witness as JSON has it.
Data = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Given:
    """Explicit inputs of one seed, in the place of a draw; equal to itself alone, as arrays have no hash."""

    inputs: Mapping[str, Any]
    sizes: tuple[tuple[str, int], ...] = ()
    domain: str = "witness"
    seeds: int = 1

    def arrays(self, claim: Claim, batch: int) -> Arrays:
        """The inputs as a batch of one, whatever is asked for."""
        arrays: dict[str, Any] = {}
        for name, value in self.inputs.items():
            arrays[name] = value if isinstance(value, int) else np.asarray(value)[None]
        return arrays


class StaleWitness(RuntimeError):
    """A witness does not show any more what it was kept for."""

    def __init__(self, claim: Claim, what: str) -> None:
        command = f"verify run '{claim.id}' --again, then verify witnesses '{claim.id}'"
        super().__init__(f"{claim.id}: a kept witness does not show any more that {what}; renew it: {command}")


@dataclass
class Witnesses:
    """The witnesses of one check: where each mutant is dead, and other points at which a search begins."""

    dead: dict[str, Data] = field(default_factory=dict)
    points: list[Data] = field(default_factory=list)
    code: str = ""  #: of the claim that was searched

    @property
    def starts(self) -> list[Draw | Given]:
        """Every point once."""
        return list(self.elsewhere())

    def elsewhere(self) -> dict[Draw | Given, frozenset[str]]:
        """Every point once, with the mutants that are dead at other points and not known to be dead there."""
        return {
            point_of(data): frozenset(name for name, own in self.dead.items() if own != data) for data in self._distinct
        }

    @property
    def _distinct(self) -> list[Data]:
        return list({json.dumps(data): data for data in (*self.dead.values(), *self.points)}.values())

    def note(self, before: Mapping[str, float], after: Mapping[str, float], point: Data, bar: float) -> None:
        """Keep `point` for every mutant whose score rose there to `bar` at least."""
        self.dead.update({name: point for name, score in after.items() if score > before[name] and score >= bar})

    def require_dead(self, claim: Claim, scores: Mapping[str, float], bar: float) -> None:
        """Raise `StaleWitness` for a mutant that the claim still has and that scores below `bar` at its witness."""
        alive = [name for name in self.dead if scores.get(name, bar) < bar]
        if alive:
            raise StaleWitness(claim, f"mutants are dead: {', '.join(alive)}")

    def data(self) -> dict[str, Any]:
        """As records and files hold it: every point once, and for each mutant the place of its own."""
        points = self._distinct
        return {"points": points, "dead": {name: points.index(data) for name, data in self.dead.items()}}


def data_of(point: Draw | Given, seeds: int) -> Data:
    """A draw of that many seeds, or explicit inputs, as data."""
    if isinstance(point, Given):
        return given(point.inputs)
    data: Data = {"sizes": dict(point.sizes), "domain": point.domain, "seed": point.seed, "seeds": seeds}
    return {**data, "explicit": [list(entry) for entry in point.explicit]} if point.explicit else data


def given(raw: Mapping[str, Any]) -> Data:
    """Explicit inputs of one seed as data."""
    return {
        "inputs": {name: value if isinstance(value, int) else np.asarray(value).tolist() for name, value in raw.items()}
    }


def point_of(data: Data) -> Draw | Given:
    """The draw or the inputs that data stands for."""
    if "inputs" in data:
        return Given(data["inputs"])
    explicit = tuple((which, position, value) for which, position, value in data.get("explicit", ()))
    return Draw(tuple(data["sizes"].items()), data["domain"], data["seed"], explicit, data["seeds"])


def witnesses_of(claim: Claim, check: str) -> Witnesses:
    """What is kept for a check of a claim, but for mutants, inputs and sizes that it does not have any more."""
    kept = _read(file_of(claim.module)).get(claim.id, {}).get(check, {})
    points, names = kept.get("points", []), {mutant.name for mutant in claim.mutants}
    dead = {name: points[place] for name, place in kept.get("dead", {}).items() if name in names}
    return Witnesses(
        {name: point for name, point in dead.items() if _fits(point, claim)},
        [point for point in points if _fits(point, claim)],
        kept.get("code", ""),
    )


def _fits(point: Data, claim: Claim) -> bool:
    """Whether a point has the claim's inputs, or its sizes."""
    if "inputs" in point:
        return bool(point["inputs"].keys() == claim.parameters.keys())
    return bool(point["sizes"].keys() == claim.sizes.keys())


def file_of(module: str) -> Path:
    """The file for the claims of a module: in the folder of their paper's package; of a script, where it is run."""
    top, *rest = module.split(".")
    for package in (f"{top}.{rest[0]}" if rest else top, top) if module != "__main__" else ():
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            return Path(next(iter(spec.submodule_search_locations))) / FILE
    return Path(FILE)


@functools.cache
def _read(path: Path) -> dict[str, dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def keep(claims: Iterable[Claim], found: Mapping[tuple[str, str], Mapping[str, Any]]) -> dict[Path, int]:
    """Write what checks found, by claim and check, in the place of what was kept of them; how many claims each file holds.

    What is kept of other claims stays, but for claims that do not exist any more.
    """
    files: dict[Path, dict[str, dict[str, Any]]] = {}
    for claim in claims:
        path = file_of(claim.module)
        lines = files.setdefault(path, {})
        own = {check: data for (claim_id, check), data in found.items() if claim_id == claim.id and data["points"]}
        kept = own or _read(path).get(claim.id)
        if kept:
            lines[claim.id] = kept
    files = {path: lines for path, lines in files.items() if lines or path.is_file()}
    for path, lines in files.items():
        text = ",\n".join(f"{json.dumps(claim_id)}: {json.dumps(lines[claim_id])}" for claim_id in sorted(lines))
        path.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    _read.cache_clear()
    return {path: len(lines) for path, lines in files.items()}
