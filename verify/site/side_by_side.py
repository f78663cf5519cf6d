"""Two statements side by side with what differs marked, element by element of their MathML."""

from __future__ import annotations

import copy
import unicodedata
from difflib import SequenceMatcher
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from markupsafe import Markup

from verify.site.mathematics import Typesetter

#: Where more than this share of both statements differs, marks would say nothing.
MOST_MARKED = 0.75
#: Elements whose children stand for themselves.
_ROWS = ("formula", "math", "mrow", "span", "mtable", "mtr", "mtd", "mstyle")


def compared(typesetter: Typesetter, printed: str, corrected: str) -> tuple[Markup, Markup]:
    """Both statements typeset, elements that the other one lacks in the class `changed`."""
    plain = typesetter.display(printed), typesetter.display(corrected)
    try:
        left, right = (ElementTree.fromstring(f"<formula>{text}</formula>") for text in plain)
    except ElementTree.ParseError:  # shown as source
        return plain
    left, right = _split_into_words(left), _split_into_words(right)
    _mark(left, right)
    if max(_share(left), _share(right)) > MOST_MARKED:
        return plain
    return _text(left), _text(right)


def _split_into_words(root: Element) -> Element:
    """The same with each word of running text as an element of its own."""
    for span in list(root.iter("span")):
        pieces = (span.text or "").split(" ")
        span.text = None
        for place, piece in enumerate(pieces):
            word = Element("span")
            word.text = piece + " " * (place + 1 < len(pieces))
            span.insert(place, word)
    return root


def _mark(left: Element, right: Element) -> None:
    """Mark the children that differ, or what differs within them where both have one child there of one kind."""
    ours, theirs = list(left), list(right)
    keys = [_key(child) for child in ours], [_key(child) for child in theirs]
    for action, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if action == "equal":
            continue
        if b - a == d - c and all(_alike(x, y) for x, y in zip(ours[a:b], theirs[c:d], strict=True)):
            for x, y in zip(ours[a:b], theirs[c:d], strict=True):
                _mark(x, y)
        else:
            for child in (*ours[a:b], *theirs[c:d]):
                child.set("class", "changed")


def _alike(x: Element, y: Element) -> bool:
    """Whether two elements differ inside only, so that the marks go there."""
    return x.tag == y.tag and len(x) > 0 and (x.tag in _ROWS or len(x) == len(y)) and (x.text or "") == (y.text or "")


def _key(element: Element) -> str:
    """What an element says: neither its font, nor the height of a bracket, nor := for = is a difference."""
    alone = copy.deepcopy(element)
    alone.tail = None
    for part in alone.iter():
        part.attrib.clear()
    text = ElementTree.tostring(alone, encoding="unicode")
    return unicodedata.normalize("NFKC", text.replace("≔", "="))


def _share(root: Element) -> float:
    """The share of letters and signs that are marked."""
    every = len("".join(root.itertext()))
    marked = sum(len("".join(item.itertext())) for item in root.iter() if item.get("class") == "changed")
    return marked / every if every else 0.0


def _text(root: Element) -> Markup:
    text = ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)
    return Markup(text.removeprefix("<formula>").removesuffix("</formula>"))
