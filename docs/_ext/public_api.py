"""What code says of itself: docstrings as they are written, and the functions that claims certify, paper by paper.

Docstrings are plain text, with names between backticks and mathematics as in |a| or W_Q: what reStructuredText would take
for markup is escaped, and tables of words keep their columns.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from theorems.reference import references


class ReferenceFunctions(SphinxDirective):
    """``reference-functions:: KEY``: the exported functions that claims of a paper certify."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        key = self.arguments[0]
        chosen = [item for item in references().values() if item.claims[0].startswith(f"{key}.")]
        if not chosen:
            raise self.error(f"no exported function is certified by claims of {key!r}")
        lines: list[str] = []
        for item in chosen:
            lines += [f".. autofunction:: theorems.{item.topic}.{item.name}", ""]
        parsed = nodes.section()
        parsed.document = self.state.document
        self.state.nested_parse(StringList(lines, source=self.get_source_info()[0]), 0, parsed)
        return parsed.children


#: Between backticks; or what would be a substitution or a link: a bar, an underscore at the end of a word.
_MARKUP = re.compile(r"`[^`]*`|\||(?<=\w)_(?!\w)")
#: Words in columns, two spaces or more within a line and none of them after a full stop; or an indented line, as code has.
_COLUMNS = re.compile(r"[^\s.:;?!] {2,}\S|\A(?![*-] ).*\n +", re.DOTALL)
#: The heading of the list of parameters, each on a line, longer ones on indented lines.
_PARAMETERS = re.compile(r"Parameters\n-+\n")


def _plain(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the lines of a docstring in place."""
    paragraphs = re.split(r"\n{2,}", "\n".join(lines).strip("\n"))
    lines[:] = "\n\n".join(map(_rewritten, paragraphs)).splitlines()
    lines.append("")


def _rewritten(paragraph: str) -> str:
    if _PARAMETERS.match(paragraph):
        entries = re.split(r"\n(?! )", _PARAMETERS.sub("", paragraph))
        return "**Parameters**\n\n" + "\n".join(map(_entry, entries))
    return _as_table(paragraph) if _COLUMNS.search(paragraph) else _escaped(paragraph)


def _entry(text: str) -> str:
    """One of the lines "names: what they are", as an item of a list."""
    names, _, words = text.partition(": ")
    return f"* ``{names}``: {_escaped(' '.join(words.split()))}"


def _escaped(text: str) -> str:
    return _MARKUP.sub(lambda found: found[0] if found[0].startswith("`") else "\\" + found[0], text)


def _as_table(text: str) -> str:
    return "::\n\n" + "\n".join(f"    {line}" for line in text.splitlines())


#: Annotations as Sphinx writes them: of a matrix with named sizes, and of a number or a size.
_SHAPE = re.compile(
    r"~?(?:typing\.)?Annotated\[[^\[\]]*, ~?(?:[\w.]+\.)?Shape\(dims=\(?([^()]*?),?\)?, role=[^()]*\)\]"
)
_NUMBER = re.compile(r"~?(?:typing\.)?Annotated\[[^\[\]]*, ~?(?:[\w.]+\.)?Real\([^()]*\)\]")
_SIZE = re.compile(r"~?(?:typing\.)?Annotated\[[^\[\]]*, ~?(?:[\w.]+\.)?Size\([^()]*\)\]")


def with_shapes(signature: str) -> str:
    """A signature in which a matrix is annotated with its sizes, as `Tensor[N, d]`."""

    def sizes(found: re.Match[str]) -> str:
        names = re.findall(r"'(\w+)'", found[1])
        return f"Tensor[{', '.join(names)}]"

    return _SIZE.sub("int", _NUMBER.sub("float", _SHAPE.sub(sizes, signature)))


def _signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str, str | None] | None:
    """Shapes in the place of annotations; what every formula returns, Any, is left out."""
    if signature is None:
        return None
    return with_shapes(signature), None if returned in ("Any", "~typing.Any") else returned


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("reference-functions", ReferenceFunctions)
    app.connect("autodoc-process-docstring", _plain)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
