"""Counting instead of timing: what an implementation does, in operations and in entries alive at a time.

Sizes may be symbols.  Then torch runs the code on symbolic shapes, and the count is an expression of these.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from verify.arithmetics.formal import is_guarded
from verify.vocabulary.contexts import assigned
from verify.vocabulary.errors import ArithmeticUnsupported

if TYPE_CHECKING:  # lists of claims are shown without sympy
    import sympy

#: Symbolic sizes are at least this: of a size 1 torch's operations repeat entries, where others are paired.
SMALLEST_SYMBOLIC = 2
#: Numbers that stand behind symbolic sizes while code runs on them; a decision that they make is refused.
HINTS = (1009, 1013, 1019, 1021, 1031)


_programs: contextvars.ContextVar[set[str] | None] = contextvars.ContextVar("_programs", default=None)


def recording_programs() -> contextlib.AbstractContextManager[set[str]]:
    """Collect the names of the functions that are counted at symbolic sizes inside the block: expressions that rest on none
    are right at every size, and not from `SMALLEST_SYMBOLIC` on alone.

    >>> with recording_programs() as programs:
    ...     _ = count(lambda X: X @ X.T, without_numbers(3, 4))
    >>> programs
    set()
    """
    return assigned(_programs, set())


@dataclass(frozen=True)
class Count:
    """Floating-point operations, and the largest number of entries alive at a time, arguments not included.

    Whole numbers; expressions where sizes are symbols, right where each of them is at least `SMALLEST_SYMBOLIC`.
    """

    operations: Any
    memory: Any


class _Symbolic:
    """Torch's symbolic shapes with a size for each symbol, and what torch has decided of these sizes so far."""

    def __init__(self) -> None:
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        self.shapes = ShapeEnv()
        self.mode = FakeTensorMode(shape_env=self.shapes)
        self.sizes: dict[sympy.Symbol, Any] = {}
        self.symbols: dict[Any, sympy.Symbol] = {}

    def size(self, expression: Any) -> Any:
        """A sum of products of sizes as torch's."""
        import sympy

        symbols = sorted(expression.free_symbols, key=str)
        return sympy.lambdify(symbols, expression, modules=[])(*map(self._own, symbols))

    def _own(self, symbol: sympy.Symbol) -> Any:
        from torch._dynamo.source import ConstantSource
        from torch.fx.experimental.symbolic_shapes import DimDynamic

        if symbol not in self.sizes:
            source, hint = ConstantSource(str(symbol)), HINTS[len(self.sizes) % len(HINTS)] + 8 * len(self.sizes)
            own = self.shapes.create_symbol(hint, source=source, dynamic_dim=DimDynamic.DYNAMIC, constraint_dim=None)
            self.sizes[symbol] = self.shapes.create_symintnode(own, hint=hint, source=source)
            self.symbols[own] = symbol
        return self.sizes[symbol]

    def expression(self, size: Any) -> Any:
        """A size of torch's as an expression: a number as it is."""
        import sympy

        if isinstance(size, int):
            return size
        found = size.node.expr.replace(lambda part: type(part).__name__ == "Min", lambda part: sympy.Min(*part.args))
        return sympy.expand(found.xreplace(self.symbols))

    def has_decided(self) -> bool:
        """Whether code has ever asked torch for a decision on symbolic sizes, or torch has given one a value."""
        env = self.shapes
        return bool(env.guards or env.replacements or any(env.deferred_runtime_asserts.values()))


@functools.cache
def _symbolic() -> _Symbolic:
    return _Symbolic()


def _those_of(arguments: tuple[Any, ...]) -> _Symbolic | None:
    """The symbolic sizes that arguments have, of which nothing may have been decided; None where all are numbers.

    Torch answers what it was asked once from memory, and so does not note it again: what was decided once is not undone.
    """
    import torch

    sizes = [size for argument in arguments for size in argument.shape if isinstance(size, torch.SymInt)]
    if not sizes:
        return None
    known = _symbolic()
    if known.has_decided() or any(size.node.shape_env is not known.shapes for size in sizes):
        raise ArithmeticUnsupported(
            "sizes of which something was decided before, so that a count has no one expression"
        )
    return known


def without_numbers(*shape: Any) -> Any:
    """A tensor of float64 that has a shape and no entries; sizes are whole numbers or expressions of symbols.

    >>> without_numbers(3, 4).shape
    torch.Size([3, 4])
    """
    import sympy
    import torch

    shape = tuple(size.expression if is_guarded(size) else size for size in shape)  # sizes as a proof has them
    if not any(isinstance(size, sympy.Expr) for size in shape):
        return torch.empty(shape, device="meta", dtype=torch.float64)
    if _symbolic().has_decided():  # by code that was refused, or that has failed
        _symbolic.cache_clear()
    known = _symbolic()
    with known.mode:
        return torch.empty([known.size(sympy.sympify(size)) for size in shape], device="meta", dtype=torch.float64)


