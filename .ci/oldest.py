"""Print the oldest versions that pyproject.toml allows, as constraints for pip; torch is chosen apart."""

from __future__ import annotations

import re
from pathlib import Path

import tomllib

EXTRAS = ("completion", "distributed", "report")

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
wanted = [*project["dependencies"], *(item for extra in EXTRAS for item in project["optional-dependencies"][extra])]
for requirement in wanted:
    name, version = re.fullmatch(r"([\w.-]+)(?:\[[^]]*\])?>=([\w.]+)(?:;.*)?", requirement.replace(" ", "")).groups()  # type: ignore[union-attr]
    if name != "torch":
        print(f"{name}=={version}")
