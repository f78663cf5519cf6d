"""Checks and their evidence: run, soak, witnesses."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from verify.cli.shared import add_globs, add_jobs, painted, require_jobs
from verify.vocabulary.errors import InputError
from verify.vocabulary.registry import Registry, load

if TYPE_CHECKING:
    from verify.checks.record import Record
    from verify.vocabulary.claims import Claim


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of the command line."""
    running = commands.add_parser("run", help="check claims and record evidence")
    add_globs(running)
    running.add_argument("--effort", default="ci", help="quick, ci or deep (default: ci)")
    running.add_argument("--seed", type=int, help="draw with this seed (default: a fixed one)")
    running.add_argument("--device", default="cpu", help="torch device (default: cpu)")
    running.add_argument("--dtype", action="append", help="float64 or float32 (default: both)")
    running.add_argument("--again", action="store_true", help="run checks too that have evidence about this code")
    where = running.add_mutually_exclusive_group()
    add_jobs(where)
    where.add_argument("--scheduler", metavar="ADDRESS", help="run on the workers of this dask scheduler instead")
    running.add_argument("--json", action="store_true", help="what was found as JSON")
    running.set_defaults(command=_run)

    auditing = commands.add_parser(
        "audit", help="run again every check that has evidence about this code, and name what differs from it"
    )
    add_globs(auditing)
    auditing.add_argument("--effort", default="ci", help="quick, ci or deep (default: ci)")
    add_jobs(auditing)
    auditing.set_defaults(command=_audit)

    soaking = commands.add_parser("soak", help="run whole suites at many seeds and print every check that fails at any")
    add_globs(soaking)
    soaking.add_argument("--seeds", default="1:20", metavar="FIRST:LAST", help="seeds, both included (default: 1:20)")
    soaking.add_argument("--effort", default="quick", help="quick, ci or deep (default: quick)")
    add_jobs(soaking)
    soaking.set_defaults(command=_soak)

    keeping = commands.add_parser(
        "witnesses", help="keep where mutants died and bounds were tight, at whatever seed, as data beside the claims"
    )
    add_globs(keeping)
    keeping.set_defaults(command=_witnesses)


def _run(options: argparse.Namespace) -> int:
    from verify.checks.settings import settings_for
    from verify.evidence.data_files import data_file
    from verify.evidence.parallel import kept_evidence, run_tasks, tasks_of
    from verify.evidence.released import FILE, read_released
    from verify.evidence.store import EvidenceWriter, read
    from verify.evidence.verdicts import disagreements
    from verify.report import build, counts, summary_json
    from verify.report.wording import counted

    registry = load(options.package)
    chosen = registry.matching(*options.claims)
    below = _rested_on(registry, chosen)
    every = [*chosen, *below]
    require_jobs(options.jobs)
    settings = settings_for(
        options.effort, options.seed, options.device, tuple(options.dtype) if options.dtype else None
    )
    print(f"reading the evidence about {counted(len(chosen), 'claim')}", file=sys.stderr, flush=True)
    records, _ = read(options.evidence)
    # how long checks take is known from the release where they have not run here
    kept = (read_released(data_file(package, FILE)) for package in options.package.split(","))
    took = [record for found in kept if found for several in found.records.values() for record in several] + records
    tasks = tasks_of(every, settings, {(record.claim, record.check): record.duration for record in took})
    seconds = {(r.claim, r.check): r.duration for r in took if r.effort == settings.effort.name}
    if below:
        print(f"with {counted(len(below), 'claim')} on which the verdicts of those chosen rest", file=sys.stderr)
    if not options.again:
        found = kept_evidence(every, records, settings)
        if number := sum(task in found for task in tasks):
            print(
                f"{number} of {len(tasks)} checks have evidence about this code (--again repeats them)", file=sys.stderr
            )
        tasks = [task for task in tasks if task not in found]
    recorder = EvidenceWriter(options.evidence)
    failures = run_tasks(
        options.package, every, tasks, settings, recorder, options.jobs, sys.stderr, options.scheduler, seconds
    )
    report = build(registry, options.evidence)
    verdicts = {claim.id: report.verdicts[claim.id] for claim in chosen}
    judged = {claim.id: claim for claim in chosen if claim.id in report.judged}
    wrong = disagreements(judged, report.verdicts)
    status = 1 if wrong or failures or len(judged) < len(chosen) else 0
    if options.json:
        outcome = {
            "status": status,
            "checks_run": len(tasks),
            "failures": failures,
            "disagreements": wrong,
            "not_judged": [claim_id for claim_id in verdicts if claim_id not in judged],
            "claims": [summary_json(report, claim) for claim in chosen],
        }
        print(json.dumps(outcome, indent=1))
        return status
    for text in failures:
        print("\n" + text)
    print(", ".join(f"{number} {kind}" for kind, number in counts(verdicts).items()))
    for claim in chosen:
        if claim.id not in judged:
            print(f"not judged  {claim.id}: needs evidence about {', '.join((*claim.presumes, *claim.proof))}")
    for line in wrong:
        print(f"{painted('DISAGREES', 'alarm')}  {line}")
    return status


