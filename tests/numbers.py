"""Rewrite the numbers and lists in README and docs that follow from the claims: `make docs-numbers`.

The tests of README and docs hold every one of them; this saves the edits by hand when a claim is new or a proof is.  A
claim that is neither proved nor listed among those that are not goes into a last section, until somebody says what it
lacks.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.sizes import CHECKER, lines, shared_names, way_of
from verify.checks.certified import kept, path_of
from verify.evidence.by_rocq import assumes_no_more
from verify.report.contents import contents_markdown
from verify.report.coverage import COVERED, coverage_of
from verify.report.weights import weights_of
from verify.site.badge import counted_kinds, drawn_badge
from verify.vocabulary import AtMost, Claim, Equal, HasStructure, load

ROOT = Path(__file__).resolve().parents[1]
#: The order of the columns of the table of papers.
KINDS = ("holds", "reading", "empirical", "gap", "error", "slip", "repeated")
#: The last section of the lists of what is not proved.
NEW = "Not looked at more closely"
NEW_WORDS = "Nobody has said yet what a proof of these lacks."
#: An identity and a bound, whose ways through their proofs docs/engine.md counts.
ON_THE_WAY = ("hessian.thm-3.2-qk", "convergence.lemma-7")
ID = re.compile(r"`([a-z]+\.[^`]+)`")
ONLY_IDS = re.compile(rf"({ID.pattern}[,.]?\s*)+")


def kind_of(claim: Claim) -> str:
    return "repeated" if claim.repeats else str(claim.severity or claim.expects)


def replaced(text: str, pattern: str, value: str) -> str:
    """The text with what the groups' surroundings match filled in; it is an error if nothing matches."""
    found, times = re.subn(pattern, value, text, flags=re.DOTALL)
    if not times:
        raise SystemExit(f"nothing to renew: {pattern}")
    return found


def between(text: str, start: str, end: str, value: str) -> str:
    """The text with another one between two marks."""
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}{value}{end}{after}"


def listed(ids: Iterable[str], end: str = ".") -> str:
    return textwrap.fill(
        ", ".join(f"`{claim_id}`" for claim_id in ids) + end, 118, break_on_hyphens=False, break_long_words=False
    )


def readme(text: str, claims: list[Claim]) -> str:
    """The README's numbers: of printed claims, by verdict, of proofs, and the table of papers."""
    printed, weights = [claim for claim in claims if not claim.of_project], weights_of(load())
    holding = [claim for claim in printed if claim.expects == "holds"]
    core = [claim for claim in holding if weights[claim.id] == "core"]
    grave = Counter(kind_of(claim) for claim in printed if claim.severity)
    text = replaced(text, r"state \d+ formulas", f"state {len(printed)} formulas")
    hold = "printed claims hold as printed."
    text = replaced(text, rf"\d+ of the \d+ {re.escape(hold)}", f"{len(holding)} of the {len(printed)} {hold}")
    proved, core_proved = sum(claim.all_sizes for claim in holding), sum(claim.all_sizes for claim in core)
    text = replaced(
        text,
        r"\d+ of these \d+ are proved for all sizes, among them \d+ of the \d+ core",
        f"{proved} of these {len(holding)} are proved for all sizes, among them {core_proved} of the {len(core)} core",
    )
    text = replaced(text, r"\d+ are refuted, each", f"{sum(grave.values())} are refuted, each")
    text = replaced(
        text,
        r"\d+ are false, \d+ are misprints, and \d+ more",
        f"{grave['error']} are false, {grave['slip']} are misprints, and {grave['repeated']} more",
    )
    for key in {claim.paper.key for claim in printed}:
        own = [claim for claim in printed if claim.paper.key == key]
        kinds = Counter(map(kind_of, own))
        numbers = " | ".join(map(str, [len(own), *(kinds[kind] for kind in KINDS)]))
        text = replaced(text, rf"(\n\| \[{key}\][^|]*\| )[\d |]*\d( \|\n)", rf"\g<1>{numbers}\g<2>")
    ours = sum(claim.of_project for claim in claims)
    text = replaced(text, r"A further \d+ claims are our own", f"A further {ours} claims are our own")
    papers = {claim.paper.key: claim.paper for claim in printed}.values()
    found = [coverage for paper in papers if (coverage := coverage_of(paper, load())) is not None]
    whole, done = sum(item.checkable for item in found), sum(item.counts[COVERED] for item in found)
    text = replaced(text, r"[\d,]+ of the [\d,]+ sentences", f"{done:,} of the {whole:,} sentences")
    identities, bounds, confirmed = certified(claims)
    text = replaced(
        text,
        r"\d+ of the \d+ identities and \d+ of the \d+ bounds that",
        f"{identities[0]} of the {identities[1]} identities and {bounds[0]} of the {bounds[1]} bounds that",
    )
    return replaced(text, r"confirms \d+\.", f"confirms {confirmed}.")


