"""Proofs as text: what was claimed, what the code says, what both sides reduce to, and by which rules; and at which sizes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from verify.checks.record import UPHELD, Record, sizes_text
from verify.evidence.by_rocq import checked, checked_by_rocq
from verify.evidence.verdicts import GRADES, grade_of
from verify.report.unicode import readable
from verify.report.wording import counted, listed
from verify.vocabulary.claims import Claim


def headline(record: Record) -> str:
    """One sentence: "both sides reduce to the same 14 terms", or what stopped the proof."""
    if record.outcome != UPHELD:
        return f"not proved: {record.message}"
    if "limit" in record.details:
        rate = record.details["limit"]["rate"]
        return (
            "proved for all sizes: at fixed inputs, the mean of the squared error is at most a multiple of"
            f" {rate}, which tends to 0"
        )
    if "constants" in record.details:
        constants = listed(dict.fromkeys(record.details["constants"]))
        least = record.details["sizes from"]
        sizes = f"all sizes from {least} on" if least > 1 else "all sizes"
        found = f"proved for {sizes}: the count is at most a constant times the order, the constant being {constants}"
        below = record.details.get("constants from below")
        return f"{found}, and at least {listed(dict.fromkeys(below))} times it" if below else found
    if "entries" in record.details:
        count = len(record.details["entries"])
        entries = "the bound has" if count == 1 else f"each of its {count} inequalities has"
        return f"proved for all inputs and sizes: {entries} a derivation by rules for norms"
    left, right = (record.details["terms"][side] for side in ("left", "right"))
    if left == right:
        terms = "the same term" if left == 1 else f"the same {left} terms" if left else "zero"
    else:
        terms = f"{left} and {right} terms, whose difference vanishes"
    return f"proved for all sizes: both sides reduce to {terms}"


def _heading(claim: Claim) -> list[str]:
    """The claim, its statement as text, and a word on claims that are not true."""
    lines = [f"{claim.label}  [{claim.id}]", textwrap.indent(readable(claim.statement), "  "), ""]
    if claim.expects == "refuted":
        lines += [f"This claim is refuted (verify show {claim.id}), so that no proof of it exists.", ""]
    return lines


def proof_text(claim: Claim, record: Record) -> str:
    """Everything that a record of the check `proved` holds, for the shell."""
    details = record.details
    if "entries" in details:
        return derivation_text(claim, record)
    lines = [*_heading(claim), headline(record)]
    if record.outcome != UPHELD and details.get("remains"):
        lines.append(f"  first term left: {details['remains'][0]}")
    shown = {"formula read back from the code": "formula", "normal form (repeated indices are summed)": "normal form"}
    for title, name in shown.items():
        if details.get(name):
            lines += [f"\n{title}:", f"  {details[name]}"]
    listed = {
        "rules": "rules", "hypotheses": "hypotheses", "conditions": "conditions", "taken as positive": "positive",
    }  # fmt: skip
    lines.append("")
    for title, name in listed.items():
        if details.get(name):
            lines.append(f"{title}: {'; '.join(details[name])}")
    if "certificate" in details:
        lines.append(f"certificate: {certificate_text(details['certificate'])}")
        lines += filter(None, [kernel_text(claim, details["certificate"])])
        lines += [f"theorem in Rocq: {statement}" for statement in kernel_statements(claim, details["certificate"])]
    for spot in details.get("spots", []):
        sizes = ", ".join(f"{name} = {value}" for name, value in spot["sizes"].items()) or "no sizes"
        lines.append(f"normal forms against the functions at {sizes}: {float(spot['worst']):.1e} apart")
    lines += _of_limit(details)
    if "limit" in details:
        lines += [f"mutant {name}: {result}" for name, result in details["mutants"].items()]
    for name, left in details.get("left by mutants", {}).items():
        lines.append(f"mutant {name}: {f'{left} terms left' if isinstance(left, int) else left}")
    lines.append(f"{details['seconds']:.2f} s")
    return "\n".join(lines)


def _of_limit(details: Mapping[str, Any]) -> list[str]:
    """What the proof of a limit in mean square has besides a bound: the mean of that bound, and numbers."""
    if "limit" not in details:
        return []
    found, kept = details["limit"], details.get("certificate of the bound")
    terms = counted(found["terms"], "term")
    return [
        f"the mean over all draws: both sides reduce to the same {terms}; the rate {found['rate']} tends to 0",
        *([f"certificate of the bound: {certificate_text(kept)}"] if kept else []),
        f"the means are right exactly, and the errors are below their bounds, at {found['inputs']} inputs",
    ]


def certificate_text(certificate: dict[str, Any]) -> str:
    """What the checker of certificates accepted, or why there is no certificate yet."""
    if "missing" in certificate:
        return f"not certified: {certificate['missing']}"
    if "refused" in certificate:
        return f"refused: {certificate['refused']}"
    if "inequalities" in certificate:
        count, steps = certificate["inequalities"], certificate["steps"]
        rules = f", by the rules {', '.join(certificate['rules'])}" if certificate["rules"] else ""
        return f"accepted, inequalities: {count}, steps: {steps}{rules}"
    left, right = (certificate["terms"][side] for side in ("left", "right"))
    rests = [f"the rules {', '.join(certificate['rules'])}"] * bool(certificate["rules"])
    rests += [f"the hypotheses {'; '.join(certificate['hypotheses'])}"] * bool(certificate["hypotheses"])
    return f"accepted, {left} and {right} terms, by {' and '.join(rests) if rests else 'algebra and derivatives alone'}"


def kernel_text(claim: Claim, certificate: Mapping[str, Any]) -> str:
    """What Rocq's kernel checked of this very certificate; empty where it checked none, or another."""
    found = checked(claim, certificate)
    if found is None:
        return ""
    parts = [
        counted(found["algebra"], "equation"),
        counted(found["functions"], "comparison of the arguments of functions", "comparisons of the arguments of functions"),
        counted(found["derivatives"], "real derivative"),
    ]  # fmt: skip
    text = f"checked by Rocq's kernel: {listed(part for part in parts if not part.startswith('0 '))}"
    text += f"; proof rules: {', '.join(found['rules'])}" if found["rules"] else ""
    text += f"; {assumed_text(found)}"
    inside = (
        "; a derivative inside a function is the expression that was computed for it"
        if found.get("real") is not True
        else ""
    )
    return (
        f"{text}{inside}; axioms of its library: "
        f"{', '.join(name.split('.')[-1] for name in checked_by_rocq(claim.package)['axioms']) or 'none'}"
    )