def _rested_on(registry: Registry, chosen: list[Claim]) -> list[Claim]:
    """What claims presuppose and the steps of their printed proofs, as far as those are not among them."""
    names = dict.fromkeys(name for claim in chosen for name in (*claim.presumes, *claim.proof))
    own = {claim.id for claim in chosen}
    return [registry[name] for name in names if name not in own]


def _audit(options: argparse.Namespace) -> int:
    from verify.checks.settings import settings_for
    from verify.evidence.audit import differences
    from verify.evidence.parallel import kept_evidence, run_tasks, tasks_of
    from verify.evidence.store import EvidenceWriter, read

    chosen = load(options.package).matching(*options.claims)
    require_jobs(options.jobs)
    settings = settings_for(options.effort)
    records, _ = read(options.evidence)
    kept = kept_evidence(chosen, records, settings)
    if not kept:  # of which an audit would find nothing wrong
        named = repr(" ".join(options.claims))
        raise InputError("claims", f"claims with evidence about this code at effort {settings.effort.name}", named)
    seconds = {task: record.duration for task, record in kept.items()}
    tasks = [task for task in tasks_of(chosen, settings, seconds) if task in kept]
    recorder = EvidenceWriter(options.evidence)
    run_tasks(options.package, chosen, tasks, settings, recorder, options.jobs, sys.stderr, seconds=seconds)
    again = {(record.claim, record.check): record for record in read(options.evidence)[0] if record.run == recorder.run}
    found = {task: list(differences(kept[task], again[task])) for task in tasks}
    for (claim_id, check), wrong in found.items():
        for text in wrong:
            print(f"{claim_id} {check}: {text}")
    number = sum(map(bool, found.values()))
    print(f"{number} of {len(tasks)} checks found something else than what was kept of them")
    return 1 if number else 0


def _soak(options: argparse.Namespace) -> int:
    from verify.checks import checks_of
    from verify.checks.settings import settings_for
    from verify.evidence.fingerprints import fingerprint
    from verify.evidence.parallel import already_found, run_tasks, tasks_of
    from verify.evidence.runner import judge
    from verify.evidence.store import EvidenceWriter, current, in_force, read
    from verify.gate.arguments import seeds_of

    registry = load(options.package)
    chosen = registry.matching(*options.claims)
    require_jobs(options.jobs)
    fingerprints = {claim.id: fingerprint(claim) for claim in chosen}
    failing: dict[tuple[str, str], dict[int, str]] = {}
    for seed in seeds_of(options.seeds):
        settings = settings_for(options.effort, seed)
        records = current(read(options.evidence)[0], fingerprints)
        undrawn = {
            (claim.id, check.name) for claim in chosen for check in checks_of(claim, settings) if not check.draws
        }
        own = in_force(record for record in records if record.seed == seed or (record.claim, record.check) in undrawn)
        tasks = tasks_of(chosen, settings, {(record.claim, record.check): record.duration for record in records})
        tasks = [task for task in tasks if task not in already_found(chosen, own, settings)]
        print(f"seed {seed}: {len(tasks)} checks", file=sys.stderr)
        run_tasks(options.package, chosen, tasks, settings, EvidenceWriter(options.evidence), options.jobs, sys.stderr)
        records = [record for record in current(read(options.evidence)[0], fingerprints) if record.seed == seed]
        for record in in_force(records):
            judgement = judge(registry[record.claim], record)
            if not judgement.ok:
                failing.setdefault((record.claim, record.check), {})[seed] = judgement.why
    for (claim_id, check), seeds in sorted(failing.items()):
        why = next(iter(seeds.values())).splitlines()[0]
        print(f"{claim_id} {check} at seeds {', '.join(map(str, seeds))}: {why}")
    print(f"{len(failing)} checks fail at a seed of {options.seeds}, effort {options.effort}")
    return 1 if failing else 0


def _witnesses(options: argparse.Namespace) -> int:
    from verify.evidence.fingerprints import code_of, fingerprint
    from verify.evidence.store import current, read
    from verify.inputs.witnesses import keep

    registry = load(options.package)
    fingerprints = {claim.id: fingerprint(claim) for claim in registry.matching(*options.claims)}
    best: dict[tuple[str, str], Record] = {}
    for record in current(read(options.evidence)[0], fingerprints):
        place = record.claim, record.check
        if record.details.get("witnesses") and (place not in best or _tells_more(record, best[place])):
            best[place] = record
    if not best:
        raise InputError(
            "claims", "claims with evidence about this code, from verify run", repr(" ".join(options.claims))
        )
    try:
        found = {
            place: {**record.details["witnesses"], "code": code_of(registry[place[0]])}
            for place, record in best.items()
        }
        kept = keep(registry.values(), found)
    except OSError as problem:
        got = f"{problem.filename!r} ({problem.strerror})"
        raise InputError("--package", "a package whose folders can be written to", got) from None
    for path, number in kept.items():
        print(f"{number} claims  {path}")
    return 0


def _tells_more(later: Record, earlier: Record) -> bool:
    """Whether the later of two records knows more mutants dead, or else has a tighter input, or else is of no less effort."""
    from verify.evidence.store import rank_of

    now, before = ((len(r.details["witnesses"]["dead"]), r.tightest_ratio or 0.0) for r in (later, earlier))
    return now > before or (now == before and rank_of(later.effort) >= rank_of(earlier.effort))