def certified(claims: list[Claim]) -> tuple[tuple[int, int], tuple[int, int], int]:
    """How many identities and bounds that are proved for all sizes have a certificate, of how many; how many Rocq confirms
    with real derivatives and no more assumed than the claim does."""
    chosen = [claim for claim in claims if claim.all_sizes and claim.relation.entrywise]
    proved = {claim.id: isinstance(claim.relation, AtMost) for claim in chosen}
    files = {path_of(claim) for claim in claims}
    written = {name for path in files for name in kept(path)} & proved.keys()
    bounds = sum(proved[name] for name in written)
    checked = json.loads((ROOT / "theorems/kernel.json").read_text(encoding="utf-8"))["claims"]
    confirmed = {name for name, item in checked.items() if item["real"] and assumes_no_more(item)} & written
    return ((len(written) - bounds, len(proved) - sum(proved.values())), (bounds, sum(proved.values())), len(confirmed))


def sections(page: str, known: set[str], lacking: list[str], first: int) -> str:
    """The page with each id in the section where it stands, without those that are not lacking, and the counts."""
    head, *parts = re.split(r"(?m)^## ", page)
    placed: set[str] = set()
    done = []
    for number, part in enumerate(parts):
        title, _, body = part.partition("\n")
        name = re.sub(r" \(\d+\)$", "", title)
        if number < first or not re.search(r" \(\d+\)$", title):
            done.append(part)
            continue
        if name == NEW:
            continue
        words = [text for text in body.strip().split("\n\n") if not ONLY_IDS.fullmatch(text)]
        lists = " ".join(text for text in body.strip().split("\n\n") if ONLY_IDS.fullmatch(text))
        ids = [claim_id for claim_id in ID.findall(lists) if claim_id in known and claim_id not in placed]
        placed.update(ids)
        if ids:
            done.append(f"{name} ({len(ids)})\n\n" + "\n\n".join([words[0], listed(ids), *words[1:]]) + "\n\n")
    new = [claim_id for claim_id in lacking if claim_id not in placed]
    if new:
        done.append(f"{NEW} ({len(new)})\n\n{NEW_WORDS}\n\n{listed(new)}\n")
    return head + "".join(f"## {part}" for part in done if part).rstrip() + "\n"


def identities_page(page: str, claims: list[Claim]) -> str:
    found = [c for c in claims if isinstance(c.relation, (Equal, HasStructure)) and c.expects in ("holds", "reading")]
    proved = sum(claim.all_sizes for claim in found)
    page = replaced(page, r"Of the \d+ claims", f"Of the {len(found)} claims")
    page = replaced(page, r"\d+ are proved for all sizes:", f"{proved} are proved for all sizes:")
    somewhere = sum(claim.proved_at_sizes for claim in found)
    page = replaced(page, r"\d+ of them are proved at given sizes", f"{somewhere} of them are proved at given sizes")
    for key in sorted({claim.paper.key for claim in found}):
        own = [claim for claim in found if claim.paper.key == key]
        counts = sum(c.all_sizes for c in own), sum(c.proved_at_sizes for c in own), len(own)
        page = replaced(page, rf"\n\| {key} \| [\d |]+\|\n", f"\n| {key} | {' | '.join(map(str, counts))} |\n")
    lacking = [claim.id for claim in found if not claim.all_sizes]
    return sections(page, set(lacking), lacking, 0)


