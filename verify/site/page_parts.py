"""What pages are made of: errata and counterexamples typeset, sources with their helpers, links, filters, search words."""

from __future__ import annotations

import inspect
import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from markupsafe import Markup

from verify.checks.record import Record
from verify.evidence.failure import replay_call
from verify.evidence.verdicts import GRADES
from verify.report.citations import reference
from verify.report.errata import CertifiedCounterexample, Erratum, counterexamples_of
from verify.report.model import KINDS_OF_VERDICT, REPEATED, Report, status_of
from verify.report.notation import NotationRow, rows, symbols_of
from verify.report.proof_texts import (
    certificate_text,
    grade_without_proof,
    headline,
    headline_at_sizes,
    kernel_statements,
    kernel_text,
)
from verify.report.sides import violation
from verify.report.weights import WEIGHTS
from verify.report.wording import counted, listed, number_word, titled
from verify.site import code, mathematics
from verify.site.byhand import by_hand
from verify.site.lines import picture
from verify.site.plots import Plot
from verify.site.side_by_side import compared
from verify.vocabulary.claims import Claim
from verify.vocabulary.sections import Paper
from verify.vocabulary.shapes import as_drawn

#: Violations shown on a claim's first screen; the others stand with their counterexamples.
MOST_VIOLATIONS = 1
GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ϵ": "epsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "φ": "phi", "ϕ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega",
}  # fmt: skip
#: Filters of the list of claims: what they are called, and their names; and what their values are called.
_FILTERS = (
    ("Paper", "paper"), ("Verdict", "verdict"), ("Weight", "weight"), ("Strength", "grade"), ("Kind", "kind"),
    ("Stated by", "origin"),
)  # fmt: skip
_IN_WORDS = {
    "verdict": {"refuted": "refuted (error or slip)"},
    "origin": {"project": "this project", "paper": "the paper"},
}


