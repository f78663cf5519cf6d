"""Proofs for all sizes: prove."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verify.cli.shared import ids
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError
from verify.vocabulary.registry import Registry, load
from verify.vocabulary.relations import PROVABLE, AtMost, OrderOfGrowth, Relation, TendsTo, by_type

if TYPE_CHECKING:
    from verify.arithmetics.norms.derivations import BoundProof
    from verify.checks.certified import Certified
    from verify.checks.record import Record


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of the command line."""
    proving = commands.add_parser(
        "prove", help="prove an identity or a bound for all sizes, or say what stops the proof"
    )
    globs = proving.add_argument(
        "claims", nargs="+", metavar="ID|GLOB", help="one claim in full, or a line for each that matches any"
    )
    globs.completer = ids  # type: ignore[attr-defined]  # read by argcomplete
    proving.add_argument(
        "--keep", action="store_true", help="write down where attempts at refuted bounds end, in attempts.json"
    )
    proving.add_argument(
        "--certificate",
        action="store_true",
        help="write the certificates of proofs down, in certificates.jsonl.xz of the paper's folder",
    )
    proving.set_defaults(command=_prove)


def _prove(options: argparse.Namespace) -> int:
    from verify.checks import attack_on
    from verify.checks.fixed_sizes import proved_at_sizes
    from verify.checks.record import UPHELD
    from verify.checks.settings import EFFORTS, Settings
    from verify.report.proof_texts import headline, proof_text, text_at_sizes

    settings = Settings(replace(EFFORTS["ci"], anew=True))  # wrong variants are tried as well
    registry = load(options.package)
    if options.keep:
        return _keep(registry, options.claims)
    if options.certificate:
        return _keep_certificates(registry, options.claims)
    if len(options.claims) == 1 and options.claims[0] in registry:
        claim = registry[options.claims[0]]
        if not (claim.relation.entrywise or claim.all_sizes):
            refuted = ", which is refuted" if claim.expects == "refuted" else ""
            got = f"{claim.id}, of kind {claim.relation.kind!r}{refuted}"
            raise InputError("claims", f"a claim of kind {' or '.join(map(repr, PROVABLE))}", got)
        record = attack_on(claim).proved(claim, settings)
        print(proof_text(claim, record))
        wrong = _unfounded(registry, record)
        if record.outcome == UPHELD and wrong:
            print(f"but nothing is proved by what does not stand: {'; '.join(wrong)}")
            return 1
        if claim.proved_at_sizes:
            record = proved_at_sizes(claim, settings)
            print(f"\n{text_at_sizes(record)}")
        return 0 if record.outcome == UPHELD else 1
    # of bounds those that are marked: what is said of all sizes has to be proved, and most others have no derivation yet
    chosen = [
        claim for claim in registry.matching(*options.claims)
        if claim.all_sizes or (claim.relation.entrywise and not claim.relation.one_sided)
    ]  # fmt: skip
    if not chosen:
        raise InputError("claims", f"a claim of kind {' or '.join(PROVABLE)}", repr(" ".join(options.claims)))
    number, seconds = 0, 0.0
    for claim in chosen:
        record = attack_on(claim).proved(claim, settings)
        wrong = _unfounded(registry, record)
        proves = record.outcome == UPHELD and not wrong
        number, seconds = number + proves, seconds + record.details["seconds"]
        mark, said = "!" if claim.all_sizes and not proves else " ", "; ".join(wrong) or headline(record)
        print(f"{mark} {record.details['seconds']:6.2f} s  {claim.id}  {said:.160}")
    print(f"{number} of {len(chosen)} proved for all sizes in {seconds:.1f} s")
    return 0 if number == len(chosen) else 1


def _unfounded(registry: Registry, record: Record) -> list[str]:
    """Facts of a derivation that do not stand, each with the reason, as far as the registry says."""
    from verify.evidence.verdicts import unfounded

    return unfounded(registry, {record.claim: [record]}).get(record.claim, [])


def _keep(registry: Registry, globs: list[str]) -> int:
    from verify.report.attempts import is_attempted, keep

    chosen = [claim for claim in registry.matching(*globs) if is_attempted(claim)]
    if not chosen:
        raise InputError("claims", "a bound that is expected to be refuted", repr(" ".join(globs)))
    for path, count in keep(chosen, registry).items():
        print(f"{path}: where attempts at {count} refuted bounds end")
    return 0


def _certified_anew(claim: Claim, bound: BoundProof) -> Certified:
    """The certificate that is found of a bound, or else the one that is kept, if the checker still accepts it."""
    from verify.checks.certified import kept_of
    from verify.checks.certified_bounds import certified_bound

    found = certified_bound(claim, bound)
    if found.line is None and (before := kept_of(claim)) is not None:
        kept = certified_bound(claim, bound, before, anew=False)
        return found if kept.problem else kept
    return found


def _keep_certificates(registry: Registry, globs: list[str]) -> int:
    from verify.arithmetics.norms.derivations import BoundProof
    from verify.checks.bound_proofs import prove_bound_claim
    from verify.checks.certified import certified, keep
    from verify.checks.limit_proofs import prove_limit_claim
    from verify.checks.order_proofs import prove_order_claim
    from verify.checks.proofs import prove_claim

    chosen = [claim for claim in registry.matching(*globs) if claim.all_sizes]
    if not chosen:
        raise InputError("claims", "one that is marked as proved for all sizes", repr(" ".join(globs)))
    provers: dict[type[Relation], Callable[[Claim], Any]] = {
        AtMost: lambda claim: prove_bound_claim(claim, with_mutants=False),
        OrderOfGrowth: lambda claim: prove_order_claim(claim).bound,
        TendsTo: lambda claim: prove_limit_claim(claim).identity,
    }
    lines: dict[str, str | None] = {}
    failed = 0
    for claim in chosen:
        proof: Any = (by_type(provers, claim.relation) or prove_claim)(claim)
        certify: Callable[[Claim, Any], Certified] = _certified_anew if isinstance(proof, BoundProof) else certified
        found = certify(claim, proof) if proof.proved else None
        lines[claim.id] = found.line if found is not None and found.problem is None else None
        if found is None:
            failed += 1
            print(f"! {claim.id}  not proved: {proof.reason}")
        elif found.problem is not None:
            failed += 1
            print(f"! {claim.id}  {found.problem}")
        elif found.line is None:
            print(f"  {claim.id}  no certificate: {found.details['missing']}")
    for path, count in keep(registry, lines).items():
        print(f"{path}: {count} certificates")
    print(
        f"{sum(line is not None for line in lines.values())} of {len(chosen)} have a certificate that the checker accepts"
    )
    return 1 if failed else 0
