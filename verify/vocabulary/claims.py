"""Claims with what belongs to them: functions, mutants, counterexamples, companions.

A claim is data plus a few ordinary functions.  Its formula is importable and callable by itself:

    LEMMA_11 = Claim(SECTION_3, "convergence.lemma-11", label="Lemma 11", statement=..., relation=Equal())

    @LEMMA_11.formula
    def softmax_jacobian(u: Logits): ...

    LEMMA_11.oracle(lambda u: jacobian(softmax, "T")(u))
    LEMMA_11.mutant("sign of the rank-one term", lambda u: diag(softmax(u)) + softmax(u).T @ softmax(u))

What is false without an assumption, or holds in the place of a false claim, is derived from that claim and says only what is
its own (`Claim.without`, `Claim.corrected`); so is what a source prints twice (`Claim.restated`).

What is one expression is a lambda: its parameters are found by their names, so they need no types.  What needs
statements is a decorated function.  The formula comes back checking its arguments.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from verify.vocabulary.assumptions import Assumption, Stated, text_of, together
from verify.vocabulary.errors import RegistryError
from verify.vocabulary.hypotheses import Hypothesis
from verify.vocabulary.judgements import Doubt, Reading, unwrapped
from verify.vocabulary.realised import Realised, realised_by
from verify.vocabulary.relations import Relation
from verify.vocabulary.sections import Paper, Scale, Setting
from verify.vocabulary.shapes import (
    Spec,
    as_drawn,
    checked,
    own_copy,
    parameter_names,
    parameter_specs,
    plain,
    sizes_in,
    trusted_arguments,
)
from verify.vocabulary.variants import Variant, of_value

F = TypeVar("F", bound=Callable[..., Any])


def declared(function: Any, declare: Callable[[Any], None]) -> Any:
    """Declare `function` and return it, or a decorator that does so where there is none yet."""

    def decorator(found: F) -> F:
        declare(found)
        return found

    return decorator if function is None else decorator(function)


def _tested_inputs(item: Stated) -> set[str]:
    """The inputs that the tests of an assumption take."""
    tests = item.tests if isinstance(item, Assumption) else ()
    return {name for test in tests for name in parameter_names(test)}


#: Verdicts, from best to worst known.
VERDICTS = ("holds", "reading", "empirical", "gap", "refuted", "open")

#: How grave a refutation is.
SEVERITIES = ("error", "slip")


#: What a companion of a claim shares with it, beside functions, if it says nothing else.
_SHARED = (
    "setting", "relation", "sizes", "where", "assumptions", "domains", "without_domains", "exact", "batched", "hypotheses",
    "needless", "levels",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A wrong variant of the formula, which the check must tell from the right one."""

    name: str
    variant: Variant

    @property
    def function(self) -> Callable[..., Any]:
        return self.variant.function


@dataclass(frozen=True)
class Counterexample:
    """Explicit inputs (integers, fractions) that satisfy the assumptions and break the statement."""

    title: str
    inputs: Callable[[], dict[str, Any]]


