"""For maintainers: reports in JSON, failures that are expected, implementations by the environment, what was not exercised."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import verify
from tests.efforts import whole_or_part
from verify.cli import main
from verify.gate.checking import gate
from verify.gate.expected import Expected
from verify.gate.findings import (
    BROKEN,
    COMPARISONS,
    LEFT_OUT,
    SATISFIED,
    UNCHECKABLE,
    UNREACHED,
    Finding,
    SubjectReport,
)
from verify.gate.standing import Standing
from verify.gate.subject_errors import MOVED, Raised, WrongResult, described
from verify.vocabulary import InputError

pytestmark = pytest.mark.kept

LAYERS = "import torch\ndef softmax(T):\n    return torch.softmax(T, -1)\ndef wrong(T):\n    return 2 * torch.softmax(T, -1)\n"
FEW = ["--claims", "hessian.lem-B.1", "--dtype", "float64"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_softmax.py").write_text(LAYERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_reports_in_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "hessian.softmax", "own_softmax:wrong", *FEW, "--json"]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert report["outcome"] == "broken" and report["broken"][0] == "definition"
    assert report["causes"] == ["the result has a constant factor 2"]
    assert {"check", "dtype", "status", "residual", "inputs"} <= set(report["findings"][0])
    assert "devices other than cpu" in report["not_exercised"]


def test_numbers_that_json_does_not_know_are_text() -> None:
    finding = Finding("definition", "", "float64", BROKEN, residual=float("inf"), yours=[float("nan"), 1.0])
    found = json.loads(json.dumps(SubjectReport("s", "f", [finding]).as_dict(), allow_nan=False))
    assert found["findings"][0]["residual"] == "inf" and found["findings"][0]["yours"] == ["nan", 1.0]


def test_expected_failures_are_held_strictly(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = here / "expected.txt"
    listed.write_text("# known\nhessian.softmax  definition  twice as large\nhessian.softmax  hessian.*\n")
    options = [*FEW, "--expected-failures", str(listed)]
    assert main(["check", "hessian.softmax", "own_softmax:wrong", *options]) in (0, 1)
    assert "definition is broken, as expected" in capsys.readouterr().out
    listed.write_text("hessian.softmax definition\n")
    assert main(["check", "hessian.softmax", "own_softmax:softmax", *options]) == 1
    assert "was expected to break, and is satisfied: take it from the list" in capsys.readouterr().out
    for line in (
        "hessian.softmax",
        "hessian.softmax definitoin",
        "hessian.softmx definition",
        "hessian.softmax osa.thm-1",
    ):
        listed.write_text(f"{line}\n")
        assert main(["check", "hessian.softmax", "own_softmax:softmax", *options]) == 2, line
    listed.write_text("transformer.* sizes\n")  # of another subject, which is not checked here
    assert main(["check", "hessian.softmax", "own_softmax:softmax", *options]) in (0, 3)


def finding(check: str, status: str) -> Finding:
    return Finding(check, "", "float64", status)


@pytest.mark.parametrize(
    ("findings", "pairs", "outcome"),
    [
        ([finding("a", BROKEN)], [("s", "a")], "ok"),
        ([finding("a", BROKEN), finding("b", BROKEN)], [("s", "a")], "broken"),
        ([finding("a", SATISFIED)], [("s", "a")], "broken"),
        ([finding("a", BROKEN), finding("b", UNCHECKABLE)], [("s", "a")], "undecided"),
        ([finding("a", UNCHECKABLE)], [("s", "a")], "undecided"),
        ([finding("a", LEFT_OUT)], [("s", "a")], "undecided"),
        ([finding("a", UNREACHED)], [("s", "b")], "undecided"),
        ([], [("s", "a")], "undecided"),
        ([finding("a", SATISFIED)], [("other", "a")], "ok"),
        ([finding("a", BROKEN)], [], "broken"),
    ],
)
def test_what_a_report_comes_to_with_failures_that_are_expected(
    findings: list[Finding], pairs: list[tuple[str, str]], outcome: str
) -> None:
    assert Expected(tuple(pairs)).judge(SubjectReport("s", "f", findings))[0] == outcome


def test_a_file_of_expected_failures_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--expected-failures: expected a file that can be read"):
        Expected.of(tmp_path / "nothing")


def test_the_implementation_may_stand_in_the_environment(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OWN_SOFTMAX", "own_softmax:wrong")
    assert main(["check", "hessian.softmax", "$OWN_SOFTMAX", *FEW]) == 1
    monkeypatch.delenv("OWN_SOFTMAX")
    assert main(["check", "hessian.softmax", "$OWN_SOFTMAX", *FEW]) == 2
    assert "the environment variable OWN_SOFTMAX" in capsys.readouterr().err


def test_a_report_says_what_was_not_exercised() -> None:
    report = verify.check("hessian.softmax", lambda T: torch.softmax(T, -1), claims="hessian.lem-B.1", dtypes=["float64"],
                          sizes={"L": (1, 20)} if "(L" in verify.subjects()["hessian.softmax"].shapes["T"] else None)  # fmt: skip
    told = "; ".join(report.not_exercised)
    for part in ("precisions float32, float16 and bfloat16", "devices other than cpu", "widths beyond 129", "more than 1025 tokens",
                 "derivatives beyond order 2", "tensors that are sparse, nested or quantised"):  # fmt: skip
        assert part in told, told
    assert f"not exercised: {told}" in str(report)
    kernel = gate("transformer.batched_attention", torch.nn.functional.scaled_dot_product_attention)
    assert {"d_K beyond 256", "d_V beyond 256", "other widths beyond 129"} <= set(kernel.not_exercised({}))
    for dtypes, rest in (
        (("float64", "float32", "bfloat16"), "precision float16"),
        (("float64", "float32"), "precisions float16 and bfloat16"),
    ):
        assert rest in gate("hessian.softmax", lambda T: torch.softmax(T, -1), dtypes=dtypes).not_exercised({})
    assert "long sequences" in gate("transformer.layer_norm", torch.nn.LayerNorm, dtypes=["float64"]).not_exercised({})


def test_a_report_names_the_numbers_by_which_derivatives_are_not_compared() -> None:
    def capped(Q: Any, K: Any, V: Any, M: Any, c: Any) -> Any:
        T = c * torch.tanh(Q @ K.T / Q.shape[1] ** 0.5 / c)
        return torch.softmax(T.masked_fill(~M, float("-inf")), -1) @ V

    def head(constant: bool) -> Any:
        def layer(X: Any, W_Q: Any, W_K: Any, W_V: Any, beta: Any) -> Any:
            return torch.softmax((float(beta) if constant else beta) * (X @ W_Q) @ (X @ W_K).T, -1) @ X @ W_V

        return layer

    for subject, layer, constant in (
        ("transformer.capped_attention", capped, "c"),
        ("dynamics.attention_head", head(True), "beta"),
        ("dynamics.attention_head", head(False), None),
        ("hessian.softmax", lambda T: torch.softmax(T, -1), None),
    ):
        told = [part for part in gate(subject, layer, dtypes=["float64"]).not_exercised({}) if "constant" in part]
        assert told == ([f"derivatives by {constant}, which is a constant"] if constant else []), subject

    def of_one_precision(X: Any, W_Q: Any, W_K: Any, W_V: Any, beta: Any) -> Any:
        assert X.dtype is torch.float32
        return head(True)(X, W_Q, W_K, W_V, beta)

    report = gate("dynamics.attention_head", of_one_precision, dtypes=["float32"])
    assert "derivatives by beta, which is a constant" in report.not_exercised({})


class Projected(torch.nn.Module):
    """A module with a parameter, on the CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3, 3))

    def forward(self, T: torch.Tensor) -> torch.Tensor:
        return torch.softmax(T, -1) + self.weight


