"""Errors that say which argument is wrong, what was expected, and what came."""

from __future__ import annotations


class InputError(ValueError):
    """A public function was given something it cannot work with."""

    def __init__(self, argument: str, expected: str, got: str) -> None:
        super().__init__(f"{argument}: expected {expected}; got {got}")
        self.argument, self.expected, self.got = argument, expected, got

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:  # it crosses from workers to their parent
        return type(self), (self.argument, self.expected, self.got)


class NotFiniteError(InputError):
    """A matrix holds NaN or infinity."""


class ArithmeticUnsupported(ArithmeticError):
    """An operation does not exist in the arithmetic of its operands."""


class RegistryError(ValueError):
    """The claims do not form a consistent registry."""
