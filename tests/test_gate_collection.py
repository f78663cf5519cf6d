"""The gate on a collection of wrong and right layers: every wrong one is caught, every right one passes.

At effort deep each layer meets every comparison in both precisions, and whatever is broken is made small.  Otherwise those
wrong layers that the table of the docs makes the first of their kind meet the comparison that it names, and only wrong values
with a cause are made small.  Every right layer meets the values of the definition, in float64 or float32, and of each subject
one right layer meets some of the other comparisons, which take turns.
What the definition gives at a point is computed once for all layers of a subject.
"""

from __future__ import annotations

import functools
import itertools
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import verify
from tests.efforts import is_deep, whole_or_part
from tests.wrong_layers import BY_MODULE, Layer, layers
from verify.gate.checking import Gate, gate
from verify.gate.findings import BROKEN, COMPARISONS, DEFINITION, FIRST, FORWARD, LONG, SECOND, SIZES, Finding
from verify.gate.prepared import Points
from verify.gate.profiles import profile_of

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
#: What is dealt to subjects in turns, to one right layer of each; all of them meet the definition.
GROUPS = ((SIZES,), (FIRST, SECOND, FORWARD), (LONG,))
#: So many wrong layers that it catches every comparison has at any effort, if there are as many.
AT_LEAST = 3
#: Comparisons, each in one precision.
Checks = list[tuple[str, str]]


# -- which layers meet what --------------------------------------------------------------------------------------------


def kinds(layer: Layer) -> Iterator[tuple[str, ...]]:
    """What a wrong layer may be the first of: its subject, its module, and its cause, if no variant of a subject has it.

    Every variant is an implementation in `tests/test_gate.py`, where its cause has to be named.
    """
    _, cause = (part.strip() for part in TABLE[layer.name])
    yield "subject", layer.subject
    if (cause or layer.cause) and cause not in named_variants():
        yield "cause", cause, layer.cause
    yield from (("module", name) for name, added in BY_MODULE.items() if layer in added)


@functools.cache
def named_variants() -> frozenset[str]:
    """The causes that are wrong formulas of some subject."""
    return frozenset(variant.name for subject in verify.subjects() for variant in profile_of(subject).variants)


def first_of_their_kind() -> list[Layer]:
    """The wrong layers of the efforts below deep, in the order of the collection."""
    chosen, known, caught = list[Layer](), set[tuple[str, ...]](), Counter[str]()
    for layer in WRONG:
        own, check = set(kinds(layer)), TABLE[layer.name][0].strip()
        if own - known or caught[check] < AT_LEAST:
            chosen.append(layer)
        known |= own
        caught[check] += 1
    return chosen


