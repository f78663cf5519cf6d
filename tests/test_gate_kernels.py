"""The kernel that is tested is the kernel that is meant: fused ones run, are counted, and are named in the report."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import verify
from verify.gate.autograd import cut_from_product
from verify.gate.checking import gate
from verify.gate.findings import SATISFIED
from verify.gate.kernels import counted
from verify.gate.probes import block_sizes, long_points
from verify.gate.profiles import profile_of
from verify.gate.recognised import recognised

pytestmark = pytest.mark.kept

SUBJECTS = ["transformer.masked_attention", "transformer.causal_attention", "transformer.batched_attention"]


def ran(kernel: Any, *shapes: tuple[int, ...]) -> Counter[str]:
    kernels: Counter[str] = Counter()
    with counted(kernels):
        kernel(*(torch.ones(shape) for shape in shapes))
    return kernels


def test_kernels_of_torch_are_counted_by_name() -> None:
    fused = ran(scaled_dot_product_attention, *[(1, 2, 8, 4)] * 3)
    assert sum(fused.values()) == 1 and not any("math" in name for name in fused)
    assert ran(scaled_dot_product_attention, (2, 8, 4), (2, 8, 4), (2, 8, 4)) == {"attention_math": 1}
    assert ran(torch.matmul, (2, 2), (2, 2)) == {}
    with torch.autograd.profiler_legacy.profile():
        assert ran(scaled_dot_product_attention, *[(1, 2, 8, 4)] * 3) == {}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_fused_kernel_of_torch_is_what_is_tested(subject: str) -> None:
    made = gate(subject, scaled_dot_product_attention, dtypes=["float32"])
    assert made.comparison is not None
    for check, least in (("first-derivatives", 2), ("sizes", 5), ("long-sequences", 2)):
        made.comparison.kernels.clear()
        made.run(check, "float32")
        fused = sum(count for name, count in made.comparison.kernels.items() if "math" not in name)
        assert fused >= least, made.comparison.kernels


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_fused_kernel_gets_parts_of_a_fused_product(subject: str) -> None:
    """It runs only where the entries of a row lie side by side, which does not say that rows do."""
    apart: list[bool] = []

    def kernel(*given: torch.Tensor, **options: Any) -> torch.Tensor:
        apart.append(all(x.stride(-1) == 1 and not x.is_contiguous() for x in given))
        return scaled_dot_product_attention(*given, **options)

    made = gate(subject, kernel, adapter=recognised(subject, scaled_dot_product_attention), dtypes=["float32"])
    assert made.run("sizes", "float32").status == SATISFIED and any(apart)


def test_a_part_of_a_product_has_the_same_entries_in_another_layout() -> None:
    heads = torch.arange(2.0 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    part = cut_from_product(heads)
    assert torch.equal(part, heads) and part.stride() == (4 * 3 * 7, 7, 3 * 7, 1) and part.storage_offset() == 1
    assert cut_from_product(heads > 7).dtype == torch.bool and torch.equal(cut_from_product(heads > 7), heads > 7)
    assert cut_from_product(heads[0, 0, 0]).storage_offset() == 1 and cut_from_product(torch.tensor(2.0)) == 2.0


def test_the_report_names_what_ran() -> None:
    report = verify.check(
        "transformer.causal_attention", scaled_dot_product_attention, claims="transformer.causal-prefix"
    )
    assert any("flash" in name for name in report.kernels) and "kernels that ran: " in str(report)
    assert report.outcome == "undecided" and report.broken == []  # the fused kernel has no second derivatives


@pytest.mark.parametrize("subject", SUBJECTS)
def test_widths_of_keys_and_values_are_often_equal_where_sizes_are_large(subject: str) -> None:
    verify.subjects()
    sizes = block_sizes(profile_of(subject), 0)
    equal = [each for each in sizes if each["d_K"] == each["d_V"]]
    assert len(equal) >= 2 and len(equal) < len(sizes)


def test_long_rows_of_batches_are_compared_row_by_row() -> None:
    made = gate("transformer.batched_attention", scaled_dot_product_attention, dtypes=["float32"])
    point = next(iter(long_points(made.profile, made.settings)))
    truth = point.reference(made.standing.definition)
    assert truth is not None and point.axis == 2
    assert [name for name in truth.results if name.startswith("the value")] == [
        f"the value in row {row}" for row in (0, 1, 512, 1023, 1024)
    ]
