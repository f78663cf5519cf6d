"""Which claim rests on which, as a picture: status of statements and of proofs, and what stands on sand.

Arrows lead from a claim to those that rest on it, left to right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fast_sugiyama import from_edges
from fast_sugiyama.layout import Layouts

from verify.report import Report
from verify.vocabulary.claims import Claim

#: Size of a node, and the room around it.
WIDTH, HEIGHT, ACROSS, DOWN = 212, 40, 48, 14
#: Components are packed into this width; one that is wider stays as it is.
PAGE_WIDTH = 1240
#: Characters of a label that fit into a node.
FITTING = 25

Edge = tuple[str, str]
Point = tuple[float, float]
Route = tuple[str, list[Point]]  #: where an arrow starts, and its points


@dataclass(frozen=True)
class Box:
    """A claim in the picture, at the left upper corner (x, y)."""

    claim: Claim
    x: float
    y: float
    folded: int  #: steps of its proof that the picture leaves out

    @property
    def label(self) -> str:
        text = self.claim.label
        return text if len(text) <= FITTING else text[: FITTING - 1].rstrip(" ,(") + "…"

    @property
    def name(self) -> str:
        text = self.claim.id.split(".", 1)[1]
        return text if len(text) <= FITTING + 3 else text[: FITTING + 2] + "…"


@dataclass(frozen=True)
class Arrow:
    """An arrow along (x, y) points; `sand` where it starts at a claim that does not hold."""

    points: list[Point]
    sand: bool

    @property
    def path(self) -> str:
        """SVG path: a smooth curve that leaves and enters horizontally."""
        (x, y), *rest = self.points
        parts = [f"M{x:.0f} {y:.0f}"]
        for to_x, to_y in rest:
            middle = (x + to_x) / 2
            parts.append(f"C{middle:.0f} {y:.0f} {middle:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}")
            x, y = to_x, to_y
        return "".join(parts)


@dataclass(frozen=True)
class Picture:
    """A laid out graph, and the claims that nothing connects."""

    nodes: list[Box]
    lines: list[Arrow]
    width: float
    height: float
    alone: list[Claim]


def proof_status(report: Report, claim: Claim) -> str:
    """Status of the printed proof, apart from the statement's: broken, slips, unknown, holds, or none where no step is encoded."""
    steps = [report.verdicts[step] for step in (*claim.presumes, *claim.proof) if step in report.verdicts]
    if not steps:
        return "none"
    if any(step.status == "refuted" and step.severity != "slip" for step in steps):
        return "broken"
    if any(step.status in ("open", "gap") for step in steps):
        return "unknown"
    return "slips" if any(step.status == "refuted" for step in steps) else "holds"


def folded(claims: Mapping[str, Claim]) -> dict[str, str]:
    """Where each claim goes when proofs are folded: a step into the one theorem it proves, a correction into what it corrects.

    A correction on which others rest stays, since they do not rest on what it corrects.
    """
    owners: dict[str, list[str]] = {claim_id: [] for claim_id in claims}
    used = {other for claim in claims.values() for other in claim.uses}
    for claim in claims.values():
        for step in claim.proof:
            if step in owners:
                owners[step].append(claim.id)
        if claim.of_project and claim.id not in used:
            owners[claim.id].extend(other for other in claim.corrects if other in claims)
    into: dict[str, str] = {}
    for claim_id in claims:
        end, seen = claim_id, {claim_id}
        while len(owners[end]) == 1 and owners[end][0] not in seen:
            end = owners[end][0]
            seen.add(end)
        into[claim_id] = end
    return into


