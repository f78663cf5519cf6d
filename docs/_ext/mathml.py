"""Mathematics as MathML, by the same code that typesets the report: no script, no network."""

from __future__ import annotations

from docutils import nodes
from markupsafe import escape
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from verify.site.mathematics import mathml

_log = logging.getLogger(__name__)


def _typeset(node: nodes.math | nodes.math_block, inline: bool) -> str:
    latex = node.astext()
    formula = mathml(latex, inline)
    if formula is None:
        _log.warning("this formula cannot be typeset: %s", latex, location=node)
        return f"<code>{escape(latex)}</code>"
    return str(formula)


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(_typeset(node, inline=True))
    raise nodes.SkipNode


def _display(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{_typeset(node, inline=False)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
