"""A campaign: python -m tests.fuzzing --count 10000 --seed 0; one statement again: --only NUMBER."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzzing.campaign import COUNTS, asked, campaign, described
from tests.fuzzing.statements import SOURCES, statement


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzzing", description="Random false statements, offered to the provers."
    )
    parser.add_argument("--count", type=int, default=10_000, help="how many statements")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--source", choices=list(SOURCES), help="only statements of one source")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one statement, in full")
    parser.add_argument(
        "--json", type=Path, default=Path("report/fuzzing.json"), help="where what was tried is written"
    )
    options = parser.parse_args()
    if options.only is not None:
        made = statement(options.seed, options.only, options.source)
        if made is None:
            print("no statement could be made of this number")
            return 0
        print(f"{made.source}; {made.breaking}\n{made.text}\n")
        outcome = asked(made)
        print(f"\n{described(outcome.failure)}\n" if outcome.failure else "", "; ".join(outcome.counts))
        return 1 if outcome.failure else 0
    found = campaign(options.count, options.seed, options.jobs, options.json, options.first, options.source)
    for name in COUNTS:
        print(f"{found.counts[name]:8} {name}")
    print(f"{len(found.failures):8} failures; {options.json}")
    return 1 if found.failures else 130 if found.interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
