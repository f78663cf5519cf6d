"""Checking an implementation of a subject: its values, then every claim about the subject that holds."""

from __future__ import annotations

import contextlib
import fnmatch
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from verify.checks.settings import HALVES, Settings, settings_for
from verify.evidence.runner import warnings_only_warn
from verify.gate.arguments import adapted, adapter_of, contained, dtypes_of, named, require_known, require_text, texts
from verify.gate.choice import Choice
from verify.gate.diagnosis import causes, derivative_causes, law_causes
from verify.gate.findings import (
    BIAS,
    BROKEN,
    COMPARISONS,
    DEFINITION,
    FORWARD,
    LAW,
    LEFT_OUT,
    SECOND,
    UNCHECKABLE,
    Finding,
    SubjectReport,
)  # fmt: skip
from verify.gate.kernels import FUSED
from verify.gate.measure import TWICE, examine, judge_laws
from verify.gate.profiles import Profile, profile_of
from verify.gate.reach import claims_by_subject
from verify.gate.recognised import known_as, recognised
from verify.gate.standing import CHANGED, Standing, title_of
from verify.gate.subject_errors import NotDifferentiable, Raised, WrongResult
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError, in_one_line
from verify.vocabulary.registry import load
from verify.vocabulary.relations import FollowsLaw
from verify.vocabulary.subjects import definition_of, replaced

if TYPE_CHECKING:
    from verify.gate.comparison import Comparison

#: Why a claim is left out where sizes are chosen.
OTHER_SIZES = "none of its sizes is among those chosen"

