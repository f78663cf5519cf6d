"""Modules and kernels that are known by their names: which names those are, and which adapter comes of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from verify.gate import recognised as known
from verify.gate.recognised import known_as, names_of, recognise, recognised

pytestmark = pytest.mark.kept

HERE = __name__


class Base:
    class Inner:
        pass


class Derived(Base):
    def __call__(self) -> None: ...


def function() -> None: ...


def test_names_are_those_of_a_function_or_of_a_class_and_its_bases() -> None:
    assert names_of(function) == [f"{HERE}.function"] and names_of(Base.Inner()) == [
        f"{HERE}.Base.Inner", "builtins.object"
    ]  # fmt: skip
    both = [f"{HERE}.Derived", f"{HERE}.Base", "builtins.object"]
    assert names_of(Derived) == both == names_of(Derived())
    assert names_of(SimpleNamespace(__name__="kernel", __module__=None)) == ["kernel"]
    assert names_of(SimpleNamespace(__name__="kernel", __module__="lib")) == ["lib.kernel"]

    class Bare:
        __slots__ = ("__name__",)

        def __getattribute__(self, name: str) -> Any:
            if name == "__module__":
                raise AttributeError(name)
            return object.__getattribute__(self, name)

    bare = Bare()
    bare.__name__ = "bare"  # type: ignore[attr-defined]
    assert names_of(bare) == ["bare"]


def test_an_adapter_is_that_of_the_first_name_that_is_known_for_the_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_known", {})

    @recognise("toy.a", f"{HERE}.Base", "lib.two.Two")
    def first(of: Any) -> Any: ...

    @recognise("toy.b", f"{HERE}.Derived")
    def other(of: Any) -> Any: ...

    assert callable(first) and callable(other)
    assert recognised("toy.a", Derived()) is recognised("toy.a", Base) is first
    assert recognised("toy.b", Derived) is other and recognised("toy.b", Base) is None
    assert recognised("toy.c", Derived) is None and recognised("toy.a", function) is None
    assert known_as("toy.a") == ["Base", "Two"] and known_as("toy.b") == ["Derived"] and known_as("toy.c") == []

    @recognise("toy.b", f"{HERE}.Base")
    def base(of: Any) -> Any: ...

    assert recognised("toy.b", Derived) is other, "what is nearest comes first"
    assert recognised("toy.b", Base) is base
