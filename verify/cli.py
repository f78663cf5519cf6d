"""The command line: list, show, contents, run, soak, prove, witnesses, report; subjects and check for implementations.

Exit status: 0 when every verdict is as the source expects, 1 when one is not, 2 for wrong usage, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import fnmatch
import inspect
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from verify.gate.command import add_gate_commands
from verify.vocabulary.claims import PROVABLE, VERDICTS, Claim
from verify.vocabulary.errors import InputError, RegistryError
from verify.vocabulary.registry import Registry, load
from verify.vocabulary.relations import AtMost

if TYPE_CHECKING:
    from verify.evidence.store import Rejected

#: Exit status after Ctrl-C.
INTERRUPTED = 130

EVIDENCE = Path(".verify/evidence")
REPORT = Path("report")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `verify` command; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except (InputError, RegistryError) as problem:
        print(f"verify: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nverify: interrupted; finished checks are kept", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def entry() -> NoReturn:
    """The `verify` command of the shell: `main`, and after Ctrl-C an exit that waits for nothing."""
    status = main()
    if status == INTERRUPTED:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)  # the interpreter would wait for the threads that served the workers
    sys.exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="verify", description="Claims about attention, checked by machine.")
    parser.add_argument(
        "--package", default="theorems", help="package whose modules declare claims (default: theorems)"
    )
    parser.add_argument("--evidence", type=Path, default=EVIDENCE, help=f"folder of evidence (default: {EVIDENCE})")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

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

    running = commands.add_parser("run", help="check claims and record evidence")
    running.add_argument("claims", nargs="?", default="*", metavar="GLOB", help="only ids that match")
    running.add_argument("--effort", default="ci", help="quick, ci or deep (default: ci)")
    running.add_argument("--seed", type=int, help="draw with this seed (default: a fixed one)")
    running.add_argument("--device", default="cpu", help="torch device (default: cpu)")
    running.add_argument("--dtype", action="append", help="float64 or float32 (default: both)")
    running.add_argument("--again", action="store_true", help="run checks too that have evidence about this code")
    running.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes (default: all cores)")
    running.set_defaults(command=_run)

    soaking = commands.add_parser("soak", help="run whole suites at many seeds and print every check that fails at any")
    soaking.add_argument("claims", nargs="?", default="*", metavar="GLOB", help="only ids that match")
    soaking.add_argument("--seeds", default="1:20", metavar="FIRST:LAST", help="seeds, both included (default: 1:20)")
    soaking.add_argument("--effort", default="quick", help="quick, ci or deep (default: quick)")
    soaking.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes (default: all cores)")
    soaking.set_defaults(command=_soak)

    proving = commands.add_parser(
        "prove", help="prove an identity or a bound for all sizes, or say what stops the proof"
    )
    proving.add_argument("claims", metavar="ID|GLOB", help="one claim in full, or a line for each that matches")
    proving.set_defaults(command=_prove)

    keeping = commands.add_parser(
        "witnesses", help="keep where mutants died and bounds were tight, as data beside the claims"
    )
    keeping.add_argument("claims", nargs="?", default="*", metavar="GLOB", help="only ids that match")
    keeping.set_defaults(command=_witnesses)

    reporting = commands.add_parser(
        "report", help="write the report from the evidence: a web site, JSON, Markdown, JUnit"
    )
    reporting.add_argument("--claims", default="*", metavar="GLOB", help="only ids that match")
    reporting.add_argument("--out", type=Path, default=REPORT, help=f"folder to write to (default: {REPORT})")
    reporting.add_argument(
        "--baseline", type=Path, metavar="REPORT.JSON", help="print what changed since; status 1 if a verdict did"
    )
    reporting.add_argument("--no-site", action="store_true", help="only report.json, report.md, summary.md, junit.xml")
    reporting.set_defaults(command=_report)

    add_gate_commands(commands)
    return parser


def _list(options: argparse.Namespace) -> int:
    from verify.report import build
    from verify.report.wording import titled

    registry = load(options.package)
    chosen = registry.matching(options.claims)
    papers, kinds = (
        {claim.paper.key for claim in registry.values()},
        {claim.relation.kind for claim in registry.values()},
    )
    _one_of("--paper", options.paper, papers)
    _one_of("--kind", options.kind, kinds)
    report = build(registry, options.evidence)
    _tell_rejected(report.rejected)
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


def _tell_rejected(rejected: Sequence[Rejected]) -> None:
    for item in rejected:
        print(f"rejected evidence: {item.path}:{item.line}: {item.reason}", file=sys.stderr)


def _contents(options: argparse.Namespace) -> int:
    from verify.report.contents import contents_markdown

    registry = load(options.package)
    _one_of("paper", options.paper, {claim.paper.key for claim in registry.values()})
    print("\n".join(contents_markdown(claim for claim in registry.values() if claim.paper.key == options.paper)))
    return 0


def _one_of(option: str, value: str | None, allowed: set[str]) -> None:
    if value is not None and value not in allowed:
        raise InputError(option, f"one of {sorted(allowed)}", repr(value))


def _show(options: argparse.Namespace) -> int:
    from verify.report import build, paste
    from verify.report.wording import how_sure, titled

    registry = load(options.package)
    claim = registry[options.id]
    report = build(registry, options.evidence)
    _tell_rejected(report.rejected)
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
                print(textwrap.indent(paste(claim.id, item["inputs"]), "      "))
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


def _run(options: argparse.Namespace) -> int:
    from verify.checks.settings import settings_for
    from verify.evidence.fingerprints import fingerprint
    from verify.evidence.parallel import already_found, run_tasks, tasks_of
    from verify.evidence.store import Recorder, current, read, standing
    from verify.evidence.verdicts import disagreements
    from verify.report import build, counts

    registry = load(options.package)
    chosen = registry.matching(options.claims)
    if options.jobs < 1:
        raise InputError("--jobs", "at least 1", str(options.jobs))
    settings = settings_for(
        options.effort, options.seed, options.device, tuple(options.dtype) if options.dtype else None
    )
    records, _ = read(options.evidence)
    tasks = tasks_of(chosen, settings, {(record.claim, record.check): record.duration for record in records})
    if not options.again:
        present = standing(current(records, {claim.id: fingerprint(claim) for claim in chosen}))
        found = already_found(chosen, present, settings)
        if kept := sum(task in found for task in tasks):
            print(
                f"{kept} of {len(tasks)} checks have evidence about this code (--again repeats them)", file=sys.stderr
            )
        tasks = [task for task in tasks if task not in found]
    recorder = Recorder(options.evidence)
    failures = run_tasks(options.package, chosen, tasks, settings, recorder, options.jobs, sys.stderr)
    for text in failures:
        print("\n" + text)
    report = build(registry, options.evidence)
    verdicts = {claim.id: report.verdicts[claim.id] for claim in chosen}
    print(", ".join(f"{number} {status}" for status, number in counts(verdicts).items()))
    seen = {record.claim for record in report.records}
    judged = {
        claim.id: claim for claim in chosen if all(other in seen for other in (claim.id, *claim.presumes, *claim.proof))
    }
    for claim in chosen:
        if claim.id not in judged:
            print(f"not judged  {claim.id}: needs evidence about {', '.join((*claim.presumes, *claim.proof))}")
    wrong = disagreements(judged, report.verdicts)
    for line in wrong:
        print(f"DISAGREES  {line}")
    return 1 if wrong or failures else 0


def _soak(options: argparse.Namespace) -> int:
    from verify.checks.settings import settings_for
    from verify.evidence.fingerprints import fingerprint
    from verify.evidence.parallel import already_found, run_tasks, tasks_of
    from verify.evidence.runner import judge
    from verify.evidence.store import Recorder, current, read, standing

    registry = load(options.package)
    chosen = registry.matching(options.claims)
    fingerprints = {claim.id: fingerprint(claim) for claim in chosen}
    failing: dict[tuple[str, str], dict[int, str]] = {}
    for seed in _seeds(options.seeds):
        settings = settings_for(options.effort, seed)
        records = current(read(options.evidence)[0], fingerprints)
        own = standing(record for record in records if record.seed == seed)
        tasks = tasks_of(chosen, settings, {(record.claim, record.check): record.duration for record in records})
        tasks = [task for task in tasks if task not in already_found(chosen, own, settings)]
        print(f"seed {seed}: {len(tasks)} checks", file=sys.stderr)
        run_tasks(options.package, chosen, tasks, settings, Recorder(options.evidence), options.jobs, sys.stderr)
        records = [record for record in current(read(options.evidence)[0], fingerprints) if record.seed == seed]
        for record in standing(records):
            judgement = judge(registry[record.claim], record)
            if not judgement.ok:
                failing.setdefault((record.claim, record.check), {})[seed] = judgement.why
    for (claim_id, check), seeds in sorted(failing.items()):
        why = next(iter(seeds.values())).splitlines()[0]
        print(f"{claim_id} {check} at seeds {', '.join(map(str, seeds))}: {why}")
    print(f"{len(failing)} checks fail at a seed of {options.seeds}, effort {options.effort}")
    return 1 if failing else 0


def _seeds(text: str) -> range:
    first, colon, last = text.partition(":")
    numbers = [first, last if colon else first]
    if not all(number.isdecimal() for number in numbers) or int(numbers[0]) > int(numbers[1]):
        raise InputError("--seeds", "a seed, or two as FIRST:LAST, none negative", repr(text))
    return range(int(numbers[0]), int(numbers[1]) + 1)


def _prove(options: argparse.Namespace) -> int:
    from verify.checks.bound_proofs import proved_bound
    from verify.checks.fixed_sizes import proved_at_sizes
    from verify.checks.proofs import proved as proved_identity
    from verify.checks.record import UPHELD, Record
    from verify.checks.settings import Settings
    from verify.report.proofs import headline, proof_text, text_at_sizes

    def proved(claim: Claim, settings: Settings) -> Record:
        return (proved_bound if isinstance(claim.relation, AtMost) else proved_identity)(claim, settings)

    registry = load(options.package)
    if options.claims in registry:
        claim = registry[options.claims]
        if claim.relation.kind not in PROVABLE:
            raise InputError("claims", f"a claim of kind {' or '.join(PROVABLE)}", f"{claim.id}, {claim.relation.kind}")
        record = proved(claim, Settings())
        print(proof_text(claim, record))
        if claim.proved_at_sizes:
            record = proved_at_sizes(claim, Settings())
            print(f"\n{text_at_sizes(record)}")
        return 0 if record.outcome == UPHELD else 1
    # of bounds those that are marked: what is said of all sizes has to be proved, and most others have no derivation yet
    chosen = [
        claim for claim in registry.matching(options.claims)
        if claim.relation.kind in PROVABLE and (claim.all_sizes or not isinstance(claim.relation, AtMost))
    ]  # fmt: skip
    if not chosen:
        raise InputError("claims", f"a claim of kind {' or '.join(PROVABLE)}", repr(options.claims))
    number, seconds = 0, 0.0
    for claim in chosen:
        record = proved(claim, Settings())
        number, seconds = number + (record.outcome == UPHELD), seconds + record.details["seconds"]
        mark = "!" if claim.all_sizes and record.outcome != UPHELD else " "
        print(f"{mark} {record.details['seconds']:6.2f} s  {claim.id}  {headline(record):.160}")
    print(f"{number} of {len(chosen)} proved for all sizes in {seconds:.1f} s")
    return 0 if number == len(chosen) else 1


def _witnesses(options: argparse.Namespace) -> int:
    from verify.inputs.witnesses import keep
    from verify.report import build

    registry = load(options.package)
    chosen = {claim.id for claim in registry.matching(options.claims)}
    report = build(registry, options.evidence)
    found = {
        (record.claim, record.check): record.details["witnesses"]
        for record in report.records
        if record.claim in chosen and record.details.get("witnesses")
    }
    if not found:
        raise InputError("claims", "claims with evidence about this code, from verify run", repr(options.claims))
    for path, number in keep(registry.values(), found).items():
        print(f"{number} claims  {path}")
    return 0


def _report(options: argparse.Namespace) -> int:
    from verify.report import build, counts, restricted, write
    from verify.report.baseline import changes, read_baseline
    from verify.site import require_libraries, write_site

    registry = load(options.package)
    chosen = registry.matching(options.claims)
    baseline = read_baseline(options.baseline) if options.baseline else None
    if not options.no_site:
        require_libraries()
    report = restricted(build(registry, options.evidence), chosen)
    compared = None
    if baseline is not None:
        compared = changes(report, baseline, lambda claim_id: fnmatch.fnmatchcase(claim_id, options.claims))
    written = write(report, options.out, compared)
    if not options.no_site:
        written.insert(0, write_site(report, options.out, _Counter(sys.stderr).show, compared))
    print(", ".join(f"{number} {status}" for status, number in counts(report.verdicts).items()))
    for line in report.disagreements:
        print(f"DISAGREES  {line}")
    _tell_rejected(report.rejected)
    for change in compared or []:
        print(f"{'CHANGED' if change.verdict else 'news':9s}  {change.text}")
    print("\n".join(map(str, written)))
    return 1 if report.disagreements or any(change.verdict for change in compared or []) else 0


class _Counter:
    """Pages written so far: rewritten in place on a terminal, now and then elsewhere."""

    def __init__(self, stream: TextIO, every: int = 100) -> None:
        self.stream, self.every, self.live = stream, every, stream.isatty()

    def show(self, done: int, total: int) -> None:
        if self.live:
            self.stream.write(f"\r{done} of {total} pages" + ("\n" if done == total else ""))
        elif done % self.every == 0:
            self.stream.write(f"{done} of {total} pages\n")
        self.stream.flush()


if __name__ == "__main__":
    entry()
