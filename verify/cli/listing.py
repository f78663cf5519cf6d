"""What is there to read: list, show, contents."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from verify.cli.shared import add_globs, fitted, ids, one_of, painted, tell_missing, tell_rejected
from verify.vocabulary.claims import VERDICTS, Claim
from verify.vocabulary.registry import Registry, load

if TYPE_CHECKING:
    from verify.checks.record import Record
    from verify.report import Report


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of the command line."""
    listing = commands.add_parser("list", help="claims with their verdicts")
    add_globs(listing)
    listing.add_argument("--paper", help="only claims of this paper (its key)")
    listing.add_argument("--kind", help="only claims of this relation, e.g. 'at most'")
    listing.add_argument("--grade", help="only claims whose evidence has this grade, e.g. 'all sizes'")
    which = listing.add_mutually_exclusive_group()
    which.add_argument("--verdict", choices=VERDICTS, help="only claims with this verdict")
    which.add_argument("--open", dest="verdict", action="store_const", const="open", help="the same as --verdict open")
    listing.add_argument(
        "--disagreeing", action="store_true", help="only claims whose evidence says other than expected"
    )
    listing.add_argument("--stale", action="store_true", help="only claims with evidence about code that has changed")
    listing.add_argument("--json", action="store_true", help="as JSON")
    listing.set_defaults(command=_list)

    showing = commands.add_parser("show", help="one claim: statement, verdict, evidence, source")
    showing.add_argument("id").completer = ids  # type: ignore[attr-defined]  # read by argcomplete
    how = showing.add_mutually_exclusive_group()
    how.add_argument("--latex", action="store_true", help="the statement as LaTeX instead of Unicode")
    how.add_argument("--json", action="store_true", help="everything as JSON, as report.json has it")
    showing.set_defaults(command=_show)

    contents = commands.add_parser("contents", help="where the labels of a paper live")
    contents.add_argument("paper", help="the paper's key, e.g. hessian")
    contents.set_defaults(command=_contents)


def _list(options: argparse.Namespace) -> int:
    from verify.evidence.verdicts import GRADES
    from verify.report import build, summary_json
    from verify.report.wording import titled

    registry = load(options.package)
    chosen = registry.matching(*options.claims)
    one_of("--paper", options.paper, {claim.paper.key for claim in registry.values()})
    one_of("--kind", options.kind, {claim.relation.kind for claim in registry.values()})
    one_of("--grade", options.grade, set(GRADES))
    report = build(registry, options.evidence, released=True)
    tell_rejected(report.rejected)
    stale = report.stale if options.stale else frozenset(registry)
    chosen = [
        claim
        for claim in chosen
        if options.paper in (None, claim.paper.key)
        and options.kind in (None, claim.relation.kind)
        and options.grade in (None, report.verdicts[claim.id].grade)
        and options.verdict in (None, report.verdicts[claim.id].status)
        and (not options.disagreeing or _disagrees(report, claim))
        and claim.id in stale
    ]
    if options.json:
        print(json.dumps([summary_json(report, claim) for claim in chosen], indent=1))
        return 0
    width = max((len(claim.id) for claim in chosen), default=0)
    for claim in chosen:
        verdict = report.verdicts[claim.id]
        mark = painted("!", "alarm") if _disagrees(report, claim) else "~" if claim.id in report.released else " "
        status = painted(f"{verdict.status:9s}", verdict.status)
        text = f"{verdict.grade or '':10s} {claim.id:{width}s}  {titled(claim)}  {report.quality(claim.id)}".rstrip()
        print(f"{mark} {status} {fitted(text, len('! refuted   '))}".rstrip())
    _tell_marks(report, chosen)
    tell_missing(report)
    return 0


def _tell_marks(report: Report, chosen: list[Claim]) -> None:
    """Say on stderr what the signs before the verdicts mean, if there were any."""
    if any(_disagrees(report, claim) for claim in chosen):
        print("!  the evidence does not give the verdict that the source expects", file=sys.stderr)
    if any(claim.id in report.released for claim in chosen):
        print("~  as released, not checked again here", file=sys.stderr)


def _disagrees(report: Report, claim: Claim) -> bool:
    return claim.id in report.judged and report.verdicts[claim.id].status != claim.expects


def place_of(claim: Claim) -> str:
    """The file that declares a claim, from the folder of its package on."""
    module = sys.modules[claim.module]
    inside = claim.module.replace(".", "/")
    return f"{inside}/__init__.py" if hasattr(module, "__path__") else f"{inside}.py"