def count(function: Callable[..., Any], *arguments: Any, squarings: int = 8) -> Count:
    """What the torch code `function` does at these arguments; on the meta device nothing is computed or allocated.

    Arguments with symbolic sizes (`without_numbers`) give expressions.  Code that would do something else at other sizes,
    so that no one expression is the count, raises `ArithmeticUnsupported`.

    A product of (m, k) by (k, n) counts 2 m n k.  Torch's kernels cannot be looked into, so theirs are stated: a reduced
    QR is Householder's with its orthonormal factor formed (Golub and Van Loan, 5.2.2), the exponential a Taylor polynomial
    of degree 18 in 5 products and `squarings` squarings.  (Their number depends on the norm, not on the size.)  Their
    workspace, a fixed multiple of what they take and return, is not counted.  Any other operation that fills new memory
    counts once per entry of its result; a further factorisation is refused.  Sums of products are in torch's own order,
    whether or not opt_einsum is installed.
    """
    import sympy
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    aten = torch.ops.aten
    known = _those_of(arguments)
    if known and (programs := _programs.get()) is not None:
        programs.add(getattr(function, "__name__", repr(function)))
    exact = known.expression if known else int

    class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
        operations: Any = 0
        live: Any = 0

        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.storages: dict[int, Any] = {}
            self.seen: set[Any] = {0}

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            packet = func.overloadpacket
            shapes = [list(map(exact, x.shape)) for x in args if isinstance(x, torch.Tensor)]
            out = _factors(args[0]) if packet is aten.linalg_qr and known else func(*args, **(kwargs or {}))
            filled = sum(self.keep(tensor) for tensor in (out if isinstance(out, (tuple, list)) else [out]))
            if packet is aten.linalg_qr:
                self.operations += _householder(*shapes[0][-2:])
            elif packet is aten.linalg_matrix_exp:
                self.operations += 2 * (5 + squarings) * shapes[0][-1] ** 3
            elif packet is aten._scaled_dot_product_flash_attention_for_cpu:
                (*leading, m, d), n = shapes[0], shapes[1][-2]
                self.operations += 2 * math.prod(leading) * m * n * (d + shapes[2][-1])
            elif packet in flop_registry:
                self.operations += exact(flop_registry[packet](*args, **(kwargs or {}), out_val=out))
            elif "linalg" in str(packet) or "cholesky" in str(packet):
                raise ArithmeticUnsupported(f"the operations of {packet} are not stated, so they cannot be counted")
            else:
                self.operations += filled
            return out

        def keep(self, tensor: Any) -> int:
            """The entries of `tensor` if its memory is new, alive from now on until it is released; 0 for views."""
            if not isinstance(tensor, torch.Tensor):
                return 0
            storage = tensor.untyped_storage()
            key, entries = storage._cdata, exact(storage.nbytes() // tensor.element_size())
            if key in self.storages:
                return 0
            self.storages[key] = entries
            self.live += entries
            self.seen.add(self.live)
            weakref.finalize(storage, self.release, key)
            return entries

        def release(self, key: int) -> None:
            self.live -= self.storages.pop(key)

    with torch.backends.opt_einsum.flags(enabled=False), Counter() as counter:
        counter.storages = {argument.untyped_storage()._cdata: 0 for argument in arguments}
        result = function(*arguments)
    del result
    if known and known.has_decided():
        raise ArithmeticUnsupported(
            "the code decides by its sizes what it does, so that its count has no one expression"
        )
    return Count(sympy.expand(counter.operations) if known else counter.operations, largest(*counter.seen))


def largest(*numbers: Any) -> Any:
    """The largest of several numbers, or of expressions of positive sizes, without those that another one certainly exceeds.

    >>> import sympy
    >>> n = sympy.Symbol("n", positive=True, integer=True)
    >>> largest(3, Fraction(7, 2)), largest(n, n + 1)
    (Fraction(7, 2), n + 1)
    """
    import sympy

    numbers = tuple(number.expression if is_guarded(number) else number for number in numbers)
    if not any(isinstance(number, sympy.Expr) for number in numbers):
        return max(numbers)
    kept: list[Any] = []
    for number in sorted({sympy.expand(each) for each in numbers}, key=lambda each: -len(sympy.Add.make_args(each))):
        if not any(_is_certainly_less(number, other) for other in kept):
            kept = [other for other in kept if not _is_certainly_less(other, number)] + [number]
    return sympy.Max(*kept, evaluate=False) if len(kept) > 1 else kept[0]


def _is_certainly_less(one: Any, other: Any) -> bool:
    import sympy

    return all(term.as_coeff_Mul()[0] >= 0 for term in sympy.Add.make_args(sympy.expand(other - one)))


def _factors(matrix: Any) -> tuple[Any, Any]:
    """What a reduced QR of a matrix (m, n) of symbolic sizes returns, without numbers: (m, k) and (k, n), k = min(m, n)."""
    import torch

    m, n = matrix.shape
    k = torch.sym_min(m, n)  # type: ignore[no-untyped-call]
    return matrix.new_empty((m, k)), matrix.new_empty((k, n))


def _householder(m: Any, n: Any) -> Any:
    """Operations of a reduced QR of (m, n): the triangular factor, then the first min(m, n) columns of the other."""
    import sympy

    if isinstance(m, int) and isinstance(n, int):
        k = min(m, n)
        triangular = 2 * k * k * (max(m, n) - Fraction(k, 3))
        return math.ceil(triangular + 2 * k * k * (m - Fraction(k, 3)))
    k = sympy.Min(m, n)  # and m + n - k is the larger one
    return sympy.ceiling(sympy.expand(2 * k**2 * (m + n - k - k / 3) + 2 * k**2 * (m - k / 3)))
