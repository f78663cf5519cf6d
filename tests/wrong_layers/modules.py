"""Layers as modules write them: GPT's attention with biases, norms of three axes."""

from __future__ import annotations

from typing import Any

import torch

from tests.wrong_layers import RIGHT, WRONG, Function, add

sdpa = torch.nn.functional.scaled_dot_product_attention


def thirds(y: Any, H: int) -> Any:
    """Queries, keys and values, each (B, H, n, e), of the fused projection."""
    return [part.unflatten(2, (H, -1)).transpose(1, 2) for part in y.chunk(3, dim=2)]


def gpt(
    split: Function = thirds, attend: Function = lambda q, k, v: sdpa(q, k, v, is_causal=True),
    project: Function = lambda X, W, b: X @ W + b, out: Function = lambda y, W, c: y @ W + c,
) -> Function:  # fmt: skip
    def attention(X: Any, W: Any, b: Any, W_O: Any, c: Any, H: int) -> Any:
        q, k, v = split(project(X, W, b), H)
        return out(attend(q, k, v).transpose(1, 2).flatten(2), W_O, c)

    return attention


def by_hand(q: Any, k: Any, v: Any, width: float | None = None, above: int = 0, detached: bool = False) -> Any:
    n = q.shape[2]
    T = q @ k.mT / (width or q.shape[3]) ** 0.5
    P = torch.softmax(T.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(above), -torch.inf), -1)
    return (P.detach() if detached else P) @ v


def layer_norm(X: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
    return torch.nn.functional.layer_norm(X, X.shape[2:], gamma, beta, epsilon)


def over(axes: tuple[int, ...], centred: bool = True) -> Function:
    def norm(X: Any, gamma: Any, *rest: Any) -> Any:
        *beta, epsilon = rest
        C = X - X.mean(axes, keepdim=True) if centred else X
        return C * torch.rsqrt((C * C).mean(axes, keepdim=True) + epsilon) * gamma + sum(beta)

    return norm


def collect() -> None:
    subjects: dict[str, tuple[dict[str, Function], dict[str, Function | tuple[Function, str]]]] = {
        "gpt_attention": ({
            "torch's kernel": gpt(), "by hand": gpt(attend=by_hand),
        }, {
            "no bias of the projection": (gpt(project=lambda X, W, b: X @ W),
                "the bias of the projection to queries, keys and values is left out"),
            "no bias of the output": (gpt(out=lambda y, W, c: y @ W), "the bias of the output is left out"),
            "cut head by head": (gpt(lambda y, H: y.unflatten(2, (H, 3, -1)).permute(3, 0, 2, 1, 4)),
                "the projection is cut head by head, and not into queries, keys and values first"),
            "keys first": (gpt(lambda y, H: [thirds(y, H)[i] for i in (1, 0, 2)]), "queries and keys are exchanged"),
            "not causal": (gpt(attend=sdpa), "the causal mask is left out"),
            "weights detached": gpt(attend=lambda q, k, v: by_hand(q, k, v, detached=True)),
            "the bias of the output before the projection": gpt(out=lambda y, W, c: (y + c) @ W),
            "heads left where they are": gpt(attend=lambda q, k, v: sdpa(q, k, v, is_causal=True).reshape(
                q.shape[0], q.shape[2], q.shape[1], -1).transpose(1, 2)),
            "one token ahead in long rows": gpt(attend=lambda q, k, v: by_hand(q, k, v, above=int(q.shape[2] > 64))),
        }),
        "layer_norm_of_samples": ({"layer_norm of torch": layer_norm, "by hand": over((2,))}, {
            "over tokens": (over((1,)), "the axis of tokens is normalised"),
            "over a whole sample": (over((1, 2)), "both axes of a sample are normalised"),
            "of the first sample": lambda X, *rest: layer_norm(X[:1].expand_as(X), *rest),
            "a group of 8 rows": lambda X, *rest: torch.cat([layer_norm(X[:, :8], *rest), X[:, 8:]], 1),
        }),
        "rms_norm_of_samples": ({"by hand": over((2,), centred=False)}, {
            "over tokens": (over((1,), centred=False), "the axis of tokens is normalised"),
            "centred": (over((2,)), "the mean of each row is subtracted, as in LayerNorm"),
            "the scale detached": lambda X, gamma, epsilon: X * torch.rsqrt(
                (X * X).mean(2, keepdim=True) + epsilon).detach() * gamma,
        }),
        "layer_norm_of_matrices": ({
            "layer_norm of torch over two axes": lambda X, gamma, beta, epsilon: torch.nn.functional.layer_norm(
                X, X.shape[1:], gamma, beta, epsilon), "by hand over two axes": over((1, 2)),
        }, {
            "row by row": (over((2,)), "each row is normalised by itself"),
            "one gain for all rows": (lambda X, gamma, beta, epsilon: over((1, 2))(X, gamma[:1], beta, epsilon),
                "the gain of the first row is that of all"),
            "over all samples": over((0, 1, 2)),
        }),
    }  # fmt: skip
    for subject, (right, wrong) in subjects.items():
        for name, function in right.items():
            add(RIGHT, f"{subject}: {name}", function, subject=f"transformer.{subject}")
        for name, given in wrong.items():
            function, cause = given if isinstance(given, tuple) else (given, "")
            add(WRONG, f"{subject}: {name}", function, subject=f"transformer.{subject}", cause=cause)
