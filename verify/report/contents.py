"""A paper's table of contents in the code: its parts, their modules, and the labels that each module holds."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from verify.vocabulary.claims import Claim


def contents_markdown(claims: Iterable[Claim]) -> list[str]:
    """Lines of Markdown for the claims of one paper: a table of modules in the order of the listing, parts as headings."""
    by_module: dict[str, list[Claim]] = {}
    for claim in claims:
        by_module.setdefault(claim.module, []).append(claim)
    lines: list[str] = []
    part = None
    for module in sorted(by_module):
        package = package_of(module)
        if package != part:
            part = package
            lines += [
                "",
                f"**{summary(package)}** `{package.replace('.', '/')}/`",
                "",
                "| module | labels |",
                "|---|---|",
            ]
        labels = [
            claim.label.replace("|", r"\|")
            for claim in by_module[module]
            if not claim.of_project or claim.paper.of_project
        ]
        lines.append(f"| `{module.rpartition('.')[2]}` | {'; '.join(labels) or 'claims of this project'} |")
    return lines[1:]


def package_of(module: str) -> str:
    """The package that a module lies in; the module itself where it is a package, or lies in none."""
    is_package = hasattr(importlib.import_module(module), "__path__")
    return module if is_package or "." not in module else module.rpartition(".")[0]


def summary(module: str) -> str:
    """The first line of a module's docstring."""
    return (importlib.import_module(module).__doc__ or module).strip().splitlines()[0]
