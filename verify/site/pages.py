"""Which pages there are, what each shows, and the writing of them.

index.html                   what this is, the papers side by side, the findings that matter most
papers/<paper>.html          one paper: what to rely on, what to use instead, its claims in order
claims.html                  every claim with search and filters
claims/<id>.html             one claim: verdict, statement, evidence, counterexamples, source, links
glossary.html                the words that the report uses
map.html, map/<paper>.html   which claim rests on which
errata/<paper>.html          what an author would want to know; beside it the same as .md and .tex
changes.html                 which verdicts changed when, where that is known
badge.svg, assets/
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket
from markupsafe import Markup

from verify.evidence.undecided import remarks_on
from verify.report.attempts import kept
from verify.report.baseline import Change
from verify.report.citations import bibtex, edition, link, reference, section, section_link
from verify.report.coverage import STATE_WORDS, coverage_of
from verify.report.errata import counterexamples_of, errata, errata_markdown, in_all, of_paper
from verify.report.files import replace_file
from verify.report.history import Changes
from verify.report.looseness import nearest
from verify.report.model import KINDS_OF_VERDICT, REPEATED, Report, Shortfall, status_of
from verify.report.papers import about, findings, parts, reliable, replaced
from verify.report.sides import short
from verify.report.wording import KIND_NAMES, capital, counted, how_known, how_sure, resting, sentence, titled
from verify.site import building, code, documents, glossary, graph, mathematics
from verify.site.badge import badge
from verify.site.errata_in_latex import as_latex
from verify.site.page_parts import MOST_VIOLATIONS, Content, dtype, number
from verify.site.plots import plots_of
from verify.vocabulary.assumptions import text_of
from verify.vocabulary.claims import Claim
from verify.vocabulary.sections import Paper

_HERE = Path(__file__).parent
#: What may be the id of a claim in running text.
_CLAIM_ID = re.compile(r"(?<![\w./>-])[a-z]+\.[a-z0-9][\w.-]*")
#: What the report is called.
TITLE = "Attention theorems, checked by machine"
#: Folders that belong to the site: what an earlier report left there and this one does not write is removed.
OWNED = ("assets", "claims", "errata", "map", "papers", "plots")
#: Refuted statements shown on the front page.
FINDINGS = 8
#: A mark for each status, so that no reader depends on colour.
MARKS = {"holds": "✓", "refuted": "✗", "gap": "◐", "open": "?", "reading": "≈", "empirical": "○"}
#: What stands over a correction, by its own verdict.
LABELS = {
    "holds": "What holds", "reading": "What holds, under a reading", "empirical": "What is observed",
    "gap": "What stands with a gap",
    "open": "Correction, undecided by this evidence", "refuted": "Correction, refuted itself",
}  # fmt: skip
#: Where the glossary explains a kind of verdict, and how a paper's page counts it.
TERM_OF = {
    "refuted (error)": "error", "refuted (slip)": "slip", "refuted (repeated)": "repeated", "gap": "gap", "open": "open",
    "reading": "reading", "empirical": "empirical", "holds": "holds",
}  # fmt: skip
CORE_WORDS = {
    "refuted (error)": "false", "refuted (slip)": "misprinted", "refuted (repeated)": "repeat a misprint", "gap": "with a gap",
    "open": "undecided",
    "reading": "hold under a reading", "empirical": "observed", "holds": "hold",
}  # fmt: skip


class _Compiled(jinja2.BytecodeCache):
    """Templates as this process has compiled them, for the next site that it writes."""

    def __init__(self) -> None:
        self.known: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self.known:
            bucket.bytecode_from_string(self.known[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.known[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _Compiled()


class Site:
    """One report as pages below a folder."""

    def __init__(self, report: Report, folder: Path, changes: list[Change] | None = None,
                 log: Sequence[Changes] = (), pdf: bool = False, docs: str | None = None) -> None:  # fmt: skip
        self.report, self.folder, self.changes, self.log = report, folder, changes, log
        self.pdf, self.docs = pdf, docs
        self.content = Content(report)
        self.typesetter = self.content.typesetter
        self.files: dict[str, str] = {}  #: of the page that is being made, with their digests
        self.plain: set[str] = set()  #: formulas that the other pages show as source
        self.pages = self._pages()
        self.errata = errata(report)
        self.order = list(report.claims)
        self.templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            bytecode_cache=_COMPILED,
        )
        self.templates.globals.update(
            marks=MARKS, report=report, report_title=TITLE, label_of=LABELS, known_term=_known_term, docs=docs
        )
        self.templates.filters.update(
            words=self.words, plain=mathematics.plain, number=number, status=status_of, slug=slug, titled=titled,
            sentence=sentence, capital=capital, counted=counted, resting=resting, short=short, link=link,
            section=section, section_link=section_link, text_of=text_of, how_known=how_known,
            reference=reference, edition=edition,
        )  # fmt: skip

    def _pages(self) -> dict[str, tuple[str, Claim | None, Callable[[], None]]]:
        """Every page by its name, of what kind it is, the claim it is about, and how it is written; the front page last."""
        found: dict[str, tuple[str, Claim | None, Callable[[], None]]] = {"assets": ("assets", None, self.assets)}
        for paper in self.report.papers:
            for kind, page in (("errata", self.errata_page), ("papers", self.paper_page), ("map", self.map_page)):
                found[f"{kind}/{paper.key}"] = (kind, None, partial(page, paper))
        for name, step in (("map", self.map_of_all), ("claims", self.list_page), ("glossary", self.glossary_page)):
            found[name] = (name, None, step)
        if self.log:
            found["changes"] = ("changes", None, self.log_page)
        for claim in self.report.claims.values():
            found[f"claims/{slug(claim.id)}"] = ("claim", claim, partial(self.claim_page, claim))
        return {**found, "index": ("index", None, self.front_page)}

    def write(self, progress: Callable[[int, int], None], jobs: int = 1, package: str = "theorems") -> Path:
        """Every page that does not stand already, in worker processes where that pays; returns the front page's path."""
        key, before = (
            building.keys(self.report, self.changes, self.log, self.pdf, self.docs),
            building.made_before(self.folder),
        )
        keys = {name: key(kind, claim) for name, (kind, claim, _) in self.pages.items()}
        made = {
            name: before[name] for name in self.pages if name in before and before[name].stands(self.folder, keys[name])
        }
        due = [name for name in self.pages if name not in made]
        done = 0

        def step(number: int) -> None:
            nonlocal done
            done += number
            progress(done, len(due))

        first = [name for name in due if name != "index"]
        for name, (files, plain) in building.make(self, first, jobs, package, step).items():
            made[name] = building.Made(keys[name], files, plain)
        if "index" in due:
            self.plain = {latex for name, page in made.items() if name != "index" for latex in page.plain}
            made["index"] = building.Made(keys["index"], *self.make("index"))
            step(1)
        replace_file(self.folder / building.MANIFEST, building.manifest(made))
        self.remove_leftovers({self.folder / name for page in made.values() for name in page.files})
        return self.folder / "index.html"

    def make(self, name: str) -> tuple[dict[str, str], list[str]]:
        """Write one page; returns its files with their digests, and the formulas that it shows as source."""
        self.files = {}
        self.typesetter.plain.clear()
        self.pages[name][2]()
        return self.files, sorted(self.typesetter.plain)

    # -- pages ---------------------------------------------------------------------------------------------------------

    def front_page(self) -> None:
        """What this is, how it was checked, what was found; core statements by paper; the gravest findings."""
        shown = findings(self.errata, self.report.papers, FINDINGS)
        core = self.report.kinds(own=False, weight="core")
        self.render(
            "index.html",
            "index.html",
            opening=self.content.opening(),
            rows=[self.paper_row(paper) for paper in self.report.papers],
            kinds=[kind for kind in reversed(KINDS_OF_VERDICT) if kind not in ("open", REPEATED) or core[kind]],
            kind_names=KIND_NAMES,
            findings=[self.content.erratum(item) for item in shown],
            partial=[item for item in self.report.shortfalls if not item.once],
            once=[item for item in self.report.shortfalls if item.once],
            provenance=self.content.provenance(),
            changes=self.changes,
            log=self.log,
            plain=len(self.plain),
        )

    def paper_row(self, paper: Paper) -> dict[str, Any]:
        """One paper's counts: core statements and all printed claims by verdict, and the project's own beside them."""
        core, printed = (self.report.kinds(paper.key, own=False, weight=weight) for weight in ("core", None))
        return {
            "paper": paper,
            "core": core,
            "core_total": sum(core.values()),
            "printed": printed,
            "printed_total": sum(printed.values()),
            "own_total": len(self.report.chosen(paper.key, own=True)),
        }

    def list_page(self) -> None:
        """Every claim; and row by row what the filters ask about it, and the words by which the search finds it."""
        claims = self.report.claims.values()
        known = [{**self.content.filtered_by(claim), "words": self.content.search_words(claim)} for claim in claims]
        self.put(
            "assets/search.js", f"window.claims = {json.dumps(known, ensure_ascii=False, separators=(',', ':'))};\n"
        )
        self.render("claims.html", "claims.html", filters=self.content.filters())

    def log_page(self) -> None:
        """Which verdicts changed when."""
        self.render("changes.html", "changes.html", log=self.log)

    def glossary_page(self) -> None:
        """Every word that the report uses in a sense of its own."""
        self.render("glossary.html", "glossary.html", glossary=glossary.by_section())

    def paper_page(self, paper: Paper) -> None:
        """What of a paper one can rely on, and what to use instead of the rest."""
        report, items = self.report, of_paper(self.errata, paper)
        instead = replaced(items)
        listed = {item.claim.id for item in instead}
        sure = partial(self.sure)
        self.render(
            "paper.html",
            f"papers/{paper.key}.html",
            paper=paper,
            printed=len(report.chosen(paper.key, own=False)),
            core=report.kinds(paper.key, own=False, weight="core"),
            core_total=len(report.chosen(paper.key, own=False, weight="core")),
            core_words=CORE_WORDS,
            term_of=TERM_OF,
            reliable=[
                (claim, report.verdicts[claim.id], self.typesetter.display(claim.statement), sure(claim))
                for claim in reliable(report, paper)
            ],
            instead=[self.content.erratum(item) for item in instead],
            beyond=[
                self.content.erratum(item) for item in items if item.weight == "core" and item.claim.id not in listed
            ],
            parts=parts(report, paper),
            coverage=coverage_of(paper, report.claims),
            notation=self.content.notation(paper),
            state_words=STATE_WORDS,
            about=documents.as_html(about(report, paper), self.address),
            bibtex=bibtex(paper, report.provenance["commit"]),
            shortfalls=self.shortfalls_of(paper),
        )

    @staticmethod
    @jinja2.pass_context
    def words(context: jinja2.runtime.Context, text: str) -> Markup:
        """Running text with its mathematics typeset and the ids of claims as links."""
        root, claims = context.get("root", ""), context["report"].claims

        def linked(match: re.Match[str]) -> str:
            claim_id = match[0].rstrip(".")
            if claim_id not in claims:
                return match[0]
            return f'<a href="{root}claims/{slug(claim_id)}.html">{claim_id}</a>{match[0][len(claim_id) :]}'

        return Markup(_CLAIM_ID.sub(linked, mathematics.prose(text)))

    def address(self, claim_id: str) -> str | None:
        """A claim's page from a folder beside it."""
        return f"../claims/{slug(claim_id)}.html" if claim_id in self.report.claims else None

    def sure(self, claim: Claim) -> str:
        """How sure the verdict on a claim is."""
        return how_sure(claim, self.report.verdicts[claim.id], self.report.records_of[claim.id])

    def claim_page(self, claim: Claim) -> None:
        """Verdict, statement, evidence, counterexamples, source, links."""
        report, records, content = self.report, self.report.records_of[claim.id], self.content
        place = self.order.index(claim.id)
        self.render(
            "claim.html",
            f"claims/{slug(claim.id)}.html",
            claim=claim,
            verdict=report.verdicts[claim.id],
            weight=report.weights.get(claim.id, "text"),
            sure=self.sure(claim),
            violations_by_name=report.violations.get(claim.id, [])[:MOST_VIOLATIONS],
            statement=self.typesetter.display(claim.statement),
            symbols=content.symbols(claim),
            records=records,
            undecided=remarks_on(claim, records),
            dtype=dtype,
            ratio_of=partial(content.ratio_of, claim),
            nearest=nearest(claim, report.verdicts[claim.id]),
            plots=plots_of(claim, records),
            picture=content.picture(claim),
            counterexamples=[content.counterexample(item, in_numpy=True) for item in counterexamples_of(report, claim)],
            violations=[content.violation(claim, record) for record in records if record.details.get("inputs")],
            tracebacks=[record for record in records if record.details.get("traceback")],
            all_sizes=content.for_all_sizes(records),
            at_sizes=content.at_given_sizes(records),
            attempt=kept(claim),
            mutants=content.mutants(claim, records),
            sources=content.sources(claim),
            variants=content.variants(claim),
            links=content.links(claim),
            proof=graph.proof_status(report, claim),
            missing=report.missing.get(claim.id, []),
            shortfalls=report.shortfalls_of(claim.id),
            before=report.claims[self.order[place - 1]] if place else None,
            after=report.claims[self.order[place + 1]] if place + 1 < len(self.order) else None,
            **content.beside(claim),
        )

    def errata_page(self, paper: Paper) -> None:
        """A paper's errata, and beside the page the same as Markdown and LaTeX."""
        items = of_paper(self.errata, paper)
        shortfalls = self.shortfalls_of(paper)
        texts = [item.text for item in shortfalls]
        listed = {item.claim.id for item in items}
        printed = self.report.chosen(paper.key, own=False)
        readings = [claim for claim in printed if self.report.verdicts[claim.id].status == "reading"]
        self.put(f"errata/{paper.key}.md", errata_markdown(paper, items, texts))
        self.put(f"errata/{paper.key}.tex", as_latex(paper, items, texts))
        self.render(
            "errata.html",
            f"errata/{paper.key}.html",
            paper=paper,
            pdf=self.pdf,
            summary=in_all(items),
            items=[self.content.erratum(item, in_full=True, listed=listed) for item in items],
            listed=listed,
            readings=[(claim, self.typesetter.display(claim.statement)) for claim in readings],
            shortfalls=shortfalls,
        )

    def map_page(self, paper: Paper) -> None:
        """The graph of one paper: proofs folded into their theorems, and every step; beside it what its nodes state."""
        template, typeset = self.templates.get_template("stated.html"), self.typesetter.display
        stated = {
            claim.id: template.render(claim=claim, statement=typeset(claim.statement), root="").strip()
            for claim in self.report.chosen(paper.key)
        }
        told = json.dumps(stated, ensure_ascii=False, separators=(",", ":"))
        self.put(f"assets/stated-{paper.key}.js", f"window.stated = {{...window.stated, ...{told}}};\n")
        pictures = [
            ("Theorems", paper.key, "folded", self.drawn(paper, True)),
            ("Every step", paper.key, "steps", self.drawn(paper, False)),
        ]
        self.render(
            "map.html", f"map/{paper.key}.html", paper=paper, pictures=pictures, proof=self.proof_of_node,
            shortfalls=self.shortfalls_of(paper),
        )  # fmt: skip

    def drawn(self, paper: Paper, fold: bool) -> graph.Picture:
        """The picture of a paper's claims."""
        return graph.picture(self.report, {claim.id: claim for claim in self.report.chosen(paper.key)}, fold)

    def map_of_all(self) -> None:
        """The graph of each paper, proofs folded; no paper rests on another."""
        pictures = [(paper.title, paper.key, paper.key, self.drawn(paper, True)) for paper in self.report.papers]
        self.render(
            "map.html", "map.html", paper=None, pictures=pictures, proof=self.proof_of_node,
            shortfalls=[item for item in self.report.shortfalls if not item.once],
        )  # fmt: skip

    def assets(self) -> None:
        """Style sheet, script and badge."""
        style = (_HERE / "static" / "style.css").read_text(encoding="utf-8")
        self.put("assets/style.css", style + code.style_sheet())
        self.put("assets/site.js", (_HERE / "static" / "site.js").read_text(encoding="utf-8"))
        self.put("badge.svg", badge(self.report))

    def proof_of_node(self, claim: Claim) -> str:
        """Status of a claim's proof, for the map."""
        return graph.proof_status(self.report, claim)

    def shortfalls_of(self, paper: Paper) -> list[Shortfall]:
        """What the evidence about one paper does not cover."""
        own = {claim.id for claim in self.report.chosen(paper.key)}
        return [item for item in self.report.shortfalls if item.claims & own and not item.once]

    # -- files ---------------------------------------------------------------------------------------------------------

    def render(self, template: str, name: str, **values: Any) -> None:
        """One page; `root` leads from it to the site's folder."""
        values["root"] = "../" * name.count("/")
        self.put(name, self.templates.get_template(template).render(values))

    def put(self, name: str, content: str) -> None:
        """One file of the site."""
        replace_file(self.folder / name, content)
        self.files[name] = building.digest(content)

    def remove_leftovers(self, written: set[Path]) -> None:
        """Delete what an earlier report left in the site's own folders."""
        for folder in OWNED:
            for path in (self.folder / folder).glob("*"):
                if path.is_file() and path not in written:
                    path.unlink()


def slug(claim_id: str) -> str:
    """A claim's id as a file name."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", claim_id)


def _known_term(key: str) -> str:
    """An address on the glossary's page; raises ValueError for a word that it does not explain."""
    if key not in glossary.addresses():
        raise ValueError(f"the glossary explains {sorted(glossary.addresses())}; got {key!r}")
    return key
