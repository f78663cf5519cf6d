"""Python to paste: both sides of a claim at explicit inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verify.evidence.failure import of_package
from verify.vocabulary.claims import Claim


def paste(claim: Claim, inputs: Mapping[str, Any]) -> str:
    """Python that evaluates both sides of a claim at explicit inputs."""
    arguments = ", ".join(f"{name}={_literal(value)}" for name, value in inputs.items())
    return f'from verify import at_inputs\nat_inputs("{claim.id}", {of_package(claim)}{arguments})'


def _literal(value: Any) -> str:
    """Nested lists with integers as integers and fractions as text."""
    if isinstance(value, list):
        return "[" + ", ".join(_literal(entry) for entry in value) + "]"
    text = str(value)
    return text if text.lstrip("-").isdigit() else f'"{text}"'