@pytest.mark.parametrize(
    "layer",
    [lambda T: torch.softmax(T.masked_fill(torch.ones(3, 3, dtype=torch.bool).triu(1), -torch.inf), -1), Projected()],
)
def test_what_is_on_another_device_is_told_what_to_do(layer: Callable[..., torch.Tensor]) -> None:
    """Torch's meta device stands for an accelerator: what is made on the CPU does not go with its tensors."""
    verify.subjects()
    with pytest.raises(Raised, match=r"device=X.device where it makes a tensor, and module.to\(device\) for a module"):
        Standing("hessian.softmax", layer)(torch.ones(3, 3, device="meta"))


def test_a_result_on_another_device_is_told_what_to_do() -> None:
    verify.subjects()
    T = torch.ones(3, 3, device="meta")
    message = r"the device of the arguments, meta; got cpu: its result has to be moved there, by .to\(X.device\)"
    # tensors without entries cannot be compared with what they were
    standing = Standing("hessian.softmax", lambda T: torch.ones(3, 3))
    with pytest.raises(WrongResult, match=message):
        standing._accepted(standing.implementation(T), {"T": T}, {"T": T})


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Expected all tensors to be on the same device, but got mat2 is on cpu, different from other tensors", True),
        ("expected self and mask to be on the same device, but got mask on cpu and self on cuda:0", True),
        ("Tensor on device cpu is not on the expected device meta!", True),
        ("shape '[2, 3]' is invalid for input of size 4", False),
        ("the device has no memory left", False),
    ],
)
def test_only_what_is_on_several_devices_is_told_to_move(line: str, told: bool) -> None:
    assert (MOVED in described(RuntimeError(line))) is told


def test_a_report_names_the_kernels_that_did_not_run() -> None:
    made = gate("transformer.causal_attention", torch.nn.functional.scaled_dot_product_attention)
    assert "kernels efficient, cudnn" in made.not_exercised({"flash_attention_for_cpu": 3, "attention_math": 1})
    assert "fused kernels: none ran" in made.not_exercised({"attention_math": 1})
    assert not any("kernels" in told for told in made.not_exercised({}))
    halves = gate("transformer.causal_attention", torch.nn.functional.scaled_dot_product_attention, dtypes=["bfloat16"])
    assert "second and forward derivatives in half precision" in halves.not_exercised({})


@pytest.mark.kept(".")
@pytest.mark.long("another process imports torch, and its compiler, as torch.func does")
def test_the_gate_does_without_what_tests_and_texts_need(pytestconfig: pytest.Config) -> None:
    """torch, numpy and flint, which encloses definitions, are enough; sympy and mpmath come with torch.

    Below effort deep not in forward mode, for which torch imports its compiler, and not at large points.
    """
    some = whole_or_part(pytestconfig, list(COMPARISONS), ["first-derivatives", "second-derivatives"])
    absent = ("hypothesis", "jax", "jaxtyping", "matplotlib", "pylatexenc", "pytest", "scipy", "transformers", "yaml")
    code = f"""
import sys
sys.modules.update(dict.fromkeys({absent}))
import torch, verify
from verify.gate.checking import Gate
every = Gate.checks.fget
some = {["definition", "hessian.lem-B.1", *some]}
Gate.checks = property(lambda made: [cell for cell in every(made) if cell[0] in some])
report = verify.check("hessian.softmax", lambda T: torch.softmax(T, -1), claims="hessian.lem-B.1", dtypes=["float64"])
assert report.ok and report.satisfied == ["hessian.lem-B.1"], report
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
