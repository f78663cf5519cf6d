"""What a failing check prints: label, inputs, both sides, residual in its units, and a call to paste."""

from __future__ import annotations

import json
from typing import Any

from verify.checks.record import ERROR, Record
from verify.vocabulary.claims import Claim


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
    return "\n".join(lines)


def replay_call(claim: Claim, inputs: dict[str, Any]) -> str:
    """Python that evaluates both sides of the claim at the given drawn inputs."""
    arguments = ", ".join(f"{name}={json.dumps(value)}" for name, value in inputs.items())
    return f'from verify import replay\nreplay("{claim.id}", {of_package(claim)}{arguments})'


def of_package(claim: Claim) -> str:
    """The argument of `replay` and `at_inputs` that claims of other packages than theorems need, with a comma."""
    return "" if claim.package == "theorems" else f'package="{claim.package}", '


def _short(value: Any, limit: int = 400) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= limit else text[:limit] + " ..."
