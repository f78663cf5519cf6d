"""Files of data beside the claims of a package."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def data_file(package: str, name: str) -> Path:
    """A file of data beside the claims of a package, or of a module that is no package."""
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))) / name
    return (Path(spec.origin).parent if spec is not None and spec.origin else Path()) / name
