"""Warnings, of whatever package, never change a verdict: not in claims, and not at the gate."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.conftest import write_claim
from tests.loaded import run_pytest
from tests.test_cli import verify_anew
from verify.evidence.runner import warnings_only_warn
from verify.gate.checking import gate
from verify.gate.findings import SATISFIED

pytestmark = pytest.mark.kept(".")

WARN = "import warnings; warnings.warn('it will go', FutureWarning)"


def test_a_claim_whose_libraries_warn_holds_under_pytest_that_takes_warnings_for_errors(
    project: pytest.Pytester,
) -> None:
    write_claim(project.path / "demo_claims", "warned", before=WARN)
    options = ["-m", "theorem", "--effort", "quick", "-k", "warned", "-W", "error", "-p", "no:cacheprovider"]
    result = run_pytest(project, *options)
    result.assert_outcomes(passed=4, deselected=4)
    result.stdout.fnmatch_lines(["*1 holds*"])


def test_a_claim_whose_libraries_warn_holds_on_a_command_line_that_takes_warnings_for_errors(tmp_path: Path) -> None:
    write_claim(tmp_path / "demo_claims", "warned", before=WARN)
    ran = verify_anew(tmp_path, "run", "--effort", "quick", "--jobs", "1", PYTHONWARNINGS="error::FutureWarning")
    assert ran.returncode == 0 and "1 holds" in ran.stdout


def test_an_implementation_that_warns_is_judged_by_what_it_returns() -> None:
    def noisy(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        warnings.warn("it will go", FutureWarning, stacklevel=1)
        return torch.softmax(X @ W_Q @ W_K.T @ X.T / math.sqrt(W_Q.shape[1]), -1) @ X @ W_V

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        finding = gate("hessian.attention", noisy, claims="hessian.*jac*").run("definition", "float64")
    assert finding.status == SATISFIED


def test_filters_are_the_callers_again_afterwards() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with warnings_only_warn(), pytest.warns(UserWarning):
            warnings.warn("here it only warns", stacklevel=1)
        with pytest.raises(UserWarning):
            warnings.warn("here it is an error", stacklevel=1)


def test_warnings_that_the_caller_ignores_stay_ignored() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        with warnings_only_warn():
            warnings.warn("nobody hears it", stacklevel=1)
    assert not caught
