"""Files of data beside the claims of a package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any


def data_file(package: str, name: str) -> Path:
    """A file of data beside the claims of a package, or of a module that is no package."""
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))) / name
    return (Path(spec.origin).parent if spec is not None and spec.origin else Path()) / name


def read_yaml(path: Path) -> Any:
    """What a file of YAML says, by the parser in C where there is one: it takes a tenth of the time.

    Raises `yaml.YAMLError` where the file is no YAML.
    """
    import yaml

    return yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