class Content:
    """Parts of pages, computed from one report."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.typesetter = mathematics.Typesetter()

    # -- symbols -------------------------------------------------------------------------------------------------------

    def symbols(self, claim: Claim) -> list[tuple[Markup, NotationRow]]:
        """What the symbols of a claim's statement and assumptions stand for, each typeset."""
        return [(_typeset(row), row) for row in symbols_of(claim)]

    def notation(self, paper: Paper) -> list[tuple[Markup, NotationRow]]:
        """A paper's own table of symbols, then what is common to all papers."""
        packages = dict.fromkeys(claim.package for claim in self.report.chosen(paper.key))
        found = [row for package in packages for key in (paper.key, "") for row in rows(package, key)]
        return [(_typeset(row), row) for row in found]

    # -- statements and errata -----------------------------------------------------------------------------------------

    def erratum(self, item: Erratum, in_full: bool = False, listed: Collection[str] = ()) -> dict[str, Any]:
        """An erratum with its formulas typeset; in full also its counterexamples and the corrections of what it rests on.

        Those whose printed statement is `listed` stand there.
        """
        others = [
            (c, verdict)
            for c, verdict in item.corrections
            if c.id != item.claim.correction and not set(c.corrects) & set(listed)
        ]
        return {
            "item": item,
            "statement": self.typesetter.display(item.claim.statement),
            "pair": self.pair(item.claim, item.claim.correction),
            "violation": next(iter(self.report.violations.get(item.claim.id, [])), None),
            "counterexamples": [self.counterexample(counterexample) for counterexample in item.counterexamples]
            if in_full
            else [],
            "others": [(c, v, self.typesetter.display(c.statement)) for c, v in others] if in_full else [],
        }

    def pair(self, claim: Claim, correction: str | None) -> tuple[Markup, Markup] | None:
        """A statement and its correction, differences marked; None where there is none in this report."""
        if correction is None or correction not in self.report.claims:
            return None
        return compared(self.typesetter, claim.statement, self.report.claims[correction].statement)

    def beside(self, claim: Claim) -> dict[str, Any]:
        """For a claim's page: its correction with both statements, or what it corrects."""
        found: dict[str, Any] = {"correction": None, "corrects": None}
        claims = self.report.claims
        if (pair := self.pair(claim, claim.correction)) and claim.correction is not None:
            found["correction"] = {"claim": claims[claim.correction], "pair": pair}
        elif shown := [other for other in claim.corrects if other in claims]:
            pair = compared(self.typesetter, claims[shown[0]].statement, claim.statement)
            found["corrects"] = {"claims": [claims[other] for other in shown], "pair": pair}
        return found

    def counterexample(self, counterexample: CertifiedCounterexample, in_numpy: bool = False) -> dict[str, Any]:
        """A counterexample as equations to check by hand and as a call of this project; if asked also as plain numpy."""
        return {
            "counterexample": counterexample,
            "inputs": self.typesetter.inputs(counterexample.certificate["inputs"]),
            "snippet": code.highlighted(counterexample.snippet),
            "by_hand": by_hand(counterexample.claim, counterexample.certificate) if in_numpy else None,
        }

    def picture(self, claim: Claim) -> Plot | None:
        """Both sides along a line through the first counterexample of which that shows something."""
        for counterexample in counterexamples_of(self.report, claim):
            if (found := picture(claim, counterexample.certificate)) is not None:
                return found
        return None

    def violation(self, claim: Claim, record: Record) -> dict[str, Any]:
        """A violation that a search found and shrank, without a certificate."""
        return {"record": record, "snippet": code.highlighted(replay_call(claim, record.details["inputs"]))}

    # -- evidence ------------------------------------------------------------------------------------------------------

    def for_all_sizes(self, records: list[Record]) -> dict[str, Any] | None:
        """The proof for all sizes, if there is one: its headline, and the formulas typeset."""
        record = next((record for record in records if record.check == "proved"), None)
        if record is None or not {"terms", "entries"} & record.details.keys():
            return None
        formulas = {
            title: self.typesetter.display(record.details[name])
            for title, name in (("The formula, read back from the code", "formula"), ("Normal form", "normal form"))
            if record.details.get(name)
        }
        certificate = record.details.get("certificate")
        return {
            "headline": headline(record),
            "details": record.details,
            "formulas": formulas,
            "record": record,
            "certificate": certificate_text(certificate) if certificate else None,
            "kernel": kernel_text(self.report.claims[record.claim], certificate) if certificate else "",
            "theorems": kernel_statements(self.report.claims[record.claim], certificate) if certificate else [],
        }

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

    def ratio_of(self, claim: Claim, record: Record) -> float | None:
        """The ratio that a check found: for a counterexample that of its violation."""
        found = [violation(claim, item).ratio for item in record.details.get("certificates", [])]
        known = [ratio for ratio in found if ratio is not None]
        return max(known) if known and claim.relation.one_sided else record.tightest_ratio

    # -- sources and links ---------------------------------------------------------------------------------------------

    def sources(self, claim: Claim) -> list[dict[str, Any]]:
        """The formula, then what it is compared with, each followed by the functions that it consists of."""
        rows, shown = [], set()
        for name, function in claim.named_functions().items():
            if function.__module__ == as_drawn.__module__:  # nothing is made of what is drawn
                continue
            title = {"formula": "The formula", "oracle": "What it is compared with", "inputs": "How inputs are made"}
            rows.append((title.get(name, name.capitalize()), function))
            for helper in code.helpers([function]):
                if helper not in shown:
                    shown.add(helper)
                    rows.append((f"{helper.__name__}, used there", helper))
        return [{"title": title, "source": code.source(part), "place": code.place(part)} for title, part in rows]

    def variants(self, claim: Claim) -> list[dict[str, Any]]:
        """Mutants as code: the replacement where there is one, else the function."""
        rows = []
        for mutant in claim.mutants:
            change = mutant.variant.text
            shown = code.source(mutant.function) if change is None else code.highlighted(change)
            place = code.place(mutant.function if change is None else claim.the_formula)
            rows.append({"title": mutant.name, "source": shown, "place": place})
        return rows

    def links(self, claim: Claim) -> list[tuple[str, list[str]]]:
        """Ids of the claims linked, by kind of link; the steps of its proof have a section of their own."""
        proves = [other for other in self.report.used_by[claim.id] if claim.id in self.report.claims[other].proof]
        users = [other for other in self.report.used_by[claim.id] if other not in proves]
        links = [
            ("Correction", [claim.correction] if claim.correction else []),
            ("Corrects", list(claim.corrects)),
            ("Repeats the misprint of", [claim.repeats] if claim.repeats else []),
            (
                "Its misprint is repeated in",
                [other.id for other in self.report.claims.values() if other.repeats == claim.id],
            ),
            ("Presupposes", list(claim.presumes)),
            ("Step in the proof of", proves),
            ("Facts of its derivation", self.report.facts_of[claim.id]),
            ("Fact in the derivation of", self.report.fact_in[claim.id]),
            ("Uses", list(claim.uses)),
            ("Used by", users),
        ]
        return [(name, found) for name, found in links if found]

    # -- the front page ------------------------------------------------------------------------------------------------

    def opening(self) -> dict[str, str]:
        """Three sentences: what this is, how it was checked, what was found."""
        report = self.report
        printed, own = report.chosen(own=False), report.chosen(own=True)
        inputs = sum(record.satisfied for record in report.records if record.check not in ("proved", "counterexample"))
        proved = sum(verdict.grade in ("all sizes", "kernel") for verdict in report.verdicts.values())
        papers = len(report.printed_papers)
        what = (
            f"{number_word(papers).capitalize()} {'paper makes' if papers == 1 else 'papers make'} {counted(len(printed), 'claim')}"
            " about attention: derivatives, identities, bounds, limits, laws. Each is tested here as printed."
        )
        what += f" {counted(len(own), 'claim')} of our own correct or sharpen them, or add to them." if own else ""
        proofs = (
            f"; {counted(proved, 'identity or bound', 'identities and bounds')} {'is' if proved == 1 else 'are'} proved for all"
            " sizes" * (proved > 0)
        )
        how = (
            "Programs compared each statement with an independent computation, in floating point, in rational numbers and in"
            f" intervals, at {inputs:,} inputs in all{proofs}. Every check also had to detect mistakes that we planted."
            " Whatever is called refuted comes with a counterexample that anyone can compute again."
        )
        return {"what": what, "how": how, "found": self._found()}

    def _found(self) -> str:
        core, every = self.report.kinds(own=False, weight="core"), self.report.kinds(own=False)

        def verb(kind: str, one: str, several: str) -> str:
            return one if core[kind] == 1 else several

        parts = [
            f"{core['holds']} {verb('holds', 'holds', 'hold')} as printed",
            f"{core['reading'] + core['empirical']} hold under a stated reading or as an observation"
            if core["reading"] + core["empirical"]
            else "",
            f"{core['gap']} {verb('gap', 'stands', 'stand')} with a gap" if core["gap"] else "",
            f"{core['refuted (slip)']} {verb('refuted (slip)', 'is', 'are')} misprinted"
            if core["refuted (slip)"]
            else "",
            f"{core['refuted (error)']} {verb('refuted (error)', 'is', 'are')} false"
            if core["refuted (error)"]
            else "",
            f"{core['open']} {verb('open', 'is', 'are')} undecided" if core["open"] else "",
        ]
        text = f"Of {counted(sum(core.values()), 'core statement')}, {listed(part for part in parts if part)}"
        again = f" ({every[REPEATED]} more repeat one of them)" if every[REPEATED] else ""
        reading = f", {every['reading']} more under a stated reading" if every["reading"] else ""
        return (
            f"{text}; of all {counted(sum(every.values()), 'printed claim')}, {every['holds']} hold{reading},"
            f" {every['refuted (slip)']} are misprints{again} and {every['refuted (error)']} are false."
        )

    def provenance(self) -> list[tuple[str, str]]:
        """Where the report comes from, for readers."""
        found = self.report.provenance
        versions = [f"{name} {version}" for name, version in found["libraries"].items() if version]
        rows = [
            ("Evidence", f"gathered {_when(found['evidence'])}" if found["evidence"] else "none"),
            ("Code", f"commit {found['commit']}" if found["commit"] else ""),
            ("Software", ", ".join([f"Python {found['python']}", *versions])),
            ("Machine", found["platform"]),
            (
                "Runs",
                f"{counted(found['checks'], 'check')}, {found['seconds']:,.0f} s of checking; effort {listed(found['efforts'])};"
                f" seed {listed(map(str, found['seeds']))}; device {listed(found['devices'])}",
            ),
        ]
        return [(name, words) for name, words in rows if words]

    # -- the list of claims --------------------------------------------------------------------------------------------

    def filters(self) -> list[tuple[str, str, list[tuple[str, str, int]]]]:
        """Fields to filter by: label, name, and the options (value, words, number of claims)."""
        values = [self.filtered_by(claim) for claim in self.report.claims.values()]
        orders = {"verdict": KINDS_OF_VERDICT, "weight": WEIGHTS, "grade": (*GRADES, "none")}
        found = []
        for label, name in _FILTERS:
            number = Counter(value[name] for value in values)
            known = orders.get(name)
            options = sorted(number, key=lambda value: known.index(value) if known else 0)
            if name == "verdict" and (refuted := [value for value in options if value.startswith("refuted ")]):
                number["refuted"] = sum(number[value] for value in refuted)  # the word of the command line, for both
                options.insert(0, "refuted")
            words = _IN_WORDS.get(name, {})
            found.append((label, name, [(value, words.get(value, value), number[value]) for value in options]))
        return found

    def filtered_by(self, claim: Claim) -> dict[str, str]:
        """What the filters ask about one claim, by their names."""
        verdict = self.report.verdicts[claim.id]
        return {
            "paper": claim.paper.key,
            "verdict": status_of(verdict),
            "weight": self.report.weights.get(claim.id, "text"),
            "grade": verdict.grade or "none",
            "kind": claim.relation.kind,
            "origin": "project" if claim.of_project else "paper",
        }

    def search_words(self, claim: Claim) -> str:
        """Every word under which a claim is found, once, as the script compares them."""
        verdict = self.report.verdicts[claim.id]
        texts = [
            claim.id, titled(claim), claim.paper.title, reference(claim.paper), claim.relation.kind, claim.statement,
            verdict.why, status_of(verdict), claim.note, claim.missing, claim.consequence, claim.observed, *claim.assumption_texts,
            str(claim.reading or ""), str(claim.doubt or ""), sys.modules[claim.module].__doc__,
        ]  # fmt: skip
        for function in map(inspect.unwrap, claim.named_functions().values()):
            texts += [function.__name__.replace("_", " "), function.__doc__]
        words = " ".join(searchable(text) for text in texts if text)
        return " ".join(dict.fromkeys(words.split()))


