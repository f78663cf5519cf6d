"""Source files taken apart: the statements of a module, what they mention, and what the module imports.

What a file says is kept in the user's cache folder, under its path and package and with the hash of its text, since every
command and every worker needs it and taking three hundred files apart takes seconds.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify.checks import ATTACKS

#: Keywords of a claim that no check reads, and of its relation.
TEXTS = {
    "label", "statement", "name", "consequence", "observed", "reading", "doubt", "missing", "note", "severity",
    "correction", "corrects", "loose",
}  # fmt: skip
#: What derives a claim from another.
COMPANIONS = {"without", "corrected", "restated"}
#: Decorators that keep words with a function.
SAID = {"realises"}
#: What `from module import *` has in the place of a name.
ALL = "*"
RELATIONS = {relation.__name__ for relation in ATTACKS}
NAMES_OF_SIDES = {"left", "right"}


@dataclass(frozen=True)
class Statement:
    """A statement at the top of a module: a hash of it without prose, and the names of that module which it mentions."""

    digest: str
    mentions: frozenset[str]


@dataclass(frozen=True)
class Source:
    """A module, taken apart by what its names stand for."""

    digest: str  #: of all of it, without prose
    about: dict[str, list[Statement]]  #: what binds a name or does something with it
    imports: dict[str, list[tuple[str, str | None]]]  #: modules, and the names in them: a name may be imported twice
    uses_engine: bool


def digest_of(texts: Iterable[str]) -> str:
    """A hash of texts in their order."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def source_of(path: Path, package: str = "") -> Source:
    """The module in a file, from the cache if the file says what it said; relative imports start from `package`."""
    text = path.read_text(encoding="utf-8")
    key = digest_of([_TAKEN_APART_BY, package, text])
    kept = (
        _cache_folder() / f"{digest_of([str(path), package])[:32]}.json"
    )  # the engine's are read with and without one
    try:
        found = json.loads(kept.read_text(encoding="utf-8"))
        if found["key"] == key:
            return _source(found)
    except (OSError, ValueError, LookupError, TypeError):  # nothing there, or nothing of ours
        pass
    found = {"key": key, **_taken_apart(ast.parse(text), package)}
    _keep(kept, json.dumps(found))
    return _source(found)


def _cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if home else Path.home() / ".cache") / "attention-theorems" / "sources"


def _keep(path: Path, text: str) -> None:
    """Write at once or not at all; without a cache everything works, only slower."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            file.write(text)
        os.replace(file.name, path)
    except OSError:
        pass


def _source(found: dict[str, Any]) -> Source:
    about: dict[str, list[Statement]] = {}
    for digest, mentions, names in found["statements"]:
        statement = Statement(digest, frozenset(mentions))
        for name in names:
            about.setdefault(name, []).append(statement)
    imports: dict[str, list[tuple[str, str | None]]] = {}
    for alias, origin, original in found["imports"]:
        imports.setdefault(alias, []).append((origin, original))
    return Source(found["digest"], about, imports, found["uses engine"])


def _taken_apart(tree: ast.Module, package: str) -> dict[str, Any]:
    nodes = list(ast.walk(tree))
    imports = [item for node in nodes for item in _imported(node, package)]
    _remove_prose(nodes)
    claims, statements, written = set[str](), [], []
    for node in tree.body:
        mentioned: set[str] = set()
        parts: list[str] = []
        _write(node, parts, mentioned)
        written.append("".join(parts))
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        bound, acted_on = _bound_by(node), _acted_on_by(node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _makes_a_claim(node.value):
            claims |= bound
        # Claims that a statement declares something of do not thereby depend on one another.
        apart = claims if acted_on and not isinstance(node, ast.ClassDef) else frozenset()
        statements.append([digest_of([written[-1]]), sorted(mentioned - apart), sorted(bound | acted_on)])
    return {
        "digest": digest_of(written),
        "imports": imports,
        "uses engine": any(origin.split(".")[0] == "verify" for _, origin, _ in imports),
        "statements": statements,
    }


def _imported(node: ast.AST, package: str) -> Iterator[tuple[str, str, str | None]]:
    """Name here, module, and name there; None for a module itself."""
    if isinstance(node, ast.Import):
        for item in node.names:
            first = item.name.split(".")[0]
            yield item.asname or first, item.name, None
            if not item.asname and first != item.name:  # `import a.b` binds a, which has names of its own
                yield first, first, None
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - (node.level - 1)] if node.level else []
        origin = ".".join([*above, *([node.module] if node.module else [])])
        for item in node.names:
            yield f"{ALL} {origin}" if item.name == ALL else item.asname or item.name, origin, item.name


def _remove_prose(nodes: Iterable[ast.AST]) -> None:
    """Remove docstrings, the texts of claims and the order in which a claim says things from all nodes of a tree."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
            if isinstance(node, ast.FunctionDef):
                node.decorator_list = [each for each in node.decorator_list if not _is_said(each)]
        elif isinstance(node, ast.Call) and _makes_a_claim(node):
            kept = [keyword for keyword in node.keywords if keyword.arg not in TEXTS]
            node.keywords = sorted(kept, key=lambda keyword: keyword.arg or "")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RELATIONS:
            node.keywords = [keyword for keyword in node.keywords if keyword.arg not in NAMES_OF_SIDES]


