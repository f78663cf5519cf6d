"""What evidence speaks about: a hash of the code that decides a claim's checks.

Followed, from the claim on: every statement at the top of a module that binds a name or does something with it, and the
names that this statement mentions, through the modules of the claim's package and every other module that uses the
engine or is not installed.  Of an installed module that does not, all of it counts, with its version.  Beside them count
the engine's own modules that such a claim runs through, and the versions of the libraries that compute.  Comments, layout,
docstrings and the texts of a claim do not count.

Not seen: names that are computed while the program runs (`getattr`, `importlib`), and files that are read as data.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

from verify.checks import ATTACKS, attack_on
from verify.evidence.sources import ALL, Source, Statement, digest_of, source_of
from verify.vocabulary.claims import Claim

#: The engine's folder, and what in it decides the outcome of a check.
ENGINE = Path(__file__).parents[1]
DECIDING = ("kernel", "vocabulary", "arithmetics", "matrix", "oracles", "inputs", "checks", "evidence/runner.py")
#: The parts of it that only proofs run through, by the attribute of the claims that have them.
PROVING = {
    "all_sizes": (
        "arithmetics/symbols",
        "arithmetics/norms",
        "arithmetics/closed_forms.py",
        "checks/proofs.py",
        "checks/certified.py",
        "kernel",
        "checks/bound_proofs.py",
    ),
    "proved_at_sizes": ("arithmetics/rational_functions.py", "checks/fixed_sizes.py"),
}

#: Libraries whose results checks compare, and the one that draws examples.
LIBRARIES = ("torch", "python-flint", "mpmath", "numpy", "sympy", "hypothesis")


def fingerprint(claim: Claim) -> str:
    """A hash of the code that the evidence of `claim` is about."""
    proofs = tuple(kind for kind in PROVING if getattr(claim, kind))
    reached = sorted(f"{module} {statement.digest}" for module, statement in reached_by(claim))
    # an attack that a package adds is made from one of the engine's
    attack = next(each.__module__ for each in type(attack_on(claim)).__mro__ if _is_of_engine(each))
    return digest_of([claim.id, _engine(attack, proofs), _versions(), *reached])[:16]


def code_of(claim: Claim) -> str:
    """A hash of what the claim itself consists of and calls, the engine and the libraries left out.

    What a search found about this code is kept with it (verify.inputs.witnesses).
    """
    return digest_of(sorted(f"{module} {statement.digest}" for module, statement in reached_by(claim)))[:16]


def forget() -> None:
    """Read all sources again, after files have changed."""
    for cached in (_source, _engine, _of_engine, _versions, _reached, _names_of_claims):
        cached.cache_clear()


def reached_by(claim: Claim) -> Iterator[tuple[str, Statement]]:
    """The statements that decide about a claim, with the names of their modules."""
    names = _names_of_claims(claim.module).get(id(claim), ())
    source = _source(claim.module)
    if source is None:
        return
    # A claim that no name at the top of its module stands for: all of that module.
    starts = [(claim.module, name) for name in names or source.about]
    seen: set[tuple[str, str]] = set()
    given: set[tuple[str, int]] = set()
    while starts:
        place = starts.pop()
        if place in seen:
            continue
        seen.add(place)
        statements, more = _reached(*place)
        starts.extend(more)
        for module, statement in statements:
            if (module, id(statement)) not in given:
                given.add((module, id(statement)))
                yield module, statement


@functools.cache
def _names_of_claims(module: str) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for name, value in vars(sys.modules.get(module, object)).items():
        if isinstance(value, Claim):
            found[id(value)] = (*found.get(id(value), ()), name)
    return found


@functools.cache
def _reached(module: str, name: str) -> tuple[list[tuple[str, Statement]], list[tuple[str, str]]]:
    """What one name of a module stands for: statements, and further names to follow."""
    source = _source(module)
    if source is None:
        return [], []
    if name in source.about:
        statements = source.about[name]
        mentioned = {(module, other) for statement in statements for other in statement.mentions}
        return [(module, statement) for statement in statements], sorted(mentioned)
    found: list[tuple[str, Statement]] = []
    following: set[tuple[str, str]] = set()
    for origin, original in source.imports.get(name) or _from_all(source, name, {module}):
        of_import, more = _imported(module, origin, original)
        found.extend(of_import)
        following.update(more)
    return found, sorted(following)  # nothing of a builtin, or of a name local to a function


def _imported(
    module: str, origin: str, original: str | None
) -> tuple[list[tuple[str, Statement]], list[tuple[str, str]]]:
    """What an import in `module` stands for: of the module `origin` the name `original`, or all of it."""
    if original is not None and _source(origin) is None and _source(f"{origin}.{original}") is not None:
        origin, original = f"{origin}.{original}", None  # a module of a package without a file of its own
    if not _followed(module, origin):
        return _installed(origin), []
    inner = _source(origin)
    if original is not None and inner and (_has(inner, original) or _from_all(inner, original, {module, origin})):
        return [], [(origin, original)]
    whole = origin if original is None else f"{origin}.{original}"
    if (inner := _source(whole)) is None:
        whole, inner = origin, _source(origin)  # a name that the module makes when it is asked for
    return [], [
        (whole, other) for other in (*inner.about, *inner.imports)
    ] if inner else []  # it may pass on what it imports


def _has(source: Source, name: str) -> bool:
    return name in source.about or name in source.imports


def _from_all(source: Source, name: str, seen: set[str]) -> list[tuple[str, str | None]]:
    """Where a name may come from that a module has by `from origin import *`, but for modules among those `seen`."""
    found: list[tuple[str, str | None]] = []
    for origin in [origin for several in source.imports.values() for origin, original in several if original == ALL]:
        if origin in seen:  # modules may import from one another, and what was found there is followed already
            continue
        seen.add(origin)
        if (inner := _source(origin)) and (_has(inner, name) or _from_all(inner, name, seen)):
            found.append((origin, name))
    return found


def _installed(origin: str) -> list[tuple[str, Statement]]:
    """A library's module that is not followed, as one statement; nothing for what is known by its version."""
    root = origin.split(".", maxsplit=1)[0]
    if root in sys.stdlib_module_names or root in {"verify", "flint", *LIBRARIES}:  # python-flint is imported as flint
        return []
    try:
        version = importlib.metadata.version(root)
    except importlib.metadata.PackageNotFoundError:
        version = ""
    source = _source(origin)
    return [(origin, Statement(digest_of([version, source.digest if source else ""]), frozenset()))]


