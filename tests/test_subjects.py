"""Subjects: another implementation stands in for a definition inside a block, and only there."""

from __future__ import annotations

from contextvars import copy_context
from typing import Annotated, Any

import pytest

from verify.arithmetics import to_rationals
from verify.vocabulary import InputError, RegistryError, Shape, is_dispatcher, replaced, subject
from verify.vocabulary.subjects import subjects

pytestmark = pytest.mark.kept


@subject("subjects-test.double")
def double(X: Annotated[Any, Shape("m", "n")]) -> Any:
    """2 X, shape (m, n)."""
    return X + X


def quadruple(X: Any) -> Any:
    """What a claim computes with the subject, shape (m, n)."""
    return double(double(X))


X = to_rationals([[1, 2]])


def triple(X: Any) -> Any:
    return 3 * X


def test_replacement_holds_inside_the_block_only():
    assert (quadruple(X) == 4 * X).all()
    with replaced("subjects-test.double", triple):
        assert (double(X) == 3 * X).all() and (quadruple(X) == 9 * X).all()
    assert (quadruple(X) == 4 * X).all()


def test_replacements_nest():
    with replaced("subjects-test.double", triple):
        with replaced("subjects-test.double", lambda X: 5 * X):
            assert (double(X) == 5 * X).all()
        assert (double(X) == 3 * X).all()


def test_replacement_ends_with_an_error():
    with pytest.raises(KeyError), replaced("subjects-test.double", triple):
        raise KeyError
    assert (double(X) == 2 * X).all()


def test_other_contexts_are_not_affected():
    outside = copy_context()
    with replaced("subjects-test.double", triple):
        assert (outside.run(double, X) == 2 * X).all()


def test_the_public_name_keeps_name_signature_and_docstring():
    assert double.__name__ == "double" and double.__doc__ == "2 X, shape (m, n)."
    assert str(subjects()["subjects-test.double"]).startswith("(X:")
    assert is_dispatcher(double) and not is_dispatcher(quadruple)


def test_definitions_check_their_arguments():
    with pytest.raises(InputError, match=r"X: expected shape \(m, n\); got shape \(2,\)"):
        double(to_rationals([1, 2]))


def test_unknown_subjects_are_refused():
    message = r"subject: expected one of the names that `verify subjects` prints; got 'duoble'; close to it: subjects-test\.double"
    with pytest.raises(InputError, match=message), replaced("duoble", triple):
        pass


def test_two_definitions_of_one_subject_are_refused():
    with pytest.raises(RegistryError, match=r"two definitions are registered as subject 'subjects-test\.double'"):
        subject("subjects-test.double")(triple)
    assert (double(X) == 2 * X).all()