def kernel_statements(claim: Claim, certificate: Mapping[str, Any]) -> list[str]:
    """The theorems of this very certificate that Rocq's kernel checked as formulas about matrices, as Rocq reads them."""
    found = checked(claim, certificate)
    return list(found.get("formulas", [])) if found is not None else []


def assumed_text(found: Mapping[str, Any]) -> str:
    """What the theorem assumes, and whether inputs of the claim meet it."""
    conditions = found.get("assumed", found["conditions"])
    assumed = [*dict.fromkeys(found["hypotheses"]), *conditions]
    if not assumed:
        return "the theorem assumes nothing"
    text = f"the theorem assumes: {'; '.join(assumed)}"
    text += " (for all values of the indices that are not summed)" * any("[" in each for each in conditions)
    met = found.get("met", {"inputs": 0, "not met": {}})
    if met["not met"]:
        where = next(iter(met["not met"].values()))
        return f"{text}; one of these is more than the claim assumes ({where}), so that the theorem gives no grade"
    if not conditions:
        return text
    return (
        f"{text}; what is positive, not 0 or invertible here was so at "
        f"{counted(met['inputs'], 'input')} of the claim at which it was tested"
    )


def headline_at_sizes(record: Record) -> str:
    """One sentence on a record of the check `proved at sizes`: at which sizes, and what both sides are there."""
    if record.outcome != UPHELD:
        return f"not proved at given sizes: {record.message}"
    details = record.details
    where = f"at {sizes_text(details['proved at'])}" if details["proved at"] else "at the only sizes there are"
    left, right = (details["terms"][side] for side in ("left", "right"))
    terms = f"{left} terms" if left == right else f"{left} and {right} terms"
    what = f"the same functions, of {terms} in all" if left or right else "identically zero"
    return f"proved {where}: with {details['indeterminates']} entries as indeterminates both sides are {what}"


def grade_without_proof(records: Iterable[Record]) -> str:
    """The grade that the checks other than the proof at given sizes give."""
    others = [grade_of(record.arithmetic) for record in records if record.check != "proved at sizes"]
    return max(others, key=GRADES.index, default="none")


def text_at_sizes(record: Record) -> str:
    """Everything that a record of the check `proved at sizes` holds, for the shell."""
    lines = [headline_at_sizes(record)]
    for name, left in record.details["left by mutants"].items():
        lines.append(f"mutant {name}: {f'{left} entries differ' if isinstance(left, int) else left}")
    return "\n".join([*lines, f"{record.details['seconds']:.2f} s"])


def step_text(step: Mapping[str, Any]) -> str:
    """A step of a derivation, or of a certificate: there the rule, and the expressions that it is used of."""
    if "says" not in step:
        return f"{step['quantity']}\n      <= {step['bound']}    ({step['rule']})"
    return f"{step['rule']}: {step['says'] or step['rule']}" + (
        f"\n      of {' and '.join(step['of'])}" if step["of"] else ""
    )


def derivation_text(claim: Claim, record: Record) -> str:
    """A derivation of a bound: for each inequality both sides, the steps in order, and what they come to."""
    details = record.details
    lines = [*_heading(claim), headline(record)]
    for number, entry in enumerate(details["entries"], 1):
        lines += [f"\ninequality {number}, {'derived' if entry['proved'] else 'not derived'}:"]
        lines += [f"  to bound: {entry['left']}", f"  by:       {entry['right']}"]
        lines += [f"    {step_text(step)}" for step in entry["steps"]]
        if "bound" in entry:
            lines.append(f"  computed: {entry['bound']}")
        if entry.get("unreached"):
            lines.append(
                f"  left over: {', '.join(entry['unreached'])}; no rule leads on to the quantities of the printed bound"
            )
        if entry.get("uncovered"):
            lines.append(
                f"  left over: the computed bound less the printed one has {entry['uncovered']}, which may be above 0"
            )
        if entry.get("slack") not in (None, "1"):
            lines.append(f"  the printed bound is {entry['slack']} times the computed one")
    if claim.expects == "refuted" and details["entries"]:
        lines.append(
            "\nThis is where the search for a derivation ended. That the claim is false is shown by counterexamples."
        )
    lines.append("")
    for title in ("rules", "facts", "closed forms", "hypotheses"):
        if details[title]:
            lines.append(f"{title}: {'; '.join(details[title])}")
    lines += _of_limit(details)
    if "counted" in details:
        lines += [f"counted: {row['count']}    stated: {row['order']}" for row in details["counted"]]
        lines.append(f"these expressions are the count exactly at {details['spots']} other sizes")
    elif details["spots"]:
        lines.append(f"both sides against the functions at {details['spots']} inputs: {details['worst']:.1e} apart")
    lines += [f"mutant {name}: {result}" for name, result in details["mutants"].items()]
    lines.append(f"{details['seconds']:.2f} s")
    return "\n".join(lines)
