"""Derivative oracles: Jacobians and Hessians by torch.func for tensors, by jets for every other arithmetic.

The two routes share no code below this module's shape bookkeeping, so agreement between them is evidence.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from verify.arithmetics import Constant, form_of, is_tensor
from verify.arithmetics.jets import constants, gradient_part, hessian_part, variables
from verify.matrix.layout import ROW, Layout, moved_to_layout
from verify.vocabulary.errors import InputError


def _bind(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    bound = inspect.signature(f).bind(*args, **kwargs)
    bound.apply_defaults()
    for name in names:
        if name not in bound.arguments:
            raise InputError("wrt", f"one of {list(bound.arguments)}", repr(name))
    return dict(bound.arguments)


def _entries(point: Any) -> np.ndarray:
    return point.array if isinstance(point, Constant) else np.asarray(point, dtype=object)


def _shape2(shape: Sequence[int]) -> tuple[int, int]:
    shape = tuple(shape)
    if len(shape) > 2:
        raise InputError("f or wrt", "at most two dimensions", f"shape {shape}")
    return (1, 1) if not shape else (shape[0], 1) if len(shape) == 1 else (shape[0], shape[1])


def _as_jets(arguments: dict[str, Any], wrt: Sequence[str], order: int) -> dict[str, Any]:
    """Tensors among the arguments as object arrays: numbers where we differentiate, constant jets elsewhere."""
    count = sum(arguments[name].numel() for name in dict.fromkeys(wrt))
    lifted = {}
    for name, value in arguments.items():
        array = np.asarray(value.tolist(), dtype=object) if is_tensor(value) else value
        lifted[name] = constants(array, count, order) if is_tensor(value) and name not in wrt else array
    return lifted


def _as_tensor(derivative: np.ndarray, like: Any) -> Any:
    import torch

    return torch.as_tensor(derivative.astype(np.float64), dtype=like.dtype, device=like.device)


def jacobian(f: Callable[..., Any], wrt: str, layout: Layout = ROW, by: str = "torch.func") -> Callable[..., Any]:
    """The function that returns d vec f / d vec `wrt`, shape (size of f, size of wrt), numerator layout.

    `layout` says how both f and the argument are flattened.  Arguments are passed as to f.  Tensors are differentiated
    by torch.func, or with ``by="jets"`` by jets over floats; every other arithmetic by jets.
    """
    _require_route(by)

    def differentiated(*args: Any, **kwargs: Any) -> Any:
        arguments = _bind(f, args, kwargs, [wrt])
        point = arguments[wrt]
        if by == "jets" and is_tensor(point) and form_of("jacobian", *arguments.values()) is None:
            return _as_tensor(jacobian(f, wrt, layout)(**_as_jets(arguments, [wrt], 1)), point)
        return _derivatives(f, arguments, [wrt], layout)[0]

    return differentiated


def jacobians(f: Callable[..., Any], wrt: Sequence[str], layout: Layout = ROW) -> Callable[..., dict[str, Any]]:
    """The function that returns d vec f / d vec W for each name W in `wrt`, by name, each as `jacobian` returns it.

    f runs once for all of them.  The arguments that are named are of one arithmetic.  Raises `InputError` for a name that
    f does not take.

    Example
    -------
    >>> import torch
    >>> found = jacobians(lambda A, B: A @ B, ("A", "B"))(torch.ones(1, 2), torch.eye(2))
    >>> {name: tuple(J.shape) for name, J in found.items()}
    {'A': (2, 2), 'B': (2, 4)}
    """
    names = list(wrt)

    def differentiated(*args: Any, **kwargs: Any) -> dict[str, Any]:
        arguments = _bind(f, args, kwargs, names)
        return dict(zip(names, _derivatives(f, arguments, names, layout), strict=True))

    return differentiated


def _derivatives(f: Callable[..., Any], arguments: dict[str, Any], wrt: Sequence[str], layout: Layout) -> list[Any]:
    """The Jacobian of f in each of the arguments `wrt`: of shape (size of f, size of the argument), from one run of f."""
    form = form_of("jacobian", *arguments.values())
    if form is not None:
        return [form(f, arguments, name, layout) for name in wrt]

    def along(*points: Any) -> Any:
        return f(**{**arguments, **dict(zip(wrt, points, strict=True))})

    points = [arguments[name] for name in wrt]
    found: list[Any]
    if is_tensor(points[0]):
        import torch

        found = list(torch.func.jacrev(along, tuple(range(len(points))))(*points))
        out_shape = found[0].shape[: found[0].ndim - points[0].ndim]
        size = int(np.prod(out_shape))
        found = [J.reshape(size, point.numel()) for J, point in zip(found, points, strict=True)]
    else:
        points = [_entries(point) for point in points]
        lifted = variables(points, order=1)
        result = np.asarray(along(*(x if x.shape else x.item() for x in lifted)), dtype=object)
        out_shape = result.shape
        ends = np.cumsum([point.size for point in points])
        rows = [gradient_part(entry, int(ends[-1])) for entry in result.flat]
        whole = np.array(rows, dtype=object).reshape(result.size, int(ends[-1]))
        found = np.split(whole, ends[:-1], axis=1)
    if layout is ROW:
        return found
    return [
        moved_to_layout(J, _shape2(out_shape), _shape2(point.shape), layout)
        for J, point in zip(found, points, strict=True)
    ]


def _require_route(by: str) -> None:
    if by not in ("torch.func", "jets"):
        raise InputError("by", "torch.func or jets", repr(by))


def hessian(
    f: Callable[..., Any], wrt: tuple[str, str], layout: Layout = ROW, by: str = "torch.func"
) -> Callable[..., Any]:
    """The function that returns d^2 f / d vec W_i d vec W_j for wrt = (W_i, W_j).

    For scalar f the shape is (size of W_i, size of W_j).  For matrix-valued f the Hessians of its entries, in the
    order of `layout`, are stacked on top of each other (Hessian paper, Eq. (4) and Figure 2).  `by` as in `jacobian`.
    """
    _require_route(by)
    first, second = wrt

    def differentiated(*args: Any, **kwargs: Any) -> Any:
        arguments = _bind(f, args, kwargs, [first, second])
        form = form_of("hessian", *arguments.values())
        if form is not None:
            return form(f, arguments, wrt, layout)
        a, b = arguments[first], arguments[second]
        if by == "jets" and is_tensor(a):
            return _as_tensor(hessian(f, wrt, layout)(**_as_jets(arguments, wrt, 2)), a)
        if is_tensor(a):
            import torch

            def at(x: Any, y: Any) -> Any:
                return f(**{**arguments, second: y, first: x})

            if first == second:
                H = torch.func.jacrev(torch.func.jacrev(lambda x: at(x, x)))(a)
            else:
                H = torch.func.jacrev(lambda y: torch.func.jacrev(lambda x: at(x, y))(a))(b)
            out_shape = H.shape[: H.ndim - a.ndim - b.ndim]
            H = H.reshape(-1, a.numel(), b.numel())
        else:
            a, b = _entries(a), _entries(b)
            points = [a] if first == second else [a, b]
            lifted = variables(points, order=2)
            result = np.asarray(f(**{**arguments, **dict(zip([first, second], lifted, strict=False))}), dtype=object)
            count = sum(point.size for point in points)
            offset = 0 if first == second else a.size
            out_shape = result.shape
            H = np.array(
                [hessian_part(entry, count)[: a.size, offset : offset + b.size] for entry in result.flat], dtype=object
            ).reshape(result.size, a.size, b.size)
        if layout is ROW:
            return H.reshape(-1, H.shape[2])
        return _stacked(H, _shape2(out_shape), _shape2(a.shape), _shape2(b.shape), layout)

    return differentiated


def _stacked(H: Any, out: tuple[int, int], a: tuple[int, int], b: tuple[int, int], layout: Layout) -> Any:
    """Hessians of the entries, shape (size of out, size of a, size of b), on top of each other in column-major order."""
    order = np.arange(out[0] * out[1]).reshape(out).T.reshape(-1)
    blocks = [moved_to_layout(H[int(k)], a, b, layout) for k in order]
    if is_tensor(H):
        import torch

        return torch.cat(blocks, dim=0)
    return np.concatenate(blocks, axis=0)
