"""The steps of a certificate of a bound as text: which rule, of which matrices, resting on which claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from verify.arithmetics.norms.facts import facts_of_checker
from verify.arithmetics.norms.statements import RULES_BY_NAME
from verify.kernel.bound_rules import RULES
from verify.kernel.isometries import RULES as ISOMETRIES

#: No text of an operand is longer: beyond, its end is left out.
LONGEST = 240
#: What rules of the checker say that stand in no table of it.
SAYS = {
    "largest of several": "each of several numbers, and so the largest, is at most this",
    "one of several": "one of several numbers is at most the largest",
    "assumption": "by an assumption",
    "orthonormal by assumption": "||W||_2 = 1 for orthonormal columns or rows, by an assumption",
    "comparison": "the whole is at most this",
    "from below": "something smaller takes the place of what the whole falls with",
}
BESIDE = {"+": " + ", "*": "*", "product": " ", "entrywise": " o ", "kronecker": " (x) ", "concatenate": "; "}
NORMS = {"2": ("||", "||_2"), "F": ("||", "||_F"), "max": ("max|", "|"), "1": ("sum|", "|")}


class Texts:
    """The expressions of a table as texts, each made once."""

    def __init__(self, table: list[Any]) -> None:
        self._table = table
        self._found: dict[int, str] = {}

    def of(self, item: Any) -> str:
        """What stands at a place; a name as it is."""
        if type(item) is not int:
            return str(item)
        if item not in self._found:
            text = self._text(*self._table[item])
            self._found[item] = text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."
        return self._found[item]

    def _inside(self, item: Any) -> str:
        """An operand of a product, sums in parentheses."""
        text = self.of(item)
        is_sum = type(item) is int and self._table[item][0] in ("+", "sum", "entrywise", "kronecker") and " " in text
        return f"({text})" if is_sum else text

    def _text(self, head: str, *data: Any) -> str:
        if head == "q":
            return str(data[0]) if data[1] == 1 else f"{data[0]}/{data[1]}"
        if head in ("size", "scalar"):
            return str(data[0])
        if head == "^":
            power = str(data[1]) if data[2] == 1 else f"({data[1]}/{data[2]})"
            return self.of(data[0]) if power == "1" else f"{self._inside(data[0])}^{power}"
        if head == "norm":
            before, after = NORMS.get(data[0], (f"{data[0]} norm of ", ""))
            return f"{before}{self.of(data[1])}{after}"
        if head in BESIDE:
            inner = self.of if head in ("+", "concatenate") else self._inside
            parts = [text for text in map(inner, data) if (head, text) != ("*", "1")] or ["1"]
            joined = BESIDE[head].join(parts)
            return f"[{joined}]" if head == "concatenate" else _with_minus(joined) if head == "+" else joined
        if head == "sum":
            pairs = zip(map(self._inside, data[::2]), map(self._inside, data[1::2]), strict=True)
            return _with_minus(" + ".join(part if c == "1" else f"{c} {part}" for c, part in pairs))
        if head == "input":
            return f"{data[0]}[{', '.join(map(self.of, data[3:]))}]" if data[3:] else str(data[0])
        if head == "transpose":
            return f"{self._inside(data[0])}^T" if " " not in self.of(data[0]) else f"({self.of(data[0])})^T"
        if head in ("identity", "index"):
            return f"I_{self.of(data[0])}" if head == "identity" else str(data[0])
        if head == "function":
            return f"{data[0]}({self.of(data[1])})"
        if head == "opaque":  # what follows the shape
            return f"{data[0]}({', '.join(map(self.of, data[3:]))})"
        return f"{head}({', '.join(map(self.of, data))})"


def _with_minus(text: str) -> str:
    """A sum as it is written: a - b, not a + -1 b."""
    return text.replace(" + -1*", " - ").replace(" + -1 ", " - ").replace(" + -", " - ")


def steps_of(certificate: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """For each part its steps, and those within its comparison: the rule, what it says, of what, and the claims that state it."""
    texts = Texts(certificate["table"])
    return [
        [
            {
                "rule": step["rule"],
                "says": _says(step["rule"]),
                "of": [texts.of(item) for item in step["arguments"]],
                "facts": facts_of_checker([step["rule"]]),
            }
            for step in (*part["steps"], *_within(part["comparison"]))
        ]
        for part in certificate["parts"]
    ]


def _says(rule: str) -> str:
    known = RULES.get(rule) or ISOMETRIES.get(rule)
    return SAYS.get(rule) or (known[0] if known else RULES_BY_NAME[rule].says)


def rules_of(certificate: Mapping[str, Any]) -> list[str]:
    """The rules that a certificate uses, in steps, in their reasons and in comparisons, its cases among them; each once."""
    found: dict[str, None] = {}
    for item in (certificate, *(case["certificate"] for case in certificate.get("cases", []))):
        for part in item["parts"]:
            for step in (*part["steps"], *_within(part["comparison"])):
                found[step["rule"]] = None
                found.update(dict.fromkeys(inner["rule"] for inner in _within(step.get("reasons", []))))
    return list(found)


def assumed_in(certificate: Mapping[str, Any]) -> list[str]:
    """The inequalities that a certificate uses of those that it assumes, as texts, its cases among them; each once."""
    found: dict[str, None] = {}
    for item in (certificate, *(case["certificate"] for case in certificate.get("cases", []))):
        texts, places = Texts(item["table"]), item["assumptions"]
        used = {place for part in item["parts"] for place in _assumptions(part, places)}
        found.update(dict.fromkeys(f"{texts.of(place)} >= 0" for place in places if place in used))
    return list(found)


def _assumptions(reason: Any, places: list[int]) -> Iterator[int]:
    """The places of assumptions that a part or reason uses; of those of a case, which stand behind them, there are none."""
    if isinstance(reason, dict):
        if reason.get("rule") == "assumption":
            yield reason["arguments"][0]
        reason = list(reason.values())
    if not isinstance(reason, list):
        return
    if reason[:1] == ["boxes"]:  # which are looked for where all of them hold
        yield from places
    if reason[:1] == ["facts"]:
        for chosen, _ in reason[1]:
            several = chosen if isinstance(chosen, list) else [chosen]
            yield from (places[number] for number in several if number < len(places))
    for part in reason:
        yield from _assumptions(part, places)


def _within(reason: Any) -> Iterator[dict[str, Any]]:
    """The steps within a reason: those that it lists, and the instances of rules that it adds."""
    if isinstance(reason, dict):
        yield reason
        reason = reason.get("reasons", [])
    if not isinstance(reason, list):
        return
    if reason[:1] == ["instance"]:
        yield {"rule": reason[1], "arguments": reason[2]}
    for part in reason:
        yield from _within(part)


__all__ = ["assumed_in", "rules_of", "steps_of"]
