"""How fast the suite is: collection time, core-seconds per claim, and examples per second for each relation.

    python benchmarks/suite.py [--effort ci] [--claims GLOB]

One process, one thread; a first check of every kind is run and thrown away, so imports and first calls do not count.
"""

from __future__ import annotations

import argparse
import collections
import os
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

from verify.checks import checks_of
from verify.checks.settings import settings_for
from verify.evidence.runner import run_check
from verify.vocabulary import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", default="ci")
    parser.add_argument("--claims", default="*")
    options = parser.parse_args()

    started = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-m", "theorem", "--collect-only", "-q", "theorems"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"collection: {time.perf_counter() - started:.2f} s")

    registry = load()
    warm = settings_for("quick")
    for claim in {claim.relation.kind: claim for claim in registry.values()}.values():
        for check in checks_of(claim, warm):
            run_check(claim, check, warm)

    settings = settings_for(options.effort)
    seconds: dict[str, float] = collections.defaultdict(float)
    examples: dict[str, int] = collections.defaultdict(int)
    by_claim: dict[str, float] = {}
    for claim in registry.matching(options.claims):
        for check in checks_of(claim, settings):
            record = run_check(claim, check, settings)
            seconds[claim.relation.kind] += record.duration
            examples[claim.relation.kind] += record.examples
            by_claim[claim.id] = by_claim.get(claim.id, 0.0) + record.duration
    print(f"\n{'relation':14s} {'examples':>9s} {'seconds':>8s} {'examples/s':>11s}")
    for kind, spent in seconds.items():
        print(f"{kind:14s} {examples[kind]:9d} {spent:8.2f} {examples[kind] / spent:11.0f}")
    total = sum(by_claim.values())
    print(f"\n{len(by_claim)} claims, {total:.1f} core-seconds, {total / len(by_claim):.2f} per claim; slowest:")
    for claim_id, duration in sorted(by_claim.items(), key=lambda pair: -pair[1])[:8]:
        print(f"  {duration:6.2f} s  {claim_id}")


if __name__ == "__main__":
    main()
