"""The theorems about a subject as parameters of a test, one test for each check."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from verify.gate.checking import Gate, gate
from verify.gate.findings import BROKEN, SATISFIED, Finding
from verify.gate.subject_errors import SubjectFailure
from verify.vocabulary.errors import InputError, shown

if TYPE_CHECKING:
    import pytest


class SubjectCheck:
    """One check of one implementation, to be called by a test."""

    def __init__(self, made: Gate, check: str, dtype: str) -> None:
        self.made, self.check, self.dtype = made, check, dtype

    def __str__(self) -> str:
        return f"{self.made.subject}-{self.check}-{self.dtype}"

    def __call__(self) -> Finding:
        """Make the check.

        Raises `SubjectFailure` when the implementation breaks it, or leaves undecided what is required, and skips the
        test when it cannot be decided otherwise.
        """
        __tracebackhide__ = True  # the message says what is wrong, our frames do not
        finding = self.made.run(self.check, self.dtype)
        if finding.status == BROKEN:
            lines = [f"{self.made.subject} implemented by {self.made.title}", finding.describe()]
            lines += [f"likely cause: {cause}" for cause in self.made.causes_of(finding)]
            raise SubjectFailure("\n".join(lines))
        if finding.says_nothing and finding.is_among(self.made.required):
            raise SubjectFailure(f"{self.made.subject} implemented by {self.made.title}\n{finding.describe()}")
        if finding.status != SATISFIED:
            import pytest  # a check without tests does without it

            pytest.skip(f"{self.check}: {finding.status}: {finding.why}")
        return finding


def parametrize_with_theorems(
    pairs: Iterable[tuple[Any, ...]], argument: str = "check", **options: Any
) -> pytest.MarkDecorator:
    """Parametrise a test with every check of every (subject, implementation) or (subject, implementation, adapter).

    @verify.parametrize_with_theorems([("hessian.attention", my_attention)])
    def test_theorems(check):
        check()

    `options` are those of `verify.check`, which says what is raised for wrong ones.
    """
    import pytest

    parameters = []
    expected = "pairs (subject, implementation) or triples (subject, implementation, adapter), at least one"
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise InputError("pairs", expected, shown(pairs))
    if not isinstance(argument, str) or not argument.isidentifier():
        raise InputError("argument", "the name of an argument of the test", shown(argument))
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) not in (2, 3):
            raise InputError("pairs", expected, shown(pair))
        subject, implementation, *adapter = pair
        made = gate(subject, implementation, adapter=adapter[0] if adapter else None, **options)
        checks = [SubjectCheck(made, name, dtype) for name, dtype in made.checks]
        parameters += [pytest.param(item, id=str(item)) for item in checks]
    if not parameters:  # pytest would skip the test
        raise InputError("pairs", expected, "none")
    return pytest.mark.parametrize(argument, parameters)
