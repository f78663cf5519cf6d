"""Kernels of batches and heads that are wrong in some entries, or let entries leak into each other."""

from __future__ import annotations

import torch

from tests.wrong_layers import WRONG, Function, add
from theorems.adapters import attention_kernel
from verify.gate.adapters import batched

sdpa = torch.nn.functional.scaled_dot_product_attention


def collect() -> None:
    kernels: dict[str, Function] = {
        "the last entry's keys for all": lambda q, k, v: sdpa(q, k[-1:].expand_as(k), v),
        "the first head's keys for all": lambda q, k, v: sdpa(q, k[:, :1].expand_as(k), v),
        "the last head's values for all": lambda q, k, v: sdpa(q, k, v[:, -1:].expand_as(v)),
        "zeros but in the last entry": lambda q, k, v: torch.cat([v[:-1] * 0, sdpa(q, k, v)[-1:]]),
        "zeros but in the first head": lambda q, k, v: torch.cat([sdpa(q, k, v)[:, :1], v[:, 1:] * 0], 1),
        "entries exchanged": lambda q, k, v: sdpa(q, k, v).flip(0),
        "heads exchanged": lambda q, k, v: sdpa(q, k, v).flip(1),
        "heads rolled": lambda q, k, v: sdpa(q, k.roll(1, 1), v),
        "batch and heads interleaved": lambda q, k, v: sdpa(q, k, v).transpose(0, 1).reshape(q.shape),
        "batch and heads exchanged": lambda q, k, v: sdpa(q, k, v).transpose(0, 1),
        "tokens and heads mixed": lambda q, k, v: sdpa(q, k, v).transpose(1, 2).reshape(v.shape),
        "a softmax over heads": lambda q, k, v: torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, 1) @ v,
        "the maximum of the first entry": lambda q, k, v: sdpa(q, k, v) + 0 * q.max() + (q[:1] - q).sum() * 1e-3,
        "the mean over heads": lambda q, k, v: sdpa(q, k, v).mean(1, keepdim=True).expand_as(v),
        "first head unscaled": lambda q, k, v: torch.cat(
            [torch.softmax(q[:, :1] @ k[:, :1].mT, -1) @ v[:, :1], sdpa(q, k, v)[:, 1:]], 1),
        "third head detached": lambda q, k, v: torch.cat([sdpa(q, k, v)[:, :2], sdpa(q, k, v)[:, 2:].detach()], 1),
        "first entry detached": lambda q, k, v: torch.cat([sdpa(q, k, v)[:1].detach(), sdpa(q, k, v)[1:]]),
        "a causal mask": lambda q, k, v: sdpa(q, k, v, is_causal=True),
        "a causal mask in the second entry": lambda q, k, v: torch.cat(
            [sdpa(q, k, v)[:1], sdpa(q, k, v, is_causal=True)[1:]]),
        "wrong for one head": lambda q, k, v: sdpa(q, k, v) * (2 if q.shape[1] == 1 else 1),
    }  # fmt: skip
    for name, kernel in kernels.items():
        add(WRONG, f"kernel: {name}", kernel, adapter=attention_kernel())
    softmaxes: dict[str, Function] = {
        "over the batch": lambda T: torch.softmax(T, 0),
        "over the rows": lambda T: torch.softmax(T, -2),
        "the first entry for all": lambda T: torch.softmax(T[:1].expand_as(T), -1),
        "of all but the first entry": lambda T: torch.cat([T[:1], torch.softmax(T[1:], -1)]),
    }
    for name, function in softmaxes.items():
        add(WRONG, f"softmax of a batch: {name}", function, subject="hessian.softmax", adapter=batched(1))
