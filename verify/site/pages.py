"""Which pages there are, what each shows, and the writing of them.

index.html                   papers side by side, gravest errata, every claim with search and filters
claims/<id>.html             one claim: statement, verdict, evidence, counterexamples, source, links
map.html, map/<paper>.html   which claim rests on which
errata/<paper>.html          what an author would want to know; beside it the same as .md and .tex
badge.svg, plots/, assets/
"""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jinja2

from verify.checks.record import Record
from verify.evidence.failure import replay_call
from verify.evidence.verdicts import GRADES
from verify.report.baseline import Change
from verify.report.errata import Erratum, Witness, errata, errata_markdown, of_paper, witnesses_of
from verify.report.files import replace_file
from verify.report.model import KINDS_OF_VERDICT, Report, Shortfall, quality, status_of
from verify.report.proofs import grade_without_proof, headline, headline_at_sizes
from verify.report.weights import WEIGHTS
from verify.site import code, graph, mathematics
from verify.site.badge import badge
from verify.site.latex import as_latex
from verify.site.plots import UNDRAWABLE, draw_all, plots_of
from verify.vocabulary.claims import Claim, Paper

_HERE = Path(__file__).parent
#: Folders that belong to the site: what an earlier report left there and this one does not write is removed.
OWNED = ("assets", "claims", "errata", "map", "plots")
#: Errata shown on the front page.
FIRST_ERRATA = 8
#: A mark for each status, so that no reader depends on colour.
MARKS = {"holds": "✓", "refuted": "✗", "gap": "◐", "open": "?", "reading": "≈", "empirical": "○"}
#: What each status means, in a few words.
MEANINGS = {
    "holds": "upheld by every check",
    "refuted": "a counterexample is certified",
    "gap": "stands, but what it presupposes or its printed proof uses does not",
    "reading": "true under a stated reading",
    "empirical": "an observation",
    "open": "undecided",
}


