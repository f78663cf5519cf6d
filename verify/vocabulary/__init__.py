"""The vocabulary: what is claimed, as data.  It imports nothing else of the engine.

claims     claims with their functions, mutants, counterexamples, companions
sections   papers, settings, scales: where claims stand
assumptions conditions with tests, definitions, conventions
judgements words that need a reading, glyphs in doubt
hypotheses properties of single inputs, for proofs for all sizes
realised   which conditions a preparation of inputs realises, and why it reaches all of each
relations  what kind of statement a claim makes: equal, at most, tends to, ...
shapes     annotations of arguments, and the checks that they imply
variants   a mutant from a replaced expression or a changed argument
subjects   definitions by name, replaceable by a user's own
registry   all claims by id; duplicate ids and dangling links are errors
errors     one type per cause
"""

from verify.vocabulary.assumptions import Assumption, Construction, Convention, Definition
from verify.vocabulary.claims import Claim, Counterexample, Mutant
from verify.vocabulary.errors import ArithmeticUnsupported, InputError, NotFiniteError, RegistryError
from verify.vocabulary.hypotheses import Hypothesis
from verify.vocabulary.judgements import Doubt, Reading
from verify.vocabulary.realised import Realised, realises
from verify.vocabulary.registry import Registry, claims_in, load, modules_of
from verify.vocabulary.relations import (
    AtMost,
    Equal,
    FollowsLaw,
    HasStructure,
    OrderOfGrowth,
    PowerRate,
    QuadraticRate,
    Relation,
    TendsTo,
)
from verify.vocabulary.sections import Paper, Scale, Setting
from verify.vocabulary.shapes import (
    Real,
    Shape,
    Size,
    checked,
    parameter_specs,
    require_arguments,
    require_fit,
    require_sampling,
)
from verify.vocabulary.subjects import definition_of, is_dispatcher, replaced, subject
from verify.vocabulary.variants import Variant

__all__ = [
    "ArithmeticUnsupported",
    "Assumption",
    "AtMost",
    "Claim",
    "Construction",
    "Convention",
    "Counterexample",
    "Definition",
    "Doubt",
    "Equal",
    "FollowsLaw",
    "HasStructure",
    "Hypothesis",
    "InputError",
    "Mutant",
    "NotFiniteError",
    "OrderOfGrowth",
    "Paper",
    "PowerRate",
    "QuadraticRate",
    "Reading",
    "Real",
    "Realised",
    "Registry",
    "RegistryError",
    "Relation",
    "Scale",
    "Setting",
    "Shape",
    "Size",
    "TendsTo",
    "Variant",
    "checked",
    "claims_in",
    "definition_of",
    "is_dispatcher",
    "load",
    "modules_of",
    "parameter_specs",
    "realises",
    "replaced",
    "require_arguments",
    "require_fit",
    "require_sampling",
    "subject",
]
