"""What a failing check prints: label, inputs, both sides, residual in its units, and a call to paste."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from verify.checks.record import ERROR, Record
from verify.evidence.verdicts import found_by_search
from verify.vocabulary.claims import Claim

#: A counterexample with more numbers than this is no text to paste.
MOST_ENTRIES = 60


def describe_failure(claim: Claim, record: Record, why: str) -> str:
    """The failure as text."""
    lines = [
        f"{claim.paper.title}: {claim.label}  [{claim.id}]",
        f"  check       {record.check} ({record.arithmetic} on {record.device}, effort {record.effort}, seed {record.seed})",
        f"  why         {why}",
        f"  examples    {record.satisfied} satisfied the assumptions, of {record.examples}",
    ]
    if record.worst_residual is not None:
        lines.append(f"  residual    {record.worst_residual:.6g} rounding units")
    if record.surviving:
        lines += [f"  alive       {name}: {record.mutants[name]['residual']:.6g} units" for name in record.surviving]
    details = record.details
    if record.outcome == ERROR and "traceback" in details:
        lines += ["", details["traceback"]]
    inputs = details.get("inputs")
    if inputs is not None:
        lines.append("  at")
        lines += [f"    {name} = {json.dumps(value)}" for name, value in inputs.items()]
        lines.append(f"  formula     {_short(details.get('formula'))}")
        lines.append(f"  oracle      {_short(details.get('oracle'))}")
        lines += ["  to reproduce:", *(f"    {line}" for line in replay_call(claim, inputs).splitlines())]
        lines += [f"  {line}" for line in declaration(claim, record)]
    return "\n".join(lines)


def replay_call(claim: Claim, inputs: dict[str, Any]) -> str:
    """Python that evaluates both sides of the claim at the given drawn inputs."""
    arguments = ", ".join(f"{name}={json.dumps(value)}" for name, value in inputs.items())
    return f'from verify import replay\nreplay("{claim.id}", {of_package(claim)}{arguments})'


def declaration(claim: Claim, record: Record) -> list[str]:
    """Lines that say how to declare what a search found for certain as a counterexample; none where there is nothing to say."""
    if claim.counterexamples or not found_by_search(claim, record):
        return []
    call = counterexample_to_declare(claim, record.details["inputs"])
    return ["to declare it, so that it is certified:", *(f"  {line}" for line in call.splitlines())] if call else []


def counterexample_to_declare(claim: Claim, inputs: Mapping[str, Any]) -> str | None:
    """Python that declares what a search found as a counterexample; None where inputs are made from others, or large."""
    if claim.prepares_inputs or sum(_entries(value) for value in inputs.values()) > MOST_ENTRIES:
        return None
    names = [name for name, value in vars(sys.modules.get(claim.module, object)).items() if value is claim]
    arguments = ", ".join(f"{name}={_rational(value)}" for name, value in inputs.items())
    call = f'{names[0] if names else "CLAIM"}.counterexample("found by a search", {arguments})'
    return f"from fractions import Fraction\n{call}" if "Fraction(" in call else call


def _entries(value: Any) -> int:
    return sum(map(_entries, value)) if isinstance(value, list) else 1


def _rational(value: Any) -> str:
    """Nested lists of floats as the fractions that they are."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_rational, value)) + "]"
    exact = Fraction(value)
    return str(exact.numerator) if exact.denominator == 1 else f"Fraction({exact.numerator}, {exact.denominator})"


def of_package(claim: Claim) -> str:
    """The argument of `replay` and `at_inputs` that claims of other packages than theorems need, with a comma."""
    return "" if claim.package == "theorems" else f'package="{claim.package}", '


def _short(value: Any, limit: int = 400) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= limit else text[:limit] + " ..."
