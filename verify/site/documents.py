"""Markdown of the docs as HTML: claims by their ids are links, formulas are typeset."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from verify.site.mathematics import prose

#: Headings of a document begin below that of the page and of the section it stands in.
_DEEPER = 1


def as_html(text: str, address: Callable[[str], str | None]) -> Markup:
    """A document; `address` gives the page of a claim by its id, or None."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")

    def words(self: Any, tokens: list[Token], place: int, options: Any, env: Any) -> str:
        return str(prose(tokens[place].content))

    def code(self: Any, tokens: list[Token], place: int, options: Any, env: Any) -> str:
        content = tokens[place].content
        page = address(content)
        shown = f"<code>{escape(content)}</code>"
        return f'<a href="{escape(page)}">{shown}</a>' if page else shown

    def heading(self: Any, tokens: list[Token], place: int, options: Any, env: Any) -> str:
        level = min(int(tokens[place].tag[1:]) + _DEEPER, 6)
        return f"<{'/' if tokens[place].nesting < 0 else ''}h{level}>"

    def nothing(self: Any, tokens: list[Token], place: int, options: Any, env: Any) -> str:
        return ""

    def block(self: Any, tokens: list[Token], place: int, options: Any, env: Any) -> str:
        return f'<div class="code"><pre tabindex="0"><code>{escape(tokens[place].content)}</code></pre></div>'

    def table(self: Any, tokens: list[Token], place: int, options: Any, env: Any) -> str:
        box = '<div class="scroll" tabindex="0" role="group" aria-label="Table">'
        return f'{box}<table><caption class="visually-hidden">As the docs have it.</caption>'

    def end_of_table(self: Any, tokens: list[Token], place: int, options: Any, env: Any) -> str:
        return "</table></div>"

    rules = {
        "table_open": table, "table_close": end_of_table, "fence": block, "code_block": block, "text": words, "code_inline": code,
        "heading_open": heading, "heading_close": heading, "link_open": nothing, "link_close": nothing,
    }  # fmt: skip
    for name, rule in rules.items():
        reader.add_render_rule(name, rule)
    # one formula over two lines is one formula
    return Markup(reader.render(re.sub(r"\$([^$\n]*)\n([^$\n]*)\$", r"$\1 \2$", text)))