def _makes_a_claim(call: ast.Call) -> bool:
    """Whether a call is `Claim(...)`, or derives a companion, `CLAIM.without(...)` and the like."""
    function = call.func
    return (isinstance(function, ast.Name) and function.id == "Claim") or (
        isinstance(function, ast.Attribute) and function.attr in COMPANIONS
    )


def _is_said(decorator: ast.expr) -> bool:
    """Whether a decorator only says something of its function, as `realises` does."""
    return isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id in SAID


def _bound_by(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    found = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return found | {item.name for item in ast.walk(node) if isinstance(item, inner)}


def _acted_on_by(node: ast.stmt) -> set[str]:
    """Names whose values a statement changes without binding them: `a.mutant(...)`, `f(a)`, `a[0] = ...`, decorators."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        given = [item for call in node.decorator_list if isinstance(call, ast.Call) for item in call.args]
        named = {item.id for item in given if isinstance(item, ast.Name)}
        return named | {base for item in node.decorator_list if (base := _base(item))} - {node.name}
    if isinstance(node, ast.Expr):
        arguments = (
            [*node.value.args, *(item.value for item in node.value.keywords)]
            if isinstance(node.value, ast.Call)
            else []
        )
        names = {item.id for item in arguments if isinstance(item, ast.Name)}
        base = _base(node.value)
        plain = isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
        return names if plain or base is None else {base}
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
        targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
        return {base for target in targets if not isinstance(target, ast.Name) and (base := _base(target))}
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def _base(node: ast.expr) -> str | None:
    """`a` of `a.b(c).d`."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _write(node: Any, parts: list[str], mentioned: set[str]) -> None:
    """Append the parts of a text from which the tree could be read, without places; add the names that it mentions.

    What `ast.dump` does, in less time.
    """
    if isinstance(node, ast.AST):
        kind = type(node)
        if isinstance(node, ast.Name):
            parts += ("Name ", node.id, " ", type(node.ctx).__name__, ",")
            mentioned.add(node.id)
            return
        if isinstance(node, ast.Constant):
            parts += ("Constant ", repr(node.value), " ", repr(node.kind), ",")
            if isinstance(node.value, str) and "->" in node.value:  # a replaced expression names what the module has
                mentioned.update(re.findall(r"[A-Za-z_]\w*", node.value))
            return
        parts += (kind.__name__, "(")
        for field in kind._fields:
            _write(getattr(node, field, None), parts, mentioned)
        parts.append("),")
    elif isinstance(node, list):
        parts.append("[")
        for item in node:
            _write(item, parts, mentioned)
        parts.append("],")
    else:
        parts += (repr(node), ",")


#: Whatever decides how a file is taken apart.
_TAKEN_APART_BY = digest_of([Path(__file__).read_text(encoding="utf-8"), platform.python_version(), *sorted(RELATIONS)])