def picture(report: Report, claims: Mapping[str, Claim], fold: bool) -> Picture:
    """The graph of `claims`, with proofs folded into their theorems if asked."""
    into = folded(claims) if fold else {claim_id: claim_id for claim_id in claims}
    rests: list[Edge] = []
    for claim in claims.values():
        for other in (*claim.uses, *claim.presumes, *claim.proof):
            if other in claims and into[other] != into[claim.id]:
                rests.append((into[other], into[claim.id]))
    edges = list(dict.fromkeys(rests))
    size = {claim_id: 0 for claim_id in claims}
    for claim_id, end in into.items():
        size[end] += claim_id != end
    places, routes, width, height = _laid_out(edges) if edges else ({}, [], 0.0, 0.0)
    bad = {claim_id for claim_id in claims if report.verdicts[claim_id].status in ("refuted", "gap")}
    nodes = [Box(claims[name], x, y, size[name]) for name, (x, y) in places.items()]
    lines = [Arrow(points, source in bad) for source, points in routes]
    alone = [claim for name, claim in claims.items() if into[name] == name and name not in places]
    return Picture(nodes, lines, width, height, alone)


def _laid_out(edges: list[Edge]) -> tuple[dict[str, Point], list[Route], float, float]:
    """Corners of nodes, and per arrow its source and points; Sugiyama's layers, turned so that they follow the text.

    Nodes are numbered for the layout, which breaks ties by hashes: those of names differ from run to run.
    """
    names = sorted({name for edge in edges for name in edge})
    number = {name: place for place, name in enumerate(names)}
    numbered = [(number[start], number[end]) for start, end in edges]
    turned: list[Any] = []
    for positions, _, _, links in from_edges(
        numbered, vertex_spacing=1, dummy_vertices=True, crossing_minimization="median"
    ):
        high, left = max(y for _, (_, y) in positions), min(x for _, (x, _) in positions)
        moved = [(n, ((high - y) * (WIDTH + ACROSS), (x - left) * (HEIGHT + DOWN))) for n, (x, y) in positions]
        size = (max(x for _, (x, _) in moved) + WIDTH, max(y for _, (_, y) in moved) + HEIGHT)
        turned.append((moved, *size, links))
    turned.sort(key=lambda layout: (-len(layout[0]), min(layout[0])))
    widest = max(PAGE_WIDTH, *(layout[1] for layout in turned))
    packed = Layouts(turned).rect_pack_layouts(spacing=2 * DOWN, max_width=widest + 2 * DOWN)
    left = min(x for positions, *_ in packed for _, (x, _) in positions)
    top = min(y for positions, *_ in packed for _, (_, y) in positions)
    places: dict[str, Point] = {}
    routes: list[Route] = []
    for positions, _, _, links in packed:
        corners = {int(n): (x - left, y - top) for n, (x, y) in positions}
        places |= {names[n]: corner for n, corner in corners.items() if n < len(names)}
        for chain in _chains(links or [], len(names)):
            if (chain[0], chain[-1]) not in numbered:  # turned around to break a cycle
                chain.reverse()
            routes.append((names[chain[0]], _points([corners[n] for n in chain])))
    width = max(x for x, _ in places.values()) + WIDTH
    height = max(y for _, y in places.values()) + HEIGHT
    return dict(sorted(places.items())), sorted(routes), width, height


def _chains(links: Iterable[tuple[Any, Any]], nodes: int) -> Iterable[list[int]]:
    """Each arrow from node to node through its bends, which the layout numbers from `nodes` on within a component."""
    after: dict[int, list[int]] = {}
    for start, end in links:
        after.setdefault(start, []).append(end)
    for first in [n for n in after if n < nodes]:
        for step in after[first]:
            chain = [first, step]
            while chain[-1] >= nodes:
                chain.append(after[chain[-1]][0])
            yield chain


def _points(corners: list[Point]) -> list[Point]:
    """From the right side of the first node to the left side of the last, across the full width of every bend."""
    middle = HEIGHT / 2
    (x, y), *between, (last_x, last_y) = corners
    forward = corners[-1][0] >= x
    points = [(x + (WIDTH if forward else 0), y + middle)]
    for left, top in between:
        points += [(left + (0 if forward else WIDTH), top + middle), (left + (WIDTH if forward else 0), top + middle)]
    return [*points, (last_x + (0 if forward else WIDTH), last_y + middle)]
