"""Sentences that several forms of the report share: titles, counts, and how sure a verdict is."""

from __future__ import annotations

from collections.abc import Iterable

from verify.checks.record import CERTIFIED, UPHELD, Record
from verify.evidence.verdicts import Verdict, found_by_search
from verify.vocabulary.assumptions import Assumption, Construction, Convention, Stated, objects_of
from verify.vocabulary.claims import Claim
from verify.vocabulary.realised import Realised
from verify.vocabulary.relations import AtMost, OrderOfGrowth, TendsTo, by_type

#: A kind of verdict as a column of a table: the word of the command line, of JSON and of the glossary.
KIND_NAMES = {
    "refuted (error)": "error", "refuted (slip)": "slip", "refuted (repeated)": "repeated", "gap": "gap", "open": "open",
    "reading": "reading", "empirical": "empirical", "holds": "holds",
}  # fmt: skip
#: Checks whose examples are no inputs tried.
_NO_INPUTS = ("proved", "counterexample")
#: How a claim of a kind is proved for all sizes, where not by a normal form of both sides.
_HOW_PROVED = {
    AtMost: "by a derivation from rules for norms",
    OrderOfGrowth: "the count is at most a stated constant times the order",
    TendsTo: "at fixed inputs, the mean of the squared error is at most a bound that tends to 0, a limit in mean square",
}
_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def titled(claim: Claim) -> str:
    """A claim's label with its name, where it has one: "Eq. (17): variance of off-diagonal logits"."""
    return f"{claim.label}: {claim.name}" if claim.name else claim.label


def sentence(text: str) -> str:
    """Text that ends as a sentence does, with one stop."""
    text = text.rstrip()
    return text if text.endswith(("!", "?", "…")) else text.rstrip(".") + "."


def capital(text: str) -> str:
    """Text that begins as a sentence does."""
    return text[:1].upper() + text[1:]


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: "1 claim", "2,054 inputs"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def number_word(number: int) -> str:
    """A small number as a word."""
    return _SMALL[number] if number < len(_SMALL) else f"{number:,}"


def listed(items: Iterable[str]) -> str:
    """ "a, b and c"."""
    *first, last = list(items) or ["none"]
    return f"{', '.join(first)} and {last}" if first else last


def does_not_hold(verdicts: Iterable[Verdict], repeated: int = 0) -> str:
    """How many errata there are: what is refuted apart from what stands with a gap; slips that repeat one, apart too."""
    found = list(verdicts)
    errors = sum(verdict.status == "refuted" and verdict.severity != "slip" for verdict in found)
    slips = sum(verdict.status == "refuted" and verdict.severity == "slip" for verdict in found) - repeated
    gaps = sum(verdict.status == "gap" for verdict in found)
    if not found:
        return "No printed claim is refuted."
    parts = [
        f"{counted(errors, 'printed claim')} {'is' if errors == 1 else 'are'} false" if errors else "",
        f"{counted(slips, 'printed claim')} {'is a misprint' if slips == 1 else 'are misprints'}" if slips else "",
        f"{repeated} more {'repeats' if repeated == 1 else 'repeat'} one of these misprints" if repeated else "",
        f"{counted(gaps, 'printed claim')} {'stands' if gaps == 1 else 'stand'} with a gap" if gaps else "",
    ]
    return sentence(listed(part for part in parts if part))


def resting(number: int) -> str:
    """ "3 claims rest on it"."""
    return f"{counted(number, 'claim')} {'rests' if number == 1 else 'rest'} on it"


