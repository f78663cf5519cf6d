"""Ids of claims in the docs: each has to be registered, and is a link to its page where a report is given.

`report_url` is the folder or address of the report's site, relative to that of the docs; empty for no links.  A name such as
`osa.thm-2.1` may also be a subject, and a glob such as `osa.*` has to match; anything else of that form is an error.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from functools import cache

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from verify import subjects
from verify.site.pages import slug
from verify.vocabulary import Registry, load

_log = logging.getLogger(__name__)


@cache
def registered() -> tuple[Registry, frozenset[str], re.Pattern[str]]:
    """All claims, the names of subjects, and what an id of a claim looks like: the key of a paper, a dot, a name."""
    registry = load()
    keys = "|".join(sorted({claim.paper.key for claim in registry.values()}))
    return (
        registry,
        frozenset(subjects()),
        re.compile(rf"(?<![\w./-])(?:{keys})\.[a-z0-9*](?:[\w.*-]*[\w*])?(?![\w/(])"),
    )


def ids_in(text: str) -> Iterator[re.Match[str]]:
    """Whatever has the form of a claim's id."""
    yield from registered()[2].finditer(text)


def is_known(name: str) -> bool:
    """Whether a claim or a subject has this name, or a claim matches it."""
    registry, others, _ = registered()
    return name in registry or name in others or ("*" in name and bool(fnmatch.filter(registry, name)))


def unknown_ids(text: str) -> list[str]:
    """What has the form of an id and names nothing."""
    return [found.group() for found in ids_in(text) if not is_known(found.group())]


def _check(app: Sphinx, doctree: nodes.document) -> None:
    for node in doctree.findall(nodes.Text):
        for name in unknown_ids(node.astext()):
            _log.warning("no claim has the id %r", name, location=node.parent, type="claim")


def _link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if not app.config.report_url or app.builder.format != "html":
        return
    up = "" if "://" in app.config.report_url else "../" * docname.count("/")
    for node in list(doctree.findall(nodes.Text)):
        if _linkable(node):
            pieces = list(_pieces(node.astext(), f"{up}{app.config.report_url.rstrip('/')}/claims/"))
            if any(isinstance(piece, nodes.reference) for piece in pieces):
                node.parent.replace(node, pieces)


def _linkable(node: nodes.Text) -> bool:
    above: nodes.Node | None = node.parent
    while above is not None:
        if isinstance(above, (nodes.FixedTextElement, nodes.math, nodes.raw, nodes.reference, nodes.title)):
            return False
        if isinstance(above, nodes.Element) and above.tagname == "desc_signature":
            return False
        above = above.parent
    return True


def _pieces(text: str, folder: str) -> Iterator[nodes.Node]:
    registry, done = registered()[0], 0
    for found in ids_in(text):
        if found.group() in registry:
            claim = registry[found.group()]
            yield nodes.Text(text[done : found.start()])
            yield nodes.reference(
                "",
                claim.id,
                refuri=f"{folder}{slug(claim.id)}.html",
                reftitle=claim.name or claim.label,
                internal=False,
            )
            done = found.end()
    yield nodes.Text(text[done:])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("report_url", "", "html", types=(str,))
    app.connect("doctree-read", _check)
    app.connect("doctree-resolved", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