def dealt() -> list[tuple[Layer, Checks]]:
    """Every right layer with what it meets below effort deep: the definition, and of one of each subject a group of the others."""
    by_subject: dict[str, list[Layer]] = {}
    for layer in RIGHT:
        by_subject.setdefault(layer.subject, []).append(layer)
    groups: dict[str, tuple[str, ...]] = {}  # by the name of a layer
    for number, several in enumerate(by_subject.values()):
        groups[several[number // len(GROUPS) % len(several)].name] = GROUPS[number % len(GROUPS)]
    turns, found = Counter[str](), []
    for layer in RIGHT:
        mine: Checks = []
        for check in (DEFINITION, *groups.get(layer.name, ())):
            mine.append((check, DTYPES[turns[check] % 2]))
            turns[check] += 1
        found.append((layer, mine))
    return found


def all_of_right_layers() -> list[tuple[Layer, Checks]]:
    """Every right layer with what it meets at effort deep."""
    return [(layer, every(layer)) for layer in RIGHT]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """At effort deep, all layers and all that they can meet."""
    if "wrong" in metafunc.fixturenames:
        some = whole_or_part(metafunc.config, WRONG, first_of_their_kind())
        metafunc.parametrize("wrong", some, ids=[layer.name for layer in some])
    if "right" in metafunc.fixturenames:
        cases = all_of_right_layers() if is_deep(metafunc.config) else dealt()
        metafunc.parametrize(("right", "checks"), cases, ids=[layer.name for layer in RIGHT])


def every(layer: Layer) -> Checks:
    """All comparisons that a layer can meet, in both precisions."""
    return [(check, dtype) for check, dtype in made_of(layer).checks if check in (DEFINITION, *COMPARISONS)]


# -- the gate ----------------------------------------------------------------------------------------------------------


def made_of(layer: Layer) -> Gate:
    """The gate of a layer, with the points of its subject."""
    made = gate(
        layer.subject, layer.make(), adapter=layer.adapter, claims=f"{layer.subject.split('.')[0]}.*", dtypes=DTYPES
    )
    if made.comparison:
        made.comparison.points = POINTS.setdefault(layer.subject, made.comparison.points)
    return made


def first_broken(made: Gate, checks: Checks, shrinking: bool = True) -> Finding | None:
    """The first of some comparisons that is broken; those that the subject does not have are passed over."""
    for check, dtype in made.checks:
        if (check, dtype) in checks:
            finding = made.run(check, dtype, shrinking=shrinking)
            if finding.status == BROKEN:
                return finding
    return None


@pytest.mark.kept("docs/wrong-layers.md")
def test_every_wrong_layer_is_caught(wrong: Layer, pytestconfig: pytest.Config) -> None:
    """By the comparison that the table names; at effort deep, that no earlier one catches it."""
    torch.manual_seed(0)  # a layer that drops weights at random may give the same values a dozen times at few of them
    start = time.process_time()
    deep, (known, cause) = is_deep(pytestconfig), (part.strip() for part in TABLE[wrong.name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, checks = made_of(wrong), every(wrong) if deep else [(known, dtype) for dtype in DTYPES]
        # causes of wrong values are looked for at the small example, too
        finding = first_broken(made, checks, shrinking=deep or (known == DEFINITION and bool(cause)))
        causes = made.causes_of(finding) if finding else []
    seconds = time.process_time() - start
    ROWS.append((wrong.name, finding.check if finding else "no", "; ".join(causes), str(finding.entries if finding else ""),
                 f"{seconds:.2f}"))  # fmt: skip
    assert finding is not None
    assert finding.describe().startswith(f"broken: {finding.check} in ")
    assert [part.strip() for part in TABLE[wrong.name]] == [finding.check, "; ".join(causes)]
    if wrong.cause:
        assert wrong.cause in causes
    else:
        assert wrong.name in ROUNDED or not any("it computes in" in cause for cause in causes)


@pytest.mark.kept("docs/wrong-layers.md")
def test_no_right_layer_is_rejected(right: Layer, checks: Checks) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = made_of(right)
        finding = first_broken(made, checks)
    assert finding is None, finding.describe()


@pytest.mark.kept("docs/wrong-layers.md")
def test_the_chosen_wrong_layers_have_every_kind_of_mistake() -> None:
    """Of every subject, module and comparison, and with every cause that no variant has."""
    chosen = first_of_their_kind()
    assert {kind for layer in chosen for kind in kinds(layer)} == {kind for layer in WRONG for kind in kinds(layer)}
    assert {layer.subject for layer in chosen} == {layer.subject for layer in WRONG}
    causes = {TABLE[layer.name][1].strip() for layer in WRONG}
    assert causes - {TABLE[layer.name][1].strip() for layer in chosen} <= named_variants()
    assert len(causes - named_variants()) > 40
    modules = {path.stem for path in Path(__file__).parent.joinpath("wrong_layers").glob("*.py")}
    # `tests/test_gate_history.py` and `tests/test_gate_halves.py` run these
    assert modules - set(BY_MODULE) == {"__init__", "history", "history_backward", "summed"}
    added = {name for name, several in BY_MODULE.items() if several}
    assert set(BY_MODULE) - added == {"rights"}
    assert all(any(layer in chosen for layer in BY_MODULE[name]) for name in added)
    every, some = (Counter(TABLE[layer.name][0].strip() for layer in several) for several in (WRONG, chosen))
    assert set(some) == set(every) and all(some[check] >= min(AT_LEAST, every[check]) for check in every)
    assert len(chosen) < len(WRONG) / 4


@pytest.mark.kept("docs/wrong-layers.md")
def test_right_layers_meet_every_comparison_in_turns() -> None:
    met = dealt()
    assert [layer for layer, _ in met] == RIGHT and all(checks for _, checks in met)
    assert all(sum(check == DEFINITION for check, _ in checks) == 1 for _, checks in met)
    groups = {DEFINITION, *itertools.chain(*GROUPS)}
    for subject in {layer.subject for layer in RIGHT}:
        others = {check for layer, checks in met if layer.subject == subject for check, _ in checks} - {DEFINITION}
        assert others in map(set, GROUPS)
    decided = Counter[tuple[str, str]]()
    everything = all_of_right_layers()
    assert [layer for layer, _ in everything] == RIGHT
    for (layer, some), (_, all_checks) in zip(met, everything, strict=True):
        can = {check for check, _ in made_of(layer).checks} & groups
        assert set(all_checks) == {(check, dtype) for check in can for dtype in DTYPES}
        assert {cell for cell in some if cell[0] in can} <= set(all_checks)
        decided.update({cell for cell in some if cell[0] in can})
    assert all(decided[check, dtype] >= 3 for check in groups for dtype in DTYPES), decided
    assert {check for _, all_checks in everything for check, _ in all_checks} == groups


def test_the_collection_is_large_and_prints_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("\n| wrong layer | caught by | cause | entries | seconds |\n|---|---|---|---|---|")
        for row in ROWS:
            print(f"| {' | '.join(row)} |")
    assert len(WRONG) >= 150 and len(RIGHT) >= 30
    assert len(ROWS) < len(WRONG) or statistics.median(float(row[4]) for row in ROWS) < 2
    assert {layer.name for layer in WRONG} == set(TABLE) - {"wrong layer"} and len(TABLE) == len(WRONG) + 1
    assert f"{len(WRONG)} layers with one mistake each" in PAGE and f"{len(RIGHT)} right ones" in PAGE
