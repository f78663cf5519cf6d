"""Exponential and inverse of square matrices of symbolic sizes, and of those made of blocks, as far as blocks suffice."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from verify.arithmetics.symbols.blocks import Blocks
from verify.arithmetics.symbols.function_heads import exponential, inverse_of
from verify.arithmetics.symbols.heads import Head
from verify.arithmetics.symbols.indexed import Indexed, common, entrywise, identity
from verify.arithmetics.symbols.matrix_exponential import exponential_of_matrix, frechet_derivative, mean_exponential
from verify.arithmetics.symbols.matrix_exponential_rules import without_left
from verify.arithmetics.symbols.sums import Sum, as_built, contract, note_rule, step_named, sum_of_head
from verify.vocabulary.errors import ArithmeticUnsupported, InputError

DIAGONAL = step_named("exponential and inverse of blocks on the diagonal")
TRIANGULAR = step_named("exp [[M, E], [0, N]] has the integral of exp(s M) E exp((1 - s) N) as its corner")
PRODUCT = step_named("exp(Y Z) = I + Y phi(Z Y) Z")
SCHUR = step_named("the inverse of [[I, B], [C, D]] by D - C B")

#: A row of blocks is recognised as a product with another row of at most so many tensors before it.
LONGEST_FACTOR = 3


def _square(primitive: str, A: Indexed) -> Indexed:
    """The operand as a square matrix, its rows and columns grouped alike."""
    if A.ndim != 2 or A.dims[0] != A.dims[1]:
        raise InputError("A", "a square matrix", f"shape {A.dims}")
    if A.bound:
        raise ArithmeticUnsupported(f"{primitive} of a matrix that depends on a summation index")
    return common(A, 0, A.T, 0)[0]


def matrix_exponential(A: Indexed) -> Indexed:
    """exp(A)."""
    A = _square("expm", A)
    if not A.axes[0]:
        return entrywise(exponential, A)
    return Indexed(exponential_of_matrix(A.value), A.axes)


def matrix_inverse(A: Indexed) -> Indexed:
    """A^-1."""
    A = _square("inverse", A)
    if not A.axes[0]:
        return A.raised(Fraction(-1))
    return Indexed(inverse_of(A.value, A.axes[0]), A.axes)


def _require_square_blocks(primitive: str, A: Blocks) -> None:
    rows, columns = A.partition
    if rows != columns:
        raise ArithmeticUnsupported(f"{primitive} of blocks whose rows and columns are split differently")


def _beside_diagonal(A: Blocks) -> list[tuple[int, int]]:
    """Where blocks outside the diagonal do not vanish."""
    count = len(A.grid)
    return [(i, j) for i in range(count) for j in range(count) if i != j and A.grid[i][j].value]


# -- the exponential ---------------------------------------------------------------------------------------------------


def exponential_of_blocks(A: Blocks) -> Blocks:
    """exp of blocks on the diagonal, of [[M, E], [0, N]], and of Y Z for a column Y and a row Z of blocks."""
    _require_square_blocks("expm", A)
    beside = _beside_diagonal(A)
    if not beside or (beside == [(0, 1)] and len(A.grid) == 2):
        note_rule(TRIANGULAR if beside else DIAGONAL)
        grid = [list(row) for row in A.grid]
        for k, row in enumerate(A.grid):
            grid[k][k] = matrix_exponential(row[k])
        if beside:
            (M, E), (_, N) = A.grid
            grid[0][1] = _corner(M, E, N)
            grid = [[_as_block(block, p, q, M, E, N) for q, block in enumerate(row)] for p, row in enumerate(grid)]
        return Blocks(grid)
    factored = _as_product(A)
    if factored is None:
        raise ArithmeticUnsupported(
            "expm of blocks, neither diagonal, two and upper triangular, nor a column times a row"
        )
    note_rule(PRODUCT)
    left, right = factored
    # exp(Y Z) = I + Y phi(Z Y) Z
    core = _square("expm", sum((z @ y for y, z in zip(left, right, strict=True)), start=0 * (right[0] @ left[0])))
    mean = Indexed(mean_exponential(core.value), core.axes)
    grid = [[y @ mean @ z for z in right] for y in left]
    for k, row in enumerate(grid):
        row[k] = identity(A.partition[0][k]) + row[k]
    return Blocks(grid)


def _as_block(block: Indexed, p: int, q: int, M: Indexed, E: Indexed, N: Indexed) -> Indexed:
    value = block_of_exponential((block.value,), p, q, M.value, E.value, N.value)
    return Indexed(value, block.axes, block.bound)


@as_built("block of expm")
def block_of_exponential(found: tuple[Sum], p: int, q: int, M: Sum, E: Sum, N: Sum) -> Sum:
    """What was found to be the block (p, q) of exp [[M, E], [0, N]]; a certificate says of which exponential it is a block."""
    return found[0]


def _corner(M: Indexed, E: Indexed, N: Indexed) -> Indexed:
    """The integral of exp(s M) E exp((1 - s) N) over s in [0, 1]."""
    M, N = _square("expm", M), _square("expm", N)
    if not M.axes[0] or not N.axes[0]:
        raise ArithmeticUnsupported("expm of blocks of a single row")
    M, E = common(M, 1, E, 0)
    E, N = common(E, 1, N, 0)
    m, n = M.axes[1], N.axes[0]
    M, N = _square("expm", M), _square("expm", N)
    if E.bound or M.axes != (m, m) or N.axes != (n, n):
        raise ArithmeticUnsupported("expm of blocks whose indices are grouped differently")
    labels = list(range(2 * (m + n)))
    a, b, c, d = labels[:m], labels[m : 2 * m], labels[2 * m : 2 * m + n], labels[2 * m + n :]
    value = contract([(frechet_derivative(M.value, N.value), labels), (E.value, [*b, *c])], [*a, *d])
    return Indexed(value, (m, n))


def _as_product(A: Blocks) -> tuple[list[Indexed], list[Indexed]] | None:
    """Y and Z where the blocks are Y_i Z_j: every row is a product of tensors with one of them, which is Z."""
    if any(block.axes != (1, 1) or block.bound for row in A.grid for block in row):
        return None
    for k, right in enumerate(A.grid):
        left = [identity(A.partition[0][k]) if i == k else _left_factor(row, right) for i, row in enumerate(A.grid)]
        if all(factor is not None for factor in left):
            return [factor for factor in left if factor is not None], right
    return None


def _left_factor(row: Sequence[Indexed], right: Sequence[Indexed]) -> Indexed | None:
    """C where the row is C times the other row, for a product C of tensors, each the first factor of every term."""
    blocks, found = [block.value for block in row], identity(row[0].value.slots[0])
    goal = [block.value.key for block in right]
    for _ in range(LONGEST_FACTOR + 1):
        if [block.key for block in blocks] == goal:
            return found
        first = next((factor for block in blocks for key in block.terms for factor in key if 0 in factor[1]), None)
        if first is None or first[0].kind != "tensor" or len(first[1]) != 2:
            return None
        tensor, place = first[0], first[1].index(0)
        stripped = [without_left(block, tensor, place) for block in blocks]
        blocks = [block for block in stripped if block is not None]
        if len(blocks) < len(row):
            return None
        found = found @ _matrix_of(tensor, place)
    return None


def _matrix_of(tensor: Head, place: int) -> Indexed:
    """A tensor of two slots as the matrix whose rows are its slot `place`."""
    made = Indexed(sum_of_head(tensor), (1, 1))
    return made if place == 0 else made.T


# -- the inverse -------------------------------------------------------------------------------------------------------


def inverse_of_blocks(A: Blocks) -> Blocks:
    """The inverse of blocks on the diagonal, and of [[I, B], [C, D]] by its Schur complement D - C B."""
    _require_square_blocks("the inverse", A)
    if not _beside_diagonal(A):
        note_rule(DIAGONAL)
        return Blocks([[matrix_inverse(x) if i == j else x for j, x in enumerate(row)] for i, row in enumerate(A.grid)])
    first = A.grid[0][0]
    if len(A.grid) != 2 or (first - identity(A.partition[0][0])).value:
        raise ArithmeticUnsupported("the inverse of blocks, neither diagonal nor two by two with an identity first")
    note_rule(SCHUR)
    (_, B), (C, D) = A.grid
    last = matrix_inverse(D - C @ B)
    return Blocks([[first + B @ last @ C, -(B @ last)], [-(last @ C), last]])