Adapter = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass
class Gate:
    """An implementation, and the checks that it has to pass."""

    subject: str
    standing: Standing
    title: str
    profile: Profile
    claims: list[Claim]
    settings: Settings
    required: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    narrowed: dict[str, Claim | None] = field(default_factory=dict)
    comparison: Comparison | None = field(default=None, repr=False)
    _causes: list[str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.profile.is_drawn:
            from verify.gate.comparison import Comparison  # brings torch, which a list of claims does without

            self.comparison = Comparison(self.profile, self.standing, self.settings)

    @property
    def checks(self) -> list[tuple[str, str]]:
        """Pairs of a check ("definition", another comparison with it, or a claim id) and a dtype."""
        own = [DEFINITION, *self.comparison.checks] if self.comparison else []
        found = [
            (c, dtype)
            for c in own
            for dtype in self.settings.dtypes
            if c not in (SECOND, FORWARD, BIAS) or (dtype in HALVES) == (c == BIAS)
        ]
        full = tuple(dtype for dtype in self.settings.dtypes if dtype not in HALVES)
        for claim in self.claims:
            dtypes = ("float64",) if isinstance(claim.relation, FollowsLaw) else full
            found += [(claim.id, dtype) for dtype in dtypes]
        return found + [(LAW, "float64")] * (self.profile.law is not None)

    def run(self, check: str, dtype: str, briefly: bool = False, shrinking: bool = True) -> Finding:
        """Make one of the checks; an exit or a skipped test inside it, in a backward pass say, breaks it.

        `briefly` and `shrinking` as for `verify.gate.measure.examine`.
        """
        import torch

        lost: type[Exception] = getattr(torch, "AcceleratorError", Raised)  # the gate works with torch before 2.8 too
        try:
            return contained(self._run)(check, dtype, briefly, shrinking)  # type: ignore[no-any-return]
        except (NotDifferentiable, Raised, WrongResult, lost) as problem:
            own = self.profile.claim() if check == DEFINITION else None
            label = COMPARISONS.get(check) or (own or self._claim(check)).label
            if isinstance(problem, NotDifferentiable):  # where no derivative was asked for, as of a device that fails
                return Finding(check, label, dtype, UNCHECKABLE, f"no value: {problem}")
            if not isinstance(problem, (Raised, WrongResult)):  # of a kernel, which may come to light much later
                why = f"{self.settings.device} computes nothing any more: {in_one_line(problem)}"
                return Finding(check, label, dtype, UNCHECKABLE, why)
            return Finding(
                check, label, dtype, BROKEN, f"it raised {problem}" if isinstance(problem, Raised) else str(problem)
            )

    def _run(self, check: str, dtype: str, briefly: bool, shrinking: bool) -> Finding:
        with replaced(self.subject, self.standing), warnings_only_warn():
            warnings.filterwarnings("ignore", "There is a performance drop")  # torch.func, of kernels without batching
            if check == LAW and self.profile.law is not None:
                finding = Finding(LAW, COMPARISONS[LAW], dtype, UNCHECKABLE)
                judge_laws(finding, self.profile.law(self.standing, self.standing.definition, self.settings))
                return finding
            if check in COMPARISONS and self.comparison:
                return self.comparison.run(check, dtype, shrinking)
            if check != DEFINITION:
                claim = self.narrowed.get(check, self._claim(check))
                if claim is None:
                    return Finding(check, self._claim(check).label, dtype, LEFT_OUT, OTHER_SIZES)
                if self.comparison and not self.standing.bridged:
                    # torch.func takes what is marked as differentiable once for a constant, and says nothing
                    self.standing.bridged = self.comparison.is_differentiable_once
                again = self.comparison is not None and dtype != first_precisions(self.checks)[check]
                return examine(claim, self.standing, self.settings, dtype, None, briefly, shrinking, again)
            return examine(self.profile.claim(), self.standing, self.settings, dtype, DEFINITION, shrinking=shrinking)

    def _claim(self, claim_id: str) -> Claim:
        return next(claim for claim in self.claims if claim.id == claim_id)

    def not_exercised(self, kernels: Mapping[str, int]) -> list[str]:
        """What a report says nothing about: precisions, devices, lengths, kernels."""
        others = [dtype for dtype in ("float64", "float32", *HALVES) if dtype not in self.settings.dtypes]
        named = " and ".join(filter(None, [", ".join(others[:-1]), *others[-1:]]))
        found = [f"precision{'s' * (len(others) > 1)} {named}"] if others else []
        found += [f"devices other than {device_in_words(self.settings.device)}"]
        if self.comparison:
            found += self.comparison.not_exercised
        if kernels and not any("math" not in name for name in kernels):
            found += ["fused kernels: none ran"]
        elif kernels:
            missing = [kind for kind in FUSED if not any(name.startswith(kind) for name in kernels)]
            found += [f"kernels {', '.join(missing)}"] if missing else []
        if self.profile.choice.ranges or self.profile.choice.condition:
            found += ["sizes that were not chosen"]
        return found

    def causes_of(self, finding: Finding) -> list[str]:
        """Named mistakes that explain a broken check; none where the implementation fails in the search for them."""
        if finding.why == TWICE:
            return [TWICE]
        if CHANGED in finding.why:
            name, _, rest = finding.why.partition(": ")
            return [f"it changes {name} in place{rest.partition(CHANGED)[2].partition(',')[0]}"]
        if finding.check not in COMPARISONS and finding.why.startswith("it raised "):
            return []  # what it raised says more than a search among wrong formulas
        if self._causes is None:
            self._causes = []
            with contextlib.suppress(Exception):  # the finding stands, whatever other people's code raises now
                self._causes = contained(self._search)(finding)
        return self._causes

    def _search(self, finding: Finding) -> list[str]:
        at = finding.drawn if finding.check == DEFINITION else {}
        dtype = "float32" if finding.dtype in HALVES else finding.dtype  # where wrong formulas are told apart
        found = causes(self.profile, self.standing, self.settings, dtype, at)
        if found or finding.check == DEFINITION:
            return found
        with replaced(self.subject, self.standing):
            if finding.check in COMPARISONS:
                return derivative_causes(self.profile, self.standing, self.settings, dtype)
            claim = self._claim(finding.check)
            if isinstance(claim.relation, FollowsLaw):
                return law_causes(claim, self.settings)
            return derivative_causes(self.profile, self.standing, self.settings, dtype)


def first_precisions(checks: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The precision in which each check is made first: of theorems none is a half, and of laws it is float64."""
    return dict(reversed(checks))


def device_in_words(device: str) -> str:
    """A torch device as reports name it: "cpu", or "cuda (NVIDIA H100)" where it is known which one that is."""
    import torch

    asked = torch.device(device)
    if asked.type != "cuda" or not torch.cuda.is_available():
        return device
    return f"{device} ({torch.cuda.get_device_name(asked)})"


def gate(
    subject: str,
    implementation: Callable[..., Any] | str,
    *,
    adapter: Adapter | str | Mapping[str, Any] | None = None,
    claims: str | Sequence[str] = "*",
    effort: str = "quick",
    dtypes: Sequence[str] | None = None,
    device: str = "cpu",
    require: str | Sequence[str] = (),
    sizes: Mapping[str, Any] | None = None,
    where: Callable[[Mapping[str, int]], Any] | str | None = None,
    accept: str | Sequence[str] = (),
    seed: int | None = None,
    package: str = "theorems",
) -> Gate:
    """The checks of an implementation; arguments and errors as for `check`."""
    require_text(subject=subject)
    globs, required, accepted = texts(claims=claims), texts(require=require), texts(accept=accept)
    asked = dtypes_of(dtypes)
    settings = settings_for(effort, seed, device)
    if asked:
        settings = replace(settings, dtypes=asked)
    by_subject = claims_by_subject(package) if isinstance(package, str) else {}
    if not by_subject:
        load(package)  # which says what is wrong with it
    definition_of(subject)
    function = named(implementation)
    title = title_of(function)
    turning = recognised(subject, function) if adapter is None else adapter_of(adapter)
    if turning is None:
        require_known(subject, function, list(inspect.signature(definition_of(subject)).parameters), known_as(subject))
    else:
        function, title = adapted(function, turning), f"{title} through {title_of(turning)}"
    known = by_subject.get(subject, [])
    profile, choice = profile_of(subject), Choice.of(sizes, where)
    if profile.is_drawn:
        profile = profile.narrowed(choice)
    for glob in globs:
        if glob != "*" and not fnmatch.filter([claim.id for claim in known], glob):
            raise InputError("claims", f"a glob that matches one of {[claim.id for claim in known]}", repr(glob))
    chosen = [
        claim
        for claim in known
        if any(fnmatch.fnmatchcase(claim.id, glob) for glob in globs)
        and not (globs == ("*",) and profile.is_drawn and isinstance(claim.relation, FollowsLaw))
    ]
    standing = Standing(subject, contained(profile.as_read(function)))
    narrowed = {claim.id: choice.narrowed(claim) for claim in chosen}
    made = Gate(subject, standing, title, profile, chosen, settings, required, accepted, narrowed)
    checks = list(dict.fromkeys(check for check, _ in made.checks))
    for argument, chosen_globs in (("require", required), ("accept", accepted)):
        for glob in chosen_globs:
            if glob != "derivatives" and not fnmatch.filter(checks, glob):
                raise InputError(argument, f"derivatives, or a glob that matches one of {checks}", repr(glob))
    if not made.checks:
        raise InputError("subject", f"one about which {package!r} has a claim that holds", repr(subject))
    return made


def check(
    subject: str,
    implementation: Callable[..., Any] | str,
    *,
    adapter: Adapter | str | Mapping[str, Any] | None = None,
    claims: str | Sequence[str] = "*",
    effort: str = "quick",
    dtypes: Sequence[str] | None = None,
    device: str = "cpu",
    require: str | Sequence[str] = (),
    sizes: Mapping[str, Any] | None = None,
    where: Callable[[Mapping[str, int]], Any] | str | None = None,
    accept: str | Sequence[str] = (),
    seed: int | None = None,
    package: str = "theorems",
) -> SubjectReport:
    """Let `implementation` stand in for a subject, and report which theorems it satisfies and which it breaks.

    Parameters
    ----------
    subject: a name that `verify.subjects()` lists.
    implementation: a function with the parameters of the definition, taken by position; or "package.module:function".
    adapter: what turns `implementation` into such a function, itself or as text (`verify.gate.adapters`); a mapping
        {"call": text, ...} for an adapter that takes options.  Modules and
        kernels that are known by name (`verify.gate.recognised`) need none.
    claims: a glob of claim ids, or several; only claims that hold are gates.  Without it, statistical claims are left
        out unless the subject itself draws samples: they take long.
    require: "derivatives", or globs of checks: what is not decided of these counts as broken, also where it was left out or
        did not call the implementation.  accept: the same words
        for what may stay undecided; the report is not ok where anything else does.
    sizes: what the implementation admits, by name: {"d_K": 64} or {"d_K": (8, 64)}.  where: a condition on the sizes, as a
        function of a mapping or as text "package.module:function".  Claims that have none of these sizes are left out.
    effort: "quick", "ci" or "deep".  dtypes: "float64", "float32" (default both); "bfloat16"
        and "float16" too, in which theorems are not checked.  device: a torch device.  seed: of what is drawn (default: 0).

    Raises `verify.vocabulary.InputError`, naming the argument, for an unknown subject, claim, effort, dtype, device, seed or
    package, an adapter that fails, and an implementation that cannot be imported.  Whatever the implementation raises,
    sys.exit and pytest.skip included, becomes part of the report.  What it does to the process (os._exit, a loop without
    end) it does to yours: `verify check` in a shell checks in a process apart.
    """
    made = gate(
        subject,
        implementation,
        adapter=adapter,
        claims=claims,
        effort=effort,
        dtypes=dtypes,
        device=device,
        require=require,
        sizes=sizes,
        where=where,
        accept=accept,
        seed=seed,
        package=package,
    )
    report = SubjectReport(subject, made.title, required=made.required, accepted=made.accepted)
    first = first_precisions(made.checks)
    for name, dtype in made.checks:
        broken = report.with_status(BROKEN)
        of_definition = {finding.check for finding in broken} & {DEFINITION, *COMPARISONS}
        if of_definition and (name in COMPARISONS or dtype != first[name]) and name not in of_definition:
            continue  # it is wrong; what is left to say is which theorems it breaks
        # one example of a comparison is enough, and one of all theorems
        shrinking = name in (DEFINITION, *COMPARISONS) and name not in of_definition
        report.findings.append(made.run(name, dtype, bool(of_definition), shrinking))
        if name == DEFINITION and report.findings[-1].status == BROKEN and not report.findings[-1].entries:
            break  # it raises, or returns something that no claim can use
    broken = report.with_status(BROKEN)
    theorems = [finding for finding in broken if finding.entries and finding.check not in (DEFINITION, *COMPARISONS)]
    if theorems:  # that which can be made small with the least work
        shown = min(theorems, key=lambda finding: finding.entries * finding.calls)
        briefly = any(finding.check in (DEFINITION, *COMPARISONS) for finding in broken)
        report.findings[report.findings.index(shown)] = made.run(shown.check, shown.dtype, briefly)
    report.kernels = dict(made.comparison.kernels) if made.comparison else {}
    report.not_exercised = tuple(made.not_exercised(report.kernels))
    if broken:
        report.causes = made.causes_of(broken[0])
    return report
