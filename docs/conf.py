"""How Sphinx builds these pages: `make docs`, or `python -m sphinx -W docs OUT`."""

from __future__ import annotations

import gc
import re
import sys
from pathlib import Path

gc.disable()  # pages are trees, whose nodes know each other: to look for what may go takes a quarter of the time

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "Attention theorems, checked by machine"
author = "The authors of attention-theorems"
version = release = re.findall(r'^version = "(.*)"$', (HERE.parent / "pyproject.toml").read_text("utf-8"), re.M)[0]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinxarg.ext", "claim_ids", "public_api", "mathml"]
html_math_renderer = "mathml"  # typeset when built: pages need no network and no script
exclude_patterns = ["_ext", "README.md"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4  # links such as engine.md#witnesses lead to headings, as on the forge

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True  # what the source says, not what it evaluates to
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
add_module_names = False
default_role = "py:obj"  # docstrings set names between single backticks

html_theme = "furo"
html_title = project
smartquotes = False  # what stands in code between quotes is not always marked as code
html_copy_source = False
html_show_copyright = False