def bounds_page(page: str, claims: list[Claim]) -> str:
    found = [claim for claim in claims if isinstance(claim.relation, AtMost) and claim.expects != "refuted"]
    proved = [claim.id for claim in found if claim.all_sizes]
    page = replaced(page, r"Of the \d+ claims", f"Of the {len(found)} claims")
    page = replaced(page, r"\d+ are proved for all inputs", f"{len(proved)} are proved for all inputs")
    _, (written, every), _ = certified(claims)
    page = replaced(page, r"derivations, \d+ are also files", f"derivations, {written} are also files")
    page = replaced(page, r"check the other \d+ yet", f"check the other {every - written} yet")
    start, end = re.search(r"## Proved \(\d+\)\n\n", page), page.index("## What the derivations say")
    assert start is not None
    page = f"{page[: start.start()]}## Proved ({len(proved)})\n\n{listed(proved, '')}\n\n{page[end:]}"
    lacking = [claim.id for claim in found if not claim.all_sizes]
    return sections(page, set(lacking), lacking, 2)


def engine_page(page: str, claims: list[Claim]) -> str:
    """What docs/engine.md says of the size of the engine: lines to the next hundred, and tenths of a line for each claim."""
    for pattern, value in sizes(len(claims)).items():
        page = replaced(page, pattern.replace("#", r"[\d,.]+"), pattern.replace("\\", "").replace("#", value))
    registry = {claim.id: claim for claim in claims}
    ways = [way_of(registry[name]) for name in ON_THE_WAY]
    for what, numbers in zip(
        ("is proved; a bound", "handed it", "it left before"), zip(*ways, strict=True), strict=True
    ):
        page = replaced(page, rf"{what} \| \d+; \d+", f"{what} | {numbers[0]}; {numbers[1]}")
    return page


def sizes(claims: int) -> dict[str, str]:
    """The numbers that follow from the files alone, each by the words around it, with # in its place."""
    checker = lines(f"verify/{CHECKER}")

    def hundreds(*folders: str) -> str:
        return f"{round(sum(map(lines, folders)), -2):,}"

    return {
        rf"\(`verify/{CHECKER}`, # lines\)": f"{checker:,}",
        r"lines\) \| # \| 27,000": f"{round(lines('verify') - checker, -2):,}",
        r"each of the # claims": f"{claims:,}",
        r"on average \| # \|": f"{lines('theorems') / claims:.1f}",
        r"`arithmetics/norms` have # lines": hundreds("verify/arithmetics/symbols", "verify/arithmetics/norms"),
        r"The gate has # lines": hundreds("verify/gate"),
        r"the report and its site #\.": hundreds("verify/report", "verify/site"),
        r"with one of the theorems \| # \|": str(len(shared_names())),
    }


def contents(page: str, claims: list[Claim], key: str) -> str:
    lines = "\n".join(contents_markdown(claim for claim in claims if claim.paper.key == key))
    return between(page, "<!-- contents -->", "<!-- end -->", f"\n{lines}\n")


def badge(_: str, claims: list[Claim]) -> str:
    printed = [claim for claim in claims if not claim.of_project]
    kinds = Counter(f"refuted ({kind_of(c)})" if c.severity else c.expects for c in printed)
    return drawn_badge("theorems", counted_kinds(kinds))


def first_line(page: str, claims: list[Claim]) -> str:
    printed = sum(not claim.of_project for claim in claims)
    return replaced(page, r"state \d+ formulas", f"state {printed} formulas")


def files(claims: list[Claim]) -> dict[Path, Callable[[str, list[Claim]], str]]:
    """Which file is rewritten how."""
    docs = ROOT / "docs"
    found: dict[Path, Callable[[str, list[Claim]], str]] = {
        ROOT / "README.md": readme,
        docs / "index.md": first_line,
        docs / "verdicts.svg": badge,
        docs / "all-sizes.md": identities_page,
        docs / "bounds.md": bounds_page,
        docs / "engine.md": engine_page,
    }
    for key in sorted({claim.paper.key for claim in claims}):
        found[docs / "papers" / f"{key}.md"] = lambda page, claims, key=key: contents(page, claims, key)
    return found


def main() -> int:
    claims = list(load().values())
    for path, renewed in files(claims).items():
        before = path.read_text(encoding="utf-8")
        after = renewed(before, claims)
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(f"renewed: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
