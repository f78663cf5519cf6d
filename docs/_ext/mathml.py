"""Mathematics as MathML, by the same code that typesets the report: no script, no network.

In running text also what nobody put between dollars, such as d_m^{-1/2} or ||B||^4, as on the pages of the report.
"""

from __future__ import annotations

from docutils import nodes
from markupsafe import escape
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from verify.site.mathematics import mathml, prose

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


def _running_text(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html":
        return
    for node in list(doctree.findall(nodes.Text)):
        if not _is_running(node):
            continue
        typeset = str(prose(node.astext()))
        if typeset != str(escape(node.astext())):
            node.parent.replace(node, nodes.raw("", typeset, format="html"))


def _is_running(node: nodes.Text) -> bool:
    above: nodes.Node | None = node.parent
    while above is not None:
        if isinstance(
            above, (nodes.FixedTextElement, nodes.literal, nodes.math, nodes.raw, nodes.title, nodes.reference)
        ):
            return False
        if isinstance(above, nodes.Element) and above.tagname in ("desc_signature", "kbd"):
            return False
        above = above.parent
    return True


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", _running_text, priority=900)  # when ids of claims are links
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
