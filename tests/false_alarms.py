"""Right layers at many seeds: `python -m tests.false_alarms 0:9 'transformer.*'` prints what the gate holds against them.

Every layer of `tests/wrong_layers` that is right goes through all comparisons and theorems at effort quick, in float64 and
float32, with each of the seeds, on the torch device that a third argument names.  The exit status is 1 where one is rejected,
or nothing is decided about one, as on a device that computes nothing any more, and where no layer has such a subject.
"""

from __future__ import annotations

import fnmatch
import functools
import inspect
import sys
import time
import warnings
from typing import Any

import torch

from tests.wrong_layers import Layer, layers
from verify.gate.arguments import seeds_of
from verify.gate.checking import Gate, gate
from verify.gate.findings import BROKEN, SATISFIED, Finding


def on_device(function: Any, device: str) -> Any:
    """`function`, whose own tensors, such as masks, are made on `device`; the layers do not say where."""
    if not inspect.isfunction(function):
        return function.to(device) if isinstance(function, torch.nn.Module) else function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with torch.device(device):
            return function(*args, **kwargs)

    return called


def seeded(layer: Layer, seed: int, device: str = "cpu") -> Gate:
    """The gate of a layer, whose draws are those of another seed."""
    function = layer.make() if device == "cpu" else on_device(layer.make(), device)
    return gate(layer.subject, function, adapter=layer.adapter, device=device, seed=seed)


def alarms(layer: Layer, seed: int, device: str = "cpu", shrinking: bool = True) -> list[Finding]:
    """The checks that a layer breaks at a seed, at inputs made small if asked for; all of them where it satisfies none."""
    made = seeded(layer, seed, device)
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [made.run(check, dtype, shrinking=shrinking) for check, dtype in made.checks]
    decided = any(finding.status == SATISFIED for finding in found)
    return [finding for finding in found if finding.status == BROKEN or not decided]


def main(seeds: str, glob: str = "*", device: str = "cpu") -> int:
    """Print one line for each layer at each seed from the first to the last, and what is broken in full."""
    torch.set_num_threads(1)
    broken = tried = 0
    for seed in seeds_of(seeds):
        for layer in (each for each in layers()[1] if fnmatch.fnmatchcase(each.subject, glob)):
            start = time.process_time()
            found = alarms(layer, seed, device)
            tried, broken = tried + 1, broken + bool(found)
            print(
                f"seed {seed}  {time.process_time() - start:5.1f} s  {'REJECTED' if found else 'passes'}  {layer.name}",
                flush=True,
            )
            for finding in found:
                print(finding.describe(), flush=True)
    print(f"{tried} checks of right layers, {broken} rejected")
    return int(broken > 0 or not tried)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
