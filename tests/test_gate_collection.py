"""The gate on a collection of wrong and right layers: every wrong one is caught, every right one passes.

At effort deep each layer meets every comparison in both precisions, and whatever is broken is made small.  Otherwise a wrong
layer meets the comparison that the table of the docs names, and only wrong values are made small; a right one meets every
comparison in one precision, float64 and float32 in turns.  What the definition gives at a point is computed once for all
layers of a subject.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.wrong_layers import Layer, layers
from verify.gate.checking import gate
from verify.gate.findings import BROKEN, COMPARISONS, DEFINITION, Finding
from verify.gate.prepared import Points

WRONG, RIGHT = layers()
#: Layers that round in part, of which a precision may be named.
ROUNDED = ("operands: weights in float32", "logits: rounded to 2^-8")
#: The table of the docs, by the name of a layer: what it is caught by, and the cause.
PAGE = (Path(__file__).resolve().parents[1] / "docs/wrong-layers.md").read_text(encoding="utf-8")
TABLE = {row[0]: row[1:3] for row in (line[2:].split(" | ") for line in PAGE.splitlines() if line.startswith("| "))}
ROWS: list[tuple[str, str, str, str, str]] = []


#: By subject: the points of comparisons with its definition, which all of its layers share.
POINTS: dict[str, Points] = {}
#: Both precisions.
DTYPES = ("float64", "float32")


def first_broken(
    layer: Layer, dtypes: Sequence[str] = DTYPES, only: str | None = None, shrinking: bool = True
) -> tuple[Any, Finding | None]:
    """The gate of a layer, and the first comparison with the definition that it breaks, of all or of one that is named."""
    made = gate(
        layer.subject, layer.make(), adapter=layer.adapter, claims=f"{layer.subject.split('.')[0]}.*", dtypes=DTYPES
    )
    if made.comparison:
        made.comparison.points = POINTS.setdefault(layer.subject, made.comparison.points)
    for check, dtype in made.checks:
        if dtype in dtypes and check in ((DEFINITION, *COMPARISONS) if only is None else (only,)):
            finding = made.run(check, dtype, shrinking=shrinking)
            if finding.status == BROKEN:
                return made, finding
    return made, None


@pytest.mark.kept("docs/wrong-layers.md")
@pytest.mark.parametrize("layer", WRONG, ids=[layer.name for layer in WRONG])
def test_every_wrong_layer_is_caught(layer, pytestconfig):
    """By the comparison that the table names; at effort deep, that no earlier one catches it."""
    torch.manual_seed(0)  # a layer that drops weights at random may give the same values a dozen times at few of them
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        deep, known = pytestconfig.option.effort == "deep", TABLE[layer.name][0].strip()
        # causes of wrong values are looked for at the small example
        made, finding = first_broken(layer, only=None if deep else known, shrinking=deep or known == DEFINITION)
        causes = made.causes_of(finding) if finding else []
    seconds = time.process_time() - start
    ROWS.append((layer.name, finding.check if finding else "no", "; ".join(causes), str(finding.entries if finding else ""),
                 f"{seconds:.2f}"))  # fmt: skip
    assert finding is not None
    assert finding.describe().startswith(f"broken: {finding.check} in ")
    assert [part.strip() for part in TABLE[layer.name]] == [finding.check, "; ".join(causes)]
    if layer.cause:
        assert layer.cause in causes
    else:
        assert layer.name in ROUNDED or not any("it computes in" in cause for cause in causes)


@pytest.mark.kept("docs/wrong-layers.md")
@pytest.mark.parametrize(("number", "layer"), list(enumerate(RIGHT)), ids=[layer.name for layer in RIGHT])
def test_no_right_layer_is_rejected(number, layer, pytestconfig):
    dtypes = DTYPES if pytestconfig.option.effort == "deep" else (DTYPES[number % 2],)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, finding = first_broken(layer, dtypes)
    assert finding is None, finding.describe()


def test_the_collection_is_large_and_prints_its_table(capsys):
    with capsys.disabled():
        print("\n| wrong layer | caught by | cause | entries | seconds |\n|---|---|---|---|---|")
        for row in ROWS:
            print(f"| {' | '.join(row)} |")
    assert len(WRONG) >= 150 and len(RIGHT) >= 30
    assert len(ROWS) < len(WRONG) or statistics.median(float(row[4]) for row in ROWS) < 2
    assert {layer.name for layer in WRONG} == set(TABLE) - {"wrong layer"} and len(TABLE) == len(WRONG) + 1
    assert f"{len(WRONG)} layers with one mistake each" in PAGE and f"{len(RIGHT)} right ones" in PAGE