class Site:
    """One report as pages below a folder."""

    def __init__(
        self, report: Report, folder: Path, progress: Callable[[int, int], None], changes: list[Change] | None = None
    ) -> None:
        self.report, self.folder, self.progress, self.changes = report, folder, progress, changes
        self.typesetter = mathematics.Typesetter()
        self.written: set[Path] = set()
        self.errata = errata(report)
        self.order = list(report.claims)
        self.pages = len(report.claims) + 2 * len(report.papers) + 2
        self.plots: dict[str, list[dict[str, str]]] = {}
        self.drawn = 0
        self.templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.globals.update(marks=MARKS, meanings=MEANINGS, report=report, footer=self.footer)
        self.templates.filters.update(
            words=mathematics.text, number=_number, status=status_of, quality=quality, slug=slug
        )

    def write(self) -> Path:
        """Every page; returns the front page's path."""
        papers = self.report.papers
        steps: list[Callable[[], None]] = [partial(self.claim_page, claim) for claim in self.report.claims.values()]
        steps += [partial(self.errata_page, paper) for paper in papers]
        steps += [partial(self.map_page, paper) for paper in papers]
        steps += [self.map_of_all, self.front_page]
        self.assets()
        self.plots = self.draw_plots()
        for done, step in enumerate(steps, start=1):
            step()
            self.progress(self.drawn + done, self.drawn + self.pages)
        self.remove_leftovers()
        return self.folder / "index.html"

    # -- pages ---------------------------------------------------------------------------------------------------------

    def front_page(self) -> None:
        """Papers side by side, the gravest errata, every claim."""
        self.render(
            "index.html",
            "index.html",
            rows=[self.paper_row(paper) for paper in self.report.papers],
            kinds=KINDS_OF_VERDICT,
            grades=GRADES,
            weights=WEIGHTS,
            relations=sorted({claim.relation.kind for claim in self.report.claims.values()}),
            gravest=[self.erratum(item) for item in self.errata[:FIRST_ERRATA]],
            errata_total=len(self.errata),
            shortfalls=self.report.shortfalls,
            changes=self.changes,
            formulas=len(self.typesetter.formulas),
            plain=len(self.typesetter.plain),
        )

    def paper_row(self, paper: Paper) -> dict[str, Any]:
        """One paper's counts: printed claims by verdict and grade, and the project's own beside them."""
        chosen = [claim for claim in self.report.claims.values() if claim.paper.key == paper.key]
        printed = [self.report.verdicts[claim.id] for claim in chosen if not claim.of_project]
        own = [self.report.verdicts[claim.id] for claim in chosen if claim.of_project]
        return {
            "paper": paper,
            "printed": len(printed),
            "verdicts": {kind: sum(status_of(verdict) == kind for verdict in printed) for kind in KINDS_OF_VERDICT},
            "grades": {grade: sum(verdict.grade == grade for verdict in printed) for grade in GRADES},
            "own": len(own),
            "own_hold": sum(verdict.status == "holds" for verdict in own),
            "not_encoded": self.report.not_encoded[paper.key],
            "errata": len(of_paper(self.errata, paper)),
        }

    def claim_page(self, claim: Claim) -> None:
        """Statement, verdict, evidence, counterexamples, source, links."""
        report, records = self.report, self.report.records_of[claim.id]
        place = self.order.index(claim.id)
        self.render(
            "claim.html",
            f"claims/{slug(claim.id)}.html",
            claim=claim,
            verdict=report.verdicts[claim.id],
            weight=report.weights.get(claim.id, "text"),
            statement=self.typesetter.display(claim.statement),
            records=records,
            dtype=_dtype,
            plots=self.plots[claim.id],
            witnesses=[self.witness(item) for item in witnesses_of(report, claim)],
            violations=[self.violation(claim, record) for record in records if record.details.get("inputs")],
            tracebacks=[record for record in records if record.details.get("traceback")],
            all_sizes=self.for_all_sizes(records),
            at_sizes=self.at_given_sizes(records),
            mutants=self.mutants(claim, records),
            sources=self.sources(claim),
            links=self.links(claim),
            proof=graph.proof_status(report, claim),
            missing=report.missing.get(claim.id, []),
            shortfalls=report.shortfalls_of(claim.id),
            before=report.claims[self.order[place - 1]] if place else None,
            after=report.claims[self.order[place + 1]] if place + 1 < len(self.order) else None,
        )

    def errata_page(self, paper: Paper) -> None:
        """A paper's errata, and beside the page the same as Markdown and LaTeX."""
        items = of_paper(self.errata, paper)
        shortfalls = self.shortfalls_of(paper)
        texts = [item.text for item in shortfalls]
        readings = [
            claim
            for claim in self.report.claims.values()
            if claim.paper.key == paper.key
            and not claim.of_project
            and self.report.verdicts[claim.id].status == "reading"
        ]
        self.put(f"errata/{paper.key}.md", errata_markdown(paper, items, texts))
        self.put(f"errata/{paper.key}.tex", as_latex(paper, items, texts))
        self.render(
            "errata.html",
            f"errata/{paper.key}.html",
            paper=paper,
            items=[self.erratum(item) for item in items],
            readings=[(claim, self.typesetter.display(claim.statement)) for claim in readings],
            shortfalls=shortfalls,
        )

    def map_page(self, paper: Paper) -> None:
        """The graph of one paper: proofs folded into their theorems, and every step."""
        chosen = {claim.id: claim for claim in self.report.claims.values() if claim.paper.key == paper.key}
        self.render(
            "map.html",
            f"map/{paper.key}.html",
            paper=paper,
            pictures=[
                ("Theorems", "folded", graph.picture(self.report, chosen, fold=True)),
                ("Every step", "steps", graph.picture(self.report, chosen, fold=False)),
            ],
            proof=self.proof_of_node,
            shortfalls=self.shortfalls_of(paper),
        )

    def map_of_all(self) -> None:
        """The graph across all papers, proofs folded."""
        self.render(
            "map.html",
            "map.html",
            paper=None,
            pictures=[("Theorems of all papers", "all", graph.picture(self.report, self.report.claims, fold=True))],
            proof=self.proof_of_node,
            shortfalls=self.report.shortfalls,
        )

    def assets(self) -> None:
        """Style sheet, script and badge."""
        style = (_HERE / "static" / "style.css").read_text(encoding="utf-8")
        self.put("assets/style.css", style + code.style_sheet())
        self.put("assets/site.js", (_HERE / "static" / "site.js").read_text(encoding="utf-8"))
        self.put("badge.svg", badge(self.report))

    # -- what pages are made of ----------------------------------------------------------------------------------------

    def erratum(self, item: Erratum) -> dict[str, Any]:
        """An erratum with its formulas typeset."""
        corrections = [(c, verdict, self.typesetter.display(c.statement)) for c, verdict in item.corrections]
        return {
            "item": item,
            "statement": self.typesetter.display(item.claim.statement),
            "witnesses": [self.witness(witness) for witness in item.witnesses],
            "corrections": corrections,
        }

    def witness(self, witness: Witness) -> dict[str, Any]:
        """A counterexample as equations to check by hand and as Python to paste."""
        return {
            "witness": witness,
            "inputs": self.typesetter.inputs(witness.certificate["inputs"]),
            "snippet": code.highlighted(witness.snippet),
        }

    def violation(self, claim: Claim, record: Record) -> dict[str, Any]:
        """A violation that a search found and shrank, without a certificate."""
        return {"record": record, "snippet": code.highlighted(replay_call(claim, record.details["inputs"]))}

    def draw_plots(self) -> dict[str, list[dict[str, str]]]:
        """Every claim's pictures, drawn where their data is new; evidence whose details have another shape gives none."""
        wanted = []
        for claim in self.report.claims.values():
            with contextlib.suppress(*UNDRAWABLE):
                wanted += [(claim, plot) for plot in plots_of(claim, self.report.records_of[claim.id])]
        names = [f"plots/{slug(claim.id)}.{plot.name}.svg" for claim, plot in wanted]
        self.drawn = len(wanted)
        work = [(plot, self.folder / name) for (_, plot), name in zip(wanted, names, strict=True)]
        shown: dict[str, list[dict[str, str]]] = {claim_id: [] for claim_id in self.report.claims}
        for done, (drawn, (claim, plot), name) in enumerate(zip(draw_all(work), wanted, names, strict=True), start=1):
            if drawn:
                shown[claim.id].append({"name": name, "caption": plot.caption})
                self.written.add(self.folder / name)
            self.progress(done, self.drawn + self.pages)
        return shown

    def for_all_sizes(self, records: list[Record]) -> dict[str, Any] | None:
        """The proof for all sizes, if there is one: its headline, and the formulas typeset."""
        record = next((record for record in records if record.check == "proved"), None)
        if record is None or "terms" not in record.details:
            return None
        formulas = {
            title: self.typesetter.display(record.details[name])
            for title, name in (("The formula, read back from the code", "formula"), ("Normal form", "normal form"))
            if record.details.get(name)
        }
        return {"headline": headline(record), "details": record.details, "formulas": formulas, "record": record}

    def at_given_sizes(self, records: list[Record]) -> dict[str, Any] | None:
        """The proof at given sizes, if there is one: its headline, and the grade of the evidence without it."""
        record = next((record for record in records if record.check == "proved at sizes"), None)
        if record is None or "proved at" not in record.details:
            return None
        return {"headline": headline_at_sizes(record), "otherwise": grade_without_proof(records), "record": record}

    def mutants(self, claim: Claim, records: list[Record]) -> list[dict[str, Any]]:
        """Per mutant: what each check measured, and the checks that killed it."""
        rows = []
        for mutant in claim.mutants:
            results = [(record, record.mutants[mutant.name]) for record in records if mutant.name in record.mutants]
            killers = [record for record, result in results if result["killed"]]
            rows.append({"mutant": mutant, "results": results, "killers": killers})
        return rows

    def sources(self, claim: Claim) -> list[dict[str, Any]]:
        """Formula first, then what it is compared with, then mutants."""
        parts = [(name.capitalize(), part) for name, part in claim.named_functions().items()]
        rows = [{"title": title, "source": code.source(part), "place": code.place(part)} for title, part in parts]
        for mutant in claim.mutants:
            change = mutant.variant.text
            shown = code.source(mutant.function) if change is None else code.highlighted(change)
            place = code.place(mutant.function if change is None else claim.the_formula)
            rows.append({"title": f"Mutant: {mutant.name}", "source": shown, "place": place})
        return [{**row, "open": position == 0} for position, row in enumerate(rows)]

    def links(self, claim: Claim) -> list[tuple[str, list[str]]]:
        """Ids of the claims linked, by kind of link."""
        proves = [other for other in self.report.used_by[claim.id] if claim.id in self.report.claims[other].proof]
        users = [other for other in self.report.used_by[claim.id] if other not in proves]
        links = [
            ("Correction", [claim.correction] if claim.correction else []),
            ("Corrects", [claim.corrects] if claim.corrects else []),
            ("Presupposes", list(claim.presumes)),
            ("Steps of its proof", list(claim.proof)),
            ("Step in the proof of", proves),
            ("Uses", list(claim.uses)),
            ("Used by", users),
        ]
        return [(name, found) for name, found in links if found]

    def proof_of_node(self, claim: Claim) -> str:
        """Status of a claim's proof, for the map."""
        return graph.proof_status(self.report, claim)

    def shortfalls_of(self, paper: Paper) -> list[Shortfall]:
        """What the evidence about one paper does not cover."""
        own = {claim.id for claim in self.report.claims.values() if claim.paper.key == paper.key}
        return [item for item in self.report.shortfalls if item.claims & own]

    def footer(self) -> str:
        """When the evidence was gathered."""
        times = [record.when for record in self.report.records if record.when]
        if not times:
            return "No evidence."
        first, last = (time.strftime("%Y-%m-%d %H:%M", time.gmtime(moment)) for moment in (min(times), max(times)))
        return f"Evidence gathered {first} UTC." if first == last else f"Evidence gathered {first} to {last} UTC."

    # -- files ---------------------------------------------------------------------------------------------------------

    def render(self, template: str, name: str, **values: Any) -> None:
        """One page; `root` leads from it to the site's folder."""
        values["root"] = "../" * name.count("/")
        self.put(name, self.templates.get_template(template).render(values))

    def put(self, name: str, content: str) -> None:
        """One file of the site."""
        replace_file(self.folder / name, content)
        self.written.add(self.folder / name)

    def remove_leftovers(self) -> None:
        """Delete what an earlier report left in the site's own folders."""
        for folder in OWNED:
            for path in (self.folder / folder).glob("*"):
                if path.is_file() and path not in self.written:
                    path.unlink()


def slug(claim_id: str) -> str:
    """A claim's id as a file name."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", claim_id)


def _dtype(record: Record) -> str:
    """The dtype of floating-point checks; other arithmetics have none."""
    return record.arithmetic if record.arithmetic.startswith("float") else "–"


def _number(value: float | None, digits: int = 3) -> str:
    """A number for a table cell; a dash where there is none."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value + 0.0:.{digits}g}"  # + 0.0: no negative zero
