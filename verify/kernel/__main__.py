"""python -m verify.kernel FILE...: check files of certificates, one JSON object a line, packed by xz or not."""

from __future__ import annotations

import lzma
import sys

from verify.kernel import Refused, check, read


def main(paths: list[str]) -> int:
    """Check every line of every file; 1 if any is refused."""
    accepted, refused = 0, 0
    for path in paths:
        with lzma.open(path, "rt") if path.endswith(".xz") else open(path) as lines:
            for line in filter(str.strip, lines):
                try:
                    check(read(line))
                    accepted += 1
                except Refused as error:
                    print(f"{path}: {error}")
                    refused += 1
    print(f"{accepted} accepted, {refused} refused")
    return 1 if refused or not accepted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
