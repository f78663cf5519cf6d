"""Before the tests run it is said which of them will be skipped, and what would change that."""

from __future__ import annotations

from tests.absent import INSTALL, LIBRARIES, PROGRAMS, lines


def test_what_is_missing_is_named_with_one_command() -> None:
    assert lines(PROGRAMS.__contains__, LIBRARIES.__contains__) == []
    assert lines(lambda name: False, LIBRARIES.__contains__) == [
        "no chromium: the tests of the web site in a browser will be skipped",
        "no coqc: the tests of proofs that Rocq's kernel checks will be skipped",
        "no pdflatex: the test that compiles the errata will be skipped",
        "to run them: sudo apt-get install chromium coq libcoq-mathcomp-analysis texlive-latex-extra",
    ]
    told = lines(PROGRAMS.__contains__, {"jax", "flax", "equinox", "transformers"}.__contains__)
    assert told == ["no curvlinops: tests beside curvlinops will be skipped", f"to run them: {INSTALL}"]