def _when(span: Sequence[str]) -> str:
    """The first and the last moment of a run, to the minute."""
    first, last = (moment.replace("T", " ")[:16] for moment in span)
    return f"{first} UTC" if first == last else f"{first} to {last} UTC"


def _typeset(row: NotationRow) -> Markup:
    """A row's symbols in one formula; names of inputs as symbols."""
    latex = mathematics.symbol(row.symbol) if row.symbol.isidentifier() else row.symbol
    return mathematics.prose(f"${latex}$")


def searchable(text: str) -> str:
    """Text as the search compares it: one kind of dash, Greek letters and LaTeX by name, no braces, small letters."""
    text = unicodedata.normalize("NFKD", text.lower())
    text = "".join(GREEK.get(letter, letter) for letter in text if not unicodedata.combining(letter))
    text = re.sub(r"[\u2010-\u2015\u2212]", "-", text).replace("_{\\", "_").replace("_\\", "_")
    return re.sub(
        r"[\\{}$,;:()\[\]“”\"']+", " ", re.sub(r"\\(?:text|mathrm|operatorname|mathbf|mathcal|mathbb)|[{}]", "", text)
    )


def number(value: float | None, digits: int = 3) -> str:
    """A number for a table cell; a dash where there is none."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value + 0.0:.{digits}g}"  # + 0.0: no negative zero


def dtype(record: Record) -> str:
    """The dtype of floating-point checks; other arithmetics have none."""
    return record.arithmetic if record.arithmetic.startswith("float") else "–"