def how_known(item: Stated, certified: bool, realised: Realised | None = None) -> str:
    """How the machine knows an assumption: by a test, by a function that makes it so, or by the shape of the inputs.

    `certified` says whether the claim has a counterexample, which then meets every condition for certain; `realised` is
    what the preparation of its inputs says of the conditions that it realises.
    """
    if isinstance(item, str):
        return "in words alone; nothing tests it"
    if isinstance(item, Assumption):
        if not item.tests:
            return "a condition on sizes; no others are tried"
        beside = "; the counterexample meets it for certain" if certified else ""
        made = realised.of(item.text) if realised else ""
        return f"a condition; every input is tested for it{beside}{f'; how inputs are made to meet it: {made}' if made else ''}"
    if isinstance(item, Construction):
        return "true of every input of this shape"
    named = (getattr(each, "__name__", "") for each in objects_of(item))
    names = ", ".join(f"`{name}`" for name in named if name.isidentifier() and not name.startswith("_"))
    kind, verb = ("a convention", "applied") if isinstance(item, Convention) else ("a definition", "made so")
    return f"{kind}, {verb} {f'by {names}' if names else 'in the functions of the claim'}"


def how_sure(claim: Claim, verdict: Verdict, records: list[Record]) -> str:
    """One honest sentence or two: proved for all sizes, certain by counterexample, or how much was tried."""
    if verdict.status == "open":
        failing = any(found_by_search(claim, record) for record in records)
        return (
            "False at an input that a search found, for certain; no counterexample is declared."
            if failing
            else "Undecided."
        )
    wrong = _variants(claim, records)
    certified = [record for record in records if record.outcome == CERTIFIED]
    if verdict.status == "refuted" and certified:
        inputs = sum(record.satisfied for record in certified)
        where = "At one explicit input" if inputs == 1 else f"At each of {number_word(inputs)} explicit inputs"
        exact = all(record.arithmetic == "exact" for record in certified)
        how = "computed in rational numbers" if exact else "enclosed away from zero by balls"
        of = ", of the statement as it is read here" if claim.reading is not None else ""
        return f"Certain{of}. {where} every assumption holds, and the violation is {how}."
    tried = _tried(claim, records)
    proof = next((record for record in records if record.check == "proved" and record.outcome == UPHELD), None)
    if proof is not None:
        least = proof.details.get("sizes from", 1)
        sizes = f"all sizes from {least} on" if least > 1 else "all sizes"
        derived = claim.relation.one_sided
        how = by_type(_HOW_PROVED, claim.relation) or "both sides reduce to one normal form"
        if proof.details.get("constants from below"):
            how = "the count lies between two stated multiples of the order"
        given = " under the hypothesis that is missing" if verdict.status == "gap" and claim.missing else ""
        rests = "; the gap is in what it rests on" if verdict.status == "gap" and not claim.missing else ""
        return f"Proved for {sizes}{given}{',' if derived else ':'} {how}{rests}. Besides, {tried}{wrong}."
    kind = "An observation, no theorem" if verdict.status == "empirical" else "Not a proof"
    return f"{kind}: {tried}{wrong}."


def _tried(claim: Claim, records: list[Record]) -> str:
    """How many inputs the checks tried, and in which arithmetic."""
    used = [record for record in records if record.check not in _NO_INPUTS]
    total = sum(record.satisfied for record in used)
    tried, what = claim.relation.tried
    text = f"{tried} {counted(total, what)}"
    exact = sum(record.satisfied for record in used if record.arithmetic == "exact")
    balls = sum(record.satisfied for record in used if record.arithmetic == "ball")
    parts = [
        f"{exact:,} of them in exact arithmetic" if exact else "",
        f"{balls:,} {'' if exact else 'of them '}in balls" if balls else "",
    ]
    return ", ".join([text, *(part for part in parts if part)])


def _variants(claim: Claim, records: list[Record]) -> str:
    dead = {name for record in records for name, result in record.mutants.items() if result["killed"]}
    killed = sum(mutant.name in dead for mutant in claim.mutants)
    if not claim.mutants:
        return ""
    if killed < len(claim.mutants):
        return f"; {killed} of {counted(len(claim.mutants), 'wrong variant')} detected"
    return f"; {'both' if killed == 2 else f'all {killed}' if killed > 1 else 'the one'} wrong variant{'s' * (killed > 1)} detected"
