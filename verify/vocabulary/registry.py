"""The registry: every claim of a set of packages, checked for consistency when it is built."""

from __future__ import annotations

import fnmatch
import importlib
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType

from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError, RegistryError, in_one_line, shown, with_neighbours
from verify.vocabulary.judgements import excludes_zero_alone, states_an_assumption


class Registry(Mapping[str, Claim]):
    """Claims by id.  Building one raises `RegistryError` on duplicate ids, claims without a name, links that lead nowhere."""

    def __init__(self, claims: Iterable[Claim]) -> None:
        self._claims: dict[str, Claim] = {}
        for claim in claims:
            if claim.id in self._claims:
                raise RegistryError(
                    f"two claims have the id {claim.id!r}: {self._claims[claim.id].module} and {claim.module}"
                )
            if not claim.name.strip():
                raise RegistryError(
                    f"{claim.id}: a claim has a name, a few words that a reader would search for; got none"
                )
            self._claims[claim.id] = claim
        for claim in self._claims.values():
            self._check_links(claim)
            claim.require_consistent()

    def _check_links(self, claim: Claim) -> None:
        for link in ("uses", "proof", "presumes"):
            for target in getattr(claim, link):
                if target not in self._claims:
                    raise RegistryError(f"{claim.id}: {link} names {target!r}, which is no claim")
        if claim.severity == "error" and not claim.of_project and states_an_assumption(claim.statement):
            raise RegistryError(f"{claim.id}: an assumption of the authors is no error; what rests on it may be")
        if claim.missing is not None and excludes_zero_alone(claim.missing):
            raise RegistryError(
                f"{claim.id}: what is printed holds if it fails for zero alone; the note names the case, missing is for more"
            )
        if claim.repeats is not None:
            self._check_repeated(claim, claim.repeats)
        corrected = () if claim.correction is None else (claim.correction,)
        for link, back, targets in (
            ("correction", "corrects", corrected), ("corrects", "correction", claim.corrects)
        ):  # fmt: skip
            for target in targets:
                if target not in self._claims:
                    raise RegistryError(f"{claim.id}: {link} names {target!r}, which is no claim")
                named = getattr(self._claims[target], back)
                if claim.id not in ((named,) if isinstance(named, str) else named or ()):
                    raise RegistryError(f"{claim.id}: {link} names {target!r}, which does not name it back as {back}")

    def _check_repeated(self, claim: Claim, first: str) -> None:
        """One misprint has one label: both are printed slips of one paper, and the first repeats nothing itself."""
        if first not in self._claims:
            raise RegistryError(f"{claim.id}: repeats names {first!r}, which is no claim")
        other = self._claims[first]
        for which in (claim, other):
            if which.severity != "slip" or which.of_project:
                raise RegistryError(f"{claim.id}: repeats links printed slips; {which.id} is none")
        if other is claim or other.repeats is not None or other.paper.key != claim.paper.key:
            raise RegistryError(
                f"{claim.id}: repeats names {first!r}, not the first claim of the paper with that misprint"
            )

    def __getitem__(self, claim_id: str) -> Claim:
        if not isinstance(claim_id, str) or claim_id not in self._claims:
            raise InputError("claim id", "one of the ids that `verify list` prints", with_neighbours(claim_id, self))
        return self._claims[claim_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._claims)

    def __len__(self) -> int:
        return len(self._claims)

    def __contains__(self, claim_id: object) -> bool:
        return isinstance(claim_id, str) and claim_id in self._claims

    def matching(self, *patterns: str) -> list[Claim]:
        """Claims whose id matches a glob, in their order; raises `InputError` for a glob that none does."""
        for pattern in patterns:
            if not isinstance(pattern, str):
                raise InputError("claims", "text, a glob of claim ids", shown(pattern))
            if not any(fnmatch.fnmatchcase(claim_id, pattern) for claim_id in self):
                raise InputError("claims", "a glob that matches at least one claim id", with_neighbours(pattern, self))
        return [claim for claim in self.values() if any(fnmatch.fnmatchcase(claim.id, item) for item in patterns)]


def claims_in(module: ModuleType) -> list[Claim]:
    """The claims that a module declares itself, in order of declaration."""
    own = [value for value in vars(module).values() if isinstance(value, Claim) and value.module == module.__name__]
    return list({id(claim): claim for claim in own}.values())


def modules_of(package_name: str) -> list[ModuleType]:
    """The package and every module below it, imported; raises `InputError` for one that cannot be.

    Modules of a package that says `DECLARES_CLAIMS = False` are left alone.
    """
    expected = "the name of a package that can be imported"
    if not isinstance(package_name, str):
        raise InputError("package", expected, shown(package_name))
    name = package_name
    try:
        package = importlib.import_module(package_name)
        names = []
        if hasattr(package, "__path__"):
            names = sorted(found.name for found in pkgutil.walk_packages(package.__path__, package_name + "."))
            silent = [f"{name}." for name in names if not getattr(sys.modules.get(name), "DECLARES_CLAIMS", True)]
            names = [name for name in names if not name.startswith(tuple(silent))]
        modules = [package]
        for name in names:
            modules.append(importlib.import_module(name))
        return modules
    except (RegistryError, KeyboardInterrupt):
        raise
    except BaseException as problem:  # a module may raise anything, and an exit at import is no success
        culprit = "which" if name == package_name else f"whose module {name}"
        raise InputError("package", expected, f"{package_name!r}, {culprit} raises {in_one_line(problem)}") from problem


def load(package_name: str = "theorems") -> Registry:
    """The registry of all claims in a package and its submodules; raises `InputError` for a package without any.

    Several packages make one registry; their names are separated by commas.
    """
    names = package_name.split(",") if isinstance(package_name, str) else [package_name]
    registry = Registry(claim for name in names for module in modules_of(name) for claim in claims_in(module))
    if not registry:
        raise InputError("package", "a package whose modules declare claims", f"{package_name!r}, which declares none")
    return registry