def _followed(module: str, origin: str) -> bool:
    """Whether the sources of `origin` count for a claim of `module`."""
    root = origin.split(".", maxsplit=1)[0]
    if root == "verify":
        return False
    if root == module.split(".", maxsplit=1)[0]:
        return True
    if root in sys.stdlib_module_names or root in LIBRARIES:
        return False
    source = _source(origin)
    return source is not None and (source.uses_engine or not _is_installed(origin))


def _is_installed(module: str) -> bool:
    spec = _spec(module)
    return spec is not None and bool({"site-packages", "dist-packages"} & set(Path(spec.origin or "").parts))


def _spec(module: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None


@functools.cache
def _source(module: str) -> Source | None:
    spec = _spec(module)
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    package = module if spec.submodule_search_locations is not None else module.rpartition(".")[0]
    return source_of(Path(spec.origin), package)


# -- the engine and the libraries --------------------------------------------------------------------------------------


@functools.cache
def _engine(attack: str, proofs: tuple[str, ...]) -> str:
    """The modules of the engine that the checks of such a claim run through; `attack` is the module of its attack."""
    attacks = {_path_of(each.__module__) for each in ATTACKS.values() if _is_of_engine(each)}
    others = attacks - _imported_attacks(_path_of(attack), attacks)
    left_out = {*others, *_files(name for kind in PROVING if kind not in proofs for name in PROVING[kind])}
    return digest_of(f"{path} {_of_engine(path).digest}" for path in _files(DECIDING) if path not in left_out)


@functools.cache
def _of_engine(path: str) -> Source:
    return source_of(ENGINE / path)


def _is_of_engine(attack: type) -> bool:
    return attack.__module__.startswith("verify.")


def _imported_attacks(path: str, attacks: set[str]) -> set[str]:
    """An attack's module and those of other attacks that it imports."""
    found = {_path_of(origin) for several in _of_engine(path).imports.values() for origin, _ in several}
    return {path}.union(*(_imported_attacks(other, attacks) for other in found & attacks if other != path))


def _path_of(module: str) -> str:
    return "/".join(module.split(".")[1:]) + ".py"


def _files(names: Iterable[str]) -> list[str]:
    paths = [ENGINE / name for name in names]
    files = [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    return [file.relative_to(ENGINE).as_posix() for file in files]


@functools.cache
def _versions() -> str:
    return " ".join([platform.python_version(), *(importlib.metadata.version(name) for name in LIBRARIES)])
