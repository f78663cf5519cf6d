"""What is there to read: list, show, contents."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from typing import Any

from verify.cli.shared import one_of, tell_rejected
from verify.vocabulary.claims import VERDICTS, Claim
from verify.vocabulary.registry import Registry, load


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of the command line."""
    listing = commands.add_parser("list", help="claims with their verdicts")
    listing.add_argument("claims", nargs="?", default="*", metavar="GLOB", help="only ids that match")
    listing.add_argument("--paper", help="only claims of this paper (its key)")
    listing.add_argument("--kind", help="only claims of this relation, e.g. 'at most'")
    listing.add_argument("--verdict", choices=VERDICTS, help="only claims with this verdict")
    listing.set_defaults(command=_list)

    showing = commands.add_parser("show", help="one claim: statement, verdict, evidence, source")
    showing.add_argument("id")
    showing.set_defaults(command=_show)

    contents = commands.add_parser("contents", help="where the labels of a paper live")
    contents.add_argument("paper", help="the paper's key, e.g. hessian")
    contents.set_defaults(command=_contents)


def _list(options: argparse.Namespace) -> int:
    from verify.report import build
    from verify.report.wording import titled

    registry = load(options.package)
    chosen = registry.matching(options.claims)
    papers, kinds = (
        {claim.paper.key for claim in registry.values()},
        {claim.relation.kind for claim in registry.values()},
    )
    one_of("--paper", options.paper, papers)
    one_of("--kind", options.kind, kinds)
    report = build(registry, options.evidence)
    tell_rejected(report.rejected)
    width = max(len(claim.id) for claim in chosen)
    for claim in chosen:
        verdict = report.verdicts[claim.id]
        if options.paper not in (None, claim.paper.key) or options.kind not in (None, claim.relation.kind):
            continue
        if options.verdict not in (None, verdict.status):
            continue
        mark = " " if verdict.status == claim.expects else "!"
        grade = verdict.grade or ""
        print(
            f"{mark} {verdict.status:9s} {grade:10s} {claim.id:{width}s}  {titled(claim)}  {report.quality(claim.id)}".rstrip()
        )
    return 0


def _show(options: argparse.Namespace) -> int:
    from verify.report import build, paste
    from verify.report.wording import how_sure, titled

    registry = load(options.package)
    claim = registry[options.id]
    report = build(registry, options.evidence)
    tell_rejected(report.rejected)
    verdict = report.verdicts[claim.id]
    print(f"{titled(claim)}  [{claim.id}]\n{claim.paper.title} ({claim.paper.citation})")
    print(f"in {claim.module.replace('.', '/')}.py\n")
    print(textwrap.indent(claim.statement, "  "))
    for text in claim.assumption_texts:
        print(f"  given: {text}")
    severity = f" ({verdict.severity})" if verdict.severity else ""
    print(
        f"\nverdict: {verdict.status}{severity}; expected {claim.expects}; grade {verdict.grade}; {report.quality(claim.id)}"
    )
    print(f"why:     {verdict.why}")
    print(f"sure:    {how_sure(claim, verdict, report.records_of[claim.id])}")
    for found in report.violations.get(claim.id, []):
        print(f"broken:  {found.in_words}")
    remarks = {
        "reading": claim.reading,
        "doubt": claim.doubt,
        "missing": claim.missing,
        "follows": claim.consequence,
        "note": claim.note,
    }
    for name, remark in remarks.items():
        if remark:
            print(textwrap.fill(f"{name + ':':8s} {remark}", 110, subsequent_indent=" " * 9))
    _show_links(registry, claim)
    for record in report.records:
        if record.claim == claim.id:
            print(f"\n  {record.check} on {record.device} ({record.effort}, seed {record.seed}): {record.outcome}")
            print(
                f"    {record.satisfied} of {record.examples} examples, {record.undefined} undefined, {record.duration:.2f} s"
            )
            for name, result in record.mutants.items():
                print(f"    mutant {'dead ' if result['killed'] else 'ALIVE'} {name}: {result['residual']:.3g}")
            for item in record.details.get("certificates", []):
                print(f"    {item['title']}")
                print(textwrap.indent(paste(claim, item["inputs"]), "      "))
    formula = claim.the_formula
    print(f"\n{formula.__module__}, line {inspect.getsourcelines(formula)[1]}\n")
    print(inspect.getsource(formula))
    return 0


def _show_links(registry: Registry, claim: Claim) -> None:
    for name in ("uses", "proof", "presumes"):
        for other in getattr(claim, name):
            print(f"{name}: {other} ({registry[other].label})")
    for name in ("correction", "corrects"):
        other = getattr(claim, name)
        if other:
            print(f"{name}: {other}")


def _contents(options: argparse.Namespace) -> int:
    from verify.report.contents import contents_markdown

    registry = load(options.package)
    one_of("paper", options.paper, {claim.paper.key for claim in registry.values()})
    print("\n".join(contents_markdown(claim for claim in registry.values() if claim.paper.key == options.paper)))
    return 0