@dataclass(eq=False)
class Claim:
    """One claim of a paper, or of this project when `of_project` is set.

    Parameters
    ----------
    setting: what the section of the paper assumes; a paper stands for a setting without assumptions.
    id, label, statement: identity; the statement is LaTeX, as printed.
    name: what it is about, in a few words that a reader would search for ("variance of off-diagonal logits").
    consequence: one sentence on what its failure means to those who build on it; for what is refuted or a gap.
    relation: what kind of statement it is (`verify.vocabulary.relations`).
    sizes: the named sizes of the annotations with inclusive ranges, ``{"L": (1, 5)}``, in the place of the setting's, or
        the names of those of the setting's that occur, ``("L", "d_V")``.
    where: condition on the sizes, part of the assumptions, in the place of the setting's.
    assumptions: what it assumes besides the setting: conditions with a test (`Assumption`), and what symbols stand for
        (`Definition`, `Convention`, `Construction`).
    expects: the verdict the author of the source expects; a run fails when evidence disagrees.
    severity: for refuted claims, "slip" (an obvious misprint) or "error" (the statement is false).
    uses, proof, presumes: ids of claims it rests on, of the steps of its printed proof, of what it silently presupposes.
    correction, corrects: ids linking a refuted or gapped claim with the statement that does hold; one statement may
        correct several claims.
    repeats: for a slip, the id of the printed slip whose misprint it repeats; totals count a misprint once.
    reading: the meaning given to printed words that have none, if the claim needs it.
    observed: for empirical claims, the set-up in which the observation was made (sizes, seeds, what is not stated).
    domains: names of generator domains to draw from (default: all that apply); `without_domains` names those that
        cannot satisfy the assumptions, each with the reason.
    exact: whether the claim can be decided in exact arithmetic (with free exponentials).
    batched: whether the functions can be vmapped over many seeds at once.
    doubt: glyphs that the extracted text may have damaged, and the form taken.
    missing: for a gap, the hypothesis that is nowhere in force and that the claim presupposes; `presumes` names the
        refuted claim without it.
    all_sizes: proved for all sizes; a run in which both sides no longer reduce to the same normal form, or in which a
        bound no longer has a derivation, fails.
    at_sizes: proved at these sizes, ``{"L": 2, "d_V": 3}``, the entries of the inputs being indeterminates; True stands for the
        smallest sizes that tell all of them apart.  A run in which that fails, or is not finished in time, fails.
    hypotheses: what assumptions say of single inputs, or those with `zero` themselves, besides those of the setting, for the
        proof for all sizes.
    needless: properties that every drawn input has and no assumption states, ``{"P has orthonormal columns": reason}``, where
        the statement cannot be tried without them: why it does not need them.
    levels: of a statement about a probability, the levels at which it is tried, ``{"delta": (1/2, 1/8, 1/32)}``, which its
        functions read here; or the drawn input that a level follows from, ``{"delta": "ell"}``.
    general: of a statement that holds of any function in the place of the definitions that it names, a sentence that says
        so; it is added to the note.
    loose: of a bound that no search brings near equality, a sentence that says why; it is added to the note.
    """

    setting: Setting | Paper
    id: str
    label: str
    statement: str
    relation: Relation
    sizes: Any = None
    where: Any = None
    assumptions: Sequence[Stated] = ()
    expects: str = "holds"
    severity: str | None = None
    uses: Sequence[str] = ()
    proof: Sequence[str] = ()
    presumes: Sequence[str] = ()
    correction: str | None = None
    corrects: str | Sequence[str] = ()
    repeats: str | None = None
    reading: Reading | None = None
    observed: str | None = None
    domains: Sequence[str] | None = None
    without_domains: Mapping[str, str] = field(default_factory=dict)
    exact: bool | None = None
    batched: bool = True
    of_project: bool = False
    doubt: Doubt | None = None
    missing: str | None = None
    note: str | None = None
    name: str = ""
    consequence: str | None = None
    all_sizes: bool = False
    at_sizes: bool | Mapping[str, int] = False
    hypotheses: Sequence[Hypothesis | Assumption] = ()
    needless: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Sequence[float] | str] = field(default_factory=dict)
    general: str | None = None
    loose: str | None = None

    def __post_init__(self) -> None:
        self._given = {item.name: getattr(self, item.name) for item in fields(self)}
        if isinstance(self.setting, Paper):
            self.setting = Setting(self.setting)
        self.paper = self.setting.paper
        self.of_project = self.of_project or self.paper.of_project
        self._take_from_setting(self.setting)
        self.corrects = (self.corrects,) if isinstance(self.corrects, str) else tuple(self.corrects)
        for name in ("label", "statement", "name", "observed", "missing", "consequence", "note"):
            if isinstance(text := getattr(self, name), str):
                setattr(self, name, unwrapped(text))
        for added in (self.general, self.loose):
            if added:
                self.note = " ".join(part for part in (self.note, unwrapped(added)) if part)
        for fault in itertools.chain(self._faults_of_verdict(), self._faults_of_hypotheses(), self._faults_of_proofs()):
            raise RegistryError(f"{self.id}: {fault}")
        self.module = sys._getframe(2).f_globals.get("__name__", "")  # the module that declares the claim
        self._formula: Callable[..., Any] | None = None
        self._oracle: Callable[..., Any] | None = None
        self._inputs: Callable[..., Mapping[str, Any]] | None = self.setting.inputs
        self._parts: dict[str, Callable[..., Any]] = {}
        self.mutants: list[Mutant] = []
        self.counterexamples: list[Counterexample] = []
        self.special_domains: dict[str, Callable[..., None]] = dict(self.setting.special_domains)
        self.scales: dict[str, Scale] = {}
        for scale in self.setting.scales:
            self.scales[scale.name] = replace(scale, sizes=self._sizes_at(scale.name, scale.sizes))

    def _faults_of_verdict(self) -> Iterator[str]:
        for name, kind in (("reading", Reading), ("doubt", Doubt)):
            if not isinstance(getattr(self, name), (kind, type(None))):
                yield f"{name} is a {kind.__name__}, which quotes the text; got {getattr(self, name)!r}"
        if self.expects not in VERDICTS:
            yield f"expects is {self.expects!r}, not one of {VERDICTS}"
        if self.severity is not None and self.severity not in SEVERITIES:
            yield f"severity is {self.severity!r}, not one of {SEVERITIES}"
        if (self.expects == "refuted") != (self.severity is not None):
            yield "severity is given exactly for claims expected to be refuted"
        if self.missing is not None and (self.expects != "gap" or not self.presumes or not self.missing.strip()):
            yield "a missing hypothesis belongs to a gap that presumes a refuted claim without it"
        if self.expects == "reading" and self.reading is None:
            yield "a claim that is expected to be a reading quotes the words it reads"
        if self.expects == "gap" and not (self.presumes or self.proof):
            yield "a gap names what it presumes, or the steps of its proof"
        if not self.id.startswith(self.paper.key + "."):
            yield f"the id of a claim begins with its paper's key, {self.paper.key!r}"

    def _faults_of_hypotheses(self) -> Iterator[str]:
        for hypothesis in self.hypotheses:
            if isinstance(hypothesis, Assumption):
                if hypothesis.zero is None or hypothesis not in self.assumptions:
                    yield f"{hypothesis.text!r} is no assumption of the claim that `zero` tests"
            elif not any(hypothesis.is_stated_in(text_of(item), _tested_inputs(item)) for item in self.assumptions):
                yield f"no assumption states {hypothesis.stated!r}, so {hypothesis} is not given"

    def _faults_of_proofs(self) -> Iterator[str]:
        if self.all_sizes and not (self.relation.entrywise or self.relation.proof_part):
            yield f"claims of kind {self.relation.kind!r} have no proof for all sizes"
        if self.proved_at_sizes and (not self.relation.entrywise or self.relation.one_sided):
            yield f"claims of kind {self.relation.kind!r} have no proof at given sizes"
        if self.all_sizes and self.proved_at_sizes:
            yield "what is proved for all sizes is not proved at given ones besides"
        if isinstance(self.at_sizes, Mapping):
            if set(self.at_sizes) - set(self.sizes):
                yield f"at_sizes names {sorted(self.at_sizes)}, the sizes are {sorted(self.sizes)}"
            self._sizes_at("at_sizes", self.at_sizes)

    @property
    def package(self) -> str:
        """The top-level package that declares it: what `verify --package` and `verify.replay` take."""
        return self.module.partition(".")[0]

    def _take_from_setting(self, setting: Setting) -> None:
        self.assumptions = (*setting.assumptions, *self.assumptions)
        self.hypotheses = (*setting.hypotheses, *self.hypotheses)
        self.without_domains = {**setting.without_domains, **self.without_domains}
        self.exact = setting.exact if self.exact is None else self.exact
        self.where = together(
            self.where or setting.where,
            [item.sizes for item in self.assumptions if isinstance(item, Assumption) and item.sizes],
        )
        if self.sizes is None:
            self.sizes = setting.sizes
        elif not isinstance(self.sizes, Mapping):
            absent = [name for name in self.sizes if name not in setting.sizes]
            if absent:
                raise RegistryError(f"{self.id}: sizes {absent} are none of the setting's, {sorted(setting.sizes)}")
            self.sizes = {name: setting.sizes[name] for name in self.sizes}

    # -- declaring the parts -------------------------------------------------------------------------------------------

    def formula(self, function: F) -> F:
        """Declare the printed formula (for a bound, its right-hand side).

        Returns the function with its arguments checked against their annotations, for those who import it.
        """
        if self._formula is not None:
            raise RegistryError(f"{self.id}: the formula is declared twice")
        self._formula = plain(function)
        for k, mutant in enumerate(self.mutants):  # those that a companion has from its claim
            self.mutants[k] = Mutant(mutant.name, Variant(mutant.variant.given, self._formula, mutant.variant.changed))
        return checked(self._formula)

    def oracle(self, function: F) -> F:
        """Declare the independent way to the same quantity (for a bound, the quantity bounded)."""
        if self._oracle is not None:
            raise RegistryError(f"{self.id}: the oracle is declared twice")
        self._oracle = function
        return function

    def inputs(self, function: Callable[..., Any] | None = None, /, **drawn: Any) -> Any:
        """Declare how freely drawn parameters become inputs that satisfy the assumptions: a function to a mapping by name.

        ``inputs(X=Tokens, N=Length)`` hands on what is drawn; for inputs that the formula has no annotation of.
        """
        self._inputs = as_drawn(drawn) if function is None else function
        return self._inputs

    def part(self, name: str, function: Callable[..., Any] | None = None) -> Any:
        """Declare a function that the relation asks for by name, such as "structure", "sequence" or "laws"."""
        return declared(function, lambda found: self._parts.__setitem__(name, found))

    def mutant(self, name: str, variant: str | Callable[..., Any] | None = None, **changed: Any) -> Any:
        """Declare a wrong variant of the formula, in one of four forms.

        * ``mutant("W_V not transposed", "W_V.T -> W_V")``: the formula with an expression replaced by another, wherever
          it stands; several replacements are separated by semicolons and made at once;
        * ``mutant("wrong sign", sign=-1)``: the formula with arguments of the functions it consists of changed, wherever
          one has a parameter of that name;
        * ``mutant("factor lost", lambda value, d_K: value * d_K)``: a function of any inputs of the claim, by their names;
          a parameter called `value` is given the formula's own value;
        * ``@CLAIM.mutant("...")`` above a function, where an expression is not enough.
        """
        if any(mutant.name == name for mutant in self.mutants):
            raise RegistryError(f"{self.id}: two mutants are called {name!r}")

        def declare(found: Any) -> None:
            self.mutants.append(Mutant(name, Variant(found, self._formula, changed)))

        if isinstance(variant, str) or changed:
            if self._formula is None:
                raise RegistryError(f"{self.id}: mutant {name!r} changes the formula, which is not declared yet")
            declare(variant)
            return None
        return declared(variant, declare)

    def counterexample(self, title: str, function: Callable[[], dict[str, Any]] | None = None, **inputs: Any) -> Any:
        """Declare explicit inputs that break the printed statement: by name, or a function of nothing that returns them."""
        found = (lambda: dict(inputs)) if inputs else function
        return declared(found, lambda given: self.counterexamples.append(Counterexample(title, given)))

    def domain(self, name: str, function: Callable[..., None] | None = None) -> Any:
        """Declare a generator domain of this claim alone: ``function(arrays, sizes, rng)`` edits the drawn arrays in place."""
        return declared(function, lambda found: self.special_domains.__setitem__(name, found))

    def at_scale(self, name: str, **sizes: int) -> Callable[[F], F]:
        """Declare sizes at which the claim is decided too, such as those of the source's experiments.

        ``function(arrays, sizes, rng)`` edits the generic drawn arrays in place (a value the source fixes, say).
        """
        if extra := sorted(set(sizes) - set(self.sizes)):
            raise RegistryError(f"{self.id}: at {name!r}, sizes {extra} are none of the claim's, {sorted(self.sizes)}")

        own = self._sizes_at(name, sizes)

        def declare(function: F) -> F:
            self.scales[name] = Scale(name, own, function)
            return function

        return declare

    def _sizes_at(self, name: str, sizes: Mapping[str, int]) -> dict[str, int]:
        own = {size: sizes[size] for size in self.sizes if size in sizes}
        if len(own) < len(self.sizes) or not self.where(own):
            raise RegistryError(f"{self.id}: at {name!r}, {own} does not give all of {sorted(self.sizes)} admissibly")
        return own

    # -- companions ----------------------------------------------------------------------------------------------------

    def without(
        self, assumption: Stated, id: str, counterexamples: Mapping[str, Callable[[], dict[str, Any]]], **other: Any
    ) -> Claim:
        """This claim without one of its assumptions: a claim of ours that is false, as the counterexamples show.

        It has the formula and the mutants of this claim, further `assumptions`, and all else that a companion has
        (`corrected`).  Raises `RegistryError` if the assumption is none of this claim, or is still one of the companion:
        then it takes another `setting`.

            LEMMA_F2.without(NONNEGATIVE_ALPHA, "osa.lemma-f.2-any-sign", {"X = I, alpha = -1": negative_alpha},
                setting=QUERIES_AND_KEYS, label=..., name=..., statement=...)
        """
        text = text_of(assumption)
        if text not in self.assumption_texts:
            raise RegistryError(f"{id}: {text!r} is no assumption of {self.id}: {self.assumption_texts}")
        left = [item for item in self._given["assumptions"] if text_of(item) != text]
        other["assumptions"] = (*left, *other.get("assumptions", ()))
        found = self._companion(id, {"expects": "refuted", "severity": "error", **other})
        if text in found.assumption_texts:
            raise RegistryError(f"{id}: its setting still assumes {text!r}; give another one")
        found.formula(self.the_formula)
        for title, inputs in counterexamples.items():
            found.counterexample(title, inputs)
        return found

    def corrected(self, id: str, **other: Any) -> Claim:
        """What holds in the place of this claim: a claim of ours with its own formula, which is declared next.

        It has the setting, the relation, the sizes and the assumptions of this claim, and the functions that are declared
        of it by then.  `other` are parts of a claim: texts and links, and what takes the place of this claim's own, such as
        its `assumptions`, all of them, or its `sizes`; `mutants` says which of its mutants it has too: all, none, or those
        of the given names.

            EQ_20_CORRECTED = EQ_20.corrected("skipless.eq-20-corrected", label=..., name=..., statement=...,
                assumptions=[], all_sizes=True)
        """
        return self._companion(id, {"corrects": self.id, "mutants": False, **other})

    def restated(self, id: str, **other: Any) -> Claim:
        """This claim where its source prints it again: the same statement, functions and mutants under an id of its own."""
        same = {name: self._given[name] for name in ("statement", "all_sizes", "at_sizes", "uses", "note")}
        found = self._companion(id, {"of_project": False, **same, **other})
        found.formula(self.the_formula)
        return found

    def _companion(self, id: str, other: dict[str, Any]) -> Claim:
        same = {name: self._given[name] for name in _SHARED}
        mutants = {mutant.name: mutant for mutant in self.mutants}
        named = other.pop("mutants", True)
        taken = (tuple(mutants) if named else ()) if isinstance(named, bool) else tuple(named)
        if absent := set(taken) - set(mutants):
            raise RegistryError(f"{id}: {self.id} has no mutants {sorted(absent)}; it has {sorted(mutants)}")
        found = Claim(**{**same, "of_project": True, "id": id, **other})
        found.module = sys._getframe(2).f_globals.get("__name__", "")
        found._oracle = self._oracle
        setting = self.setting
        assert isinstance(setting, Setting)
        if self._inputs is not setting.inputs:
            found._inputs = self._inputs
        found._parts = dict(self._parts)
        found.mutants = [mutants[name] for name in taken]
        for name, function in self.special_domains.items():
            if name not in setting.special_domains:
                found.special_domains[name] = function
        return found

    # -- reading them --------------------------------------------------------------------------------------------------

    @property
    def the_formula(self) -> Callable[..., Any]:
        if self._formula is None:
            raise RegistryError(f"{self.id}: no formula is declared")
        return self._formula

    @property
    def the_oracle(self) -> Callable[..., Any]:
        if self._oracle is None:
            raise RegistryError(f"{self.id}: no oracle is declared")
        return self._oracle

    @property
    def has_oracle(self) -> bool:
        return self._oracle is not None

    def the_part(self, name: str) -> Callable[..., Any]:
        if name not in self._parts:
            raise RegistryError(f"{self.id}: relation {self.relation.kind!r} needs a part called {name!r}")
        return self._parts[name]

    @property
    def proved_at_sizes(self) -> bool:
        """Whether it is marked as proved at given sizes, be they none."""
        return self.at_sizes is not False

    @property
    def prepares_inputs(self) -> bool:
        """Whether the formula's inputs are made from others, which are drawn."""
        return self._inputs is not None

    @property
    def realised(self) -> Realised | None:
        """What its preparation says of the conditions that it realises, if it does."""
        return realised_by(self._inputs)

    @property
    def parameters(self) -> dict[str, Spec]:
        """The freely drawn parameters and their specifications."""
        return parameter_specs(self._inputs or self.the_formula)

    def require_consistent(self) -> None:
        """Raise `RegistryError` where a parameter has no annotation, a size no range, or an oracle takes what is no input."""
        if self._formula is None or not self.relation.entrywise:
            return
        drawn = self._inputs or self._formula
        try:
            specs = parameter_specs(drawn)
        except RegistryError as problem:
            raise RegistryError(f"{self.id}: {problem}") from None
        dims = {dim: name for name, spec in specs.items() for dim in sizes_in(spec)}
        if absent := sorted(set(dims) - set(self.sizes)):
            which = ", ".join(f"{dim} of {dims[dim]}" for dim in absent)
            raise RegistryError(f"{self.id}: sizes has no range for {which}; it names {', '.join(sorted(self.sizes))}")
        taken = parameter_names(self._oracle) if self._inputs is None and self._oracle is not None else ()
        if unknown := [name for name in taken if name not in specs]:
            raise RegistryError(
                f"{self.id}: the oracle takes {', '.join(unknown)}; the inputs of the formula are {', '.join(specs)}"
            )

    def prepare(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Drawn parameters turned into inputs of the formula."""
        with trusted_arguments():
            return dict(raw) if self._inputs is None else dict(self._inputs(**own_copy(dict(raw))))

    def evaluate(self, function: Callable[..., Any], inputs: Mapping[str, Any]) -> Any:
        """Call one of the claim's functions with copies of the inputs that it takes: it may work in place."""
        names = parameter_names(function)
        if unknown := [name for name in names if name not in inputs]:
            title = getattr(function, "__qualname__", repr(function))
            raise RegistryError(
                f"{self.id}: {title} takes {', '.join(unknown)}; expected some of the claim's inputs {', '.join(inputs)}"
            )
        with trusted_arguments():
            return function(**own_copy({name: inputs[name] for name in names}))

    def sides(self) -> tuple[Callable[..., Any], Callable[..., Any] | None, dict[str, Callable[..., Any]]]:
        """Formula, oracle and mutants as functions of inputs; of a structure their defects, which vanish, and no oracle."""
        mutants = {mutant.name: mutant.function for mutant in self.mutants}
        if "structure" not in self.relation.parts:
            return self.the_formula, self.the_oracle, mutants
        defect = self.the_part("structure")
        return (
            of_value(defect, self.the_formula),
            None,
            {name: of_value(defect, each) for name, each in mutants.items()},
        )

    def named_functions(self) -> dict[str, Callable[..., Any]]:
        """What decides the claim, by name: formula, oracle, inputs, and the parts that its relation asks for."""
        own = {"formula": self._formula, "oracle": self._oracle, "inputs": self._inputs, **self._parts}
        return {name: function for name, function in own.items() if function is not None}

    @property
    def tested_assumptions(self) -> list[Assumption]:
        """The assumptions that come with a test of inputs."""
        return [item for item in self.assumptions if isinstance(item, Assumption) and item.tests]

    @property
    def assumption_texts(self) -> list[str]:
        return [text_of(item) for item in self.assumptions]