def _show(options: argparse.Namespace) -> int:
    from verify.checks.record import UPHELD, VIOLATED
    from verify.evidence.undecided import remarks_on
    from verify.report import build, claim_json, paste, restricted, status_of
    from verify.report.citations import reference
    from verify.report.proof_texts import kernel_text
    from verify.report.unicode import readable, readable_words
    from verify.report.wording import how_sure, titled

    registry = load(options.package)
    claim = registry[options.id]
    report = build(registry, options.evidence, released=True)
    tell_rejected(report.rejected)
    if options.json:
        print(json.dumps(claim_json(report, claim), indent=1, allow_nan=False))
        return 0
    verdict = report.verdicts[claim.id]
    print(f"{painted(titled(claim), 'title')}  [{claim.id}]\n{claim.paper.title} ({reference(claim.paper)})")
    print(f"in {place_of(claim)}\n")
    print(textwrap.indent(claim.statement if options.latex else readable(claim.statement), "  "))
    for text in claim.assumption_texts:
        print(f"  given: {text if options.latex else readable_words(text)}")
    if not report.records_of[claim.id] or claim.id in report.released:
        tell_missing(restricted(report, [claim]))
    status = painted(status_of(verdict), verdict.status)
    facts = [
        "as released, not checked again here" if claim.id in report.released else "",
        "" if verdict.status == claim.expects else f"the source expects {claim.expects}",
        f"evidence: {verdict.grade}" if verdict.grade else "",
        report.quality(claim.id),
    ]
    print(f"\nverdict: {'; '.join([status, *filter(None, facts)])}")
    why = verdict.why if options.latex else readable_words(verdict.why)
    print(f"why:     {why}")
    print(f"sure:    {how_sure(claim, verdict, report.records_of[claim.id])}")
    for found in report.violations.get(claim.id, []):
        print(f"broken:  {found.one_line}")
    remarks = {
        "reading": claim.reading,
        "doubt": claim.doubt,
        "missing": claim.missing,
        "follows": claim.consequence,
        "note": claim.note,
    }
    for name, remark in remarks.items():
        if remark:
            words = str(remark) if options.latex else readable_words(str(remark))
            print(textwrap.fill(f"{name + ':':8s} {words}", 110, subsequent_indent=" " * 9))
    for kind, remark_on in remarks_on(claim, report.records_of[claim.id]).items():
        words = f"kind:    {kind}, which no check decided: {remark_on if options.latex else readable_words(remark_on)}"
        print(textwrap.fill(words, 110, subsequent_indent=" " * 9))
    _show_links(registry, claim)
    for record in report.records:
        if record.claim == claim.id:
            print(f"\n  {record.check} on {record.device} ({record.effort}, seed {record.seed}): {record.outcome_text}")
            print(
                f"    {record.satisfied} of {record.examples} examples, {record.undefined} undefined, {record.duration:.2f} s"
            )
            for name, result in record.mutants.items():
                print(f"    mutant {'dead ' if result['killed'] else 'ALIVE'} {name}: {result['residual']:.3g}")
            if in_rocq := kernel_text(claim, record.details.get("certificate", {})):
                print(textwrap.fill(in_rocq, 110, initial_indent="    ", subsequent_indent="    "))
            if record.outcome != UPHELD and record.message:
                print(textwrap.fill(record.message, 110, initial_indent="    ", subsequent_indent="    "))
            if record.outcome == VIOLATED and record.details.get("inputs"):
                _show_violation(claim, record)
            for item in record.details.get("certificates", []):
                print(f"    {item['title']}")
                print(textwrap.indent(paste(claim, item["inputs"]), "      "))
    formula = claim.the_formula
    print(f"\n{formula.__module__}, line {inspect.getsourcelines(formula)[1]}\n")
    print(inspect.getsource(formula))
    return 0


def _show_violation(claim: Claim, record: Record) -> None:
    """What a search found: both sides again, and, where that is certain, the counterexample to declare."""
    from verify.evidence.failure import declaration, replay_call

    print("    both sides there:")
    print(textwrap.indent(replay_call(claim, record.details["inputs"]), "      "))
    for line in declaration(claim, record):
        print(f"    {line}")


def _show_links(registry: Registry, claim: Claim) -> None:
    for name in ("uses", "proof", "presumes"):
        for other in getattr(claim, name):
            print(f"{name}: {other} ({registry[other].label})")
    if claim.correction:
        print(f"correction: {claim.correction}")
    for other in claim.corrects:
        print(f"corrects: {other}")


def _contents(options: argparse.Namespace) -> int:
    from verify.report.contents import contents_markdown

    registry = load(options.package)
    one_of("paper", options.paper, {claim.paper.key for claim in registry.values()})
    print("\n".join(contents_markdown(claim for claim in registry.values() if claim.paper.key == options.paper)))
    return 0
