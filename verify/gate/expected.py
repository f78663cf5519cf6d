"""Failures that are known: a file of them, held strictly, so that what is mended or was never broken is said.

    # subject                  check                 why, in words of one's own
    hessian.attention          second-derivatives    the backward pass has no derivative
    transformer.layer_norm     definition

Subjects and checks are globs; what follows them is for people.  A line that no check can meet, as with a name that is
misspelt, is refused.
"""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from verify.gate.findings import BROKEN, NOT_OK, OK, SATISFIED, UNDECIDED, SubjectReport
from verify.vocabulary.errors import InputError


@dataclass(frozen=True)
class Expected:
    """Failures by glob of subject and of check."""

    pairs: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(path: Path | None) -> Expected:
        """Those of a file; raises `InputError` for a file that cannot be read, or a line without a check."""
        if path is None:
            return Expected()
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as problem:
            raise InputError("--expected-failures", "a file that can be read", f"{str(path)!r} ({problem})") from None
        pairs = []
        for number, line in enumerate(lines, 1):
            words = line.partition("#")[0].split()
            if len(words) == 1:
                raise InputError(f"{path}, line {number}", "a subject and a check", repr(line.strip()))
            pairs += [(words[0], words[1])] if words else []
        return Expected(tuple(pairs))

    def require_known(self, checks: Mapping[str, Collection[str]]) -> None:
        """Raise `InputError` for a line that can never be met: `checks` has the names of checks by those of subjects.

        >>> Expected((("a.f", "definitoin"),)).require_known({"a.f": ["definition"]})
        Traceback (most recent call last):
        ...
        verify.vocabulary.errors.InputError: --expected-failures: expected a subject and one of its checks; got 'a.f definitoin'
        """
        for subject, glob in self.pairs:
            names = itertools.chain.from_iterable(checks[name] for name in fnmatch.filter(checks, subject))
            if not fnmatch.filter(names, glob):
                raise InputError("--expected-failures", "a subject and one of its checks", repr(f"{subject} {glob}"))

    def judge(self, report: SubjectReport) -> tuple[str, list[str]]:
        """What a report comes to, and what there is to say.

        Broken checks that are all expected are no failure; one that was expected to break and is satisfied is one.  Where no
        check was decided the report is undecided, whatever was expected.
        """
        globs = [check for subject, check in self.pairs if fnmatch.fnmatchcase(report.subject, subject)]
        if not globs:
            return report.outcome, []
        told, unexpected = [], False
        for glob in globs:
            found = [finding for finding in report.findings if fnmatch.fnmatchcase(finding.check, glob)]
            status = {finding.status for finding in found}
            if BROKEN in status:
                told.append(f"{glob} is broken, as expected")
            elif status == {SATISFIED}:
                told, unexpected = (
                    [*told, f"{glob} was expected to break, and is satisfied: take it from the list"],
                    True,
                )
            else:
                told.append(f"{glob} was expected to break, and was {'not decided' if found else 'not made'}")
        left = [check for check in report.broken if not any(fnmatch.fnmatchcase(check, glob) for glob in globs)]
        if unexpected or left or report.missing:
            return NOT_OK, told
        decided = report.with_status(SATISFIED) or report.broken
        return UNDECIDED if report.open or not decided else OK, told
