"""The gate in a fresh project: a ten-line test file, a table in pyproject.toml, options, and the command line."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import verify
from tests.loaded import run_pytest
from verify.cli import main
from verify.gate.table import entries_of, entry_of_text
from verify.vocabulary import InputError

pytestmark = pytest.mark.kept

LAYERS = """
    import math

    import torch


    def attention(X, W_Q, W_K, W_V):
        return torch.softmax(X @ W_Q @ W_K.T @ X.T / math.sqrt(W_Q.shape[1]), -1) @ X @ W_V


    def softmax(T):
        return torch.softmax(T, -1)


    def unscaled(X, W_Q, W_K, W_V):
        return torch.softmax(X @ W_Q @ W_K.T @ X.T, -1) @ X @ W_V
"""

TEST = """
    import verify
    from fresh_layers import {function}


    @verify.parametrize_with_theorems([("hessian.attention", {function})], claims="hessian.jacobian-key")
    def test_theorems(check):
        check()
"""


@pytest.fixture
def fresh(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project that has this package installed, and a module of attention layers."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    root = str(Path(verify.__file__).parent.parent)
    monkeypatch.setenv("PYTHONPATH", f"{pytester.path}:{root}")
    pytester.makepyfile(fresh_layers=textwrap.dedent(LAYERS))
    return pytester


def table(fresh: pytest.Pytester, entry: str) -> None:
    fresh.makepyprojecttoml(f'[tool.verify.subjects]\n"hessian.attention" = {entry}\n')


def test_ten_lines_pass_for_a_right_implementation(fresh):
    fresh.makepyfile(textwrap.dedent(TEST.format(function="attention")))
    # the forked process has loaded the tests before pytest can rewrite their assertions
    loaded = "ignore::pytest.PytestAssertRewriteWarning"
    run_pytest(fresh, "-W", "error", "-W", loaded).assert_outcomes(passed=14)


def test_ten_lines_fail_for_a_broken_one_and_say_why(fresh):
    fresh.makepyfile(textwrap.dedent(TEST.format(function="unscaled")))
    result = run_pytest(fresh, "-k", "float64")
    result.assert_outcomes(failed=7, deselected=7)
    result.stdout.fnmatch_lines(
        [
            "*broken: definition in float64*",
            "*X = torch.tensor(*",
            "*yours *",
            "*likely cause: the scale 1/sqrt(d_K) is missing*",
            "*hessian.jacobian-key*",
        ]
    )


def test_the_table_is_ignored_unless_asked_for(fresh):
    table(fresh, '{implementation = "fresh_layers:unscaled"}')
    fresh.makepyfile("def test_one():\n    pass\n")
    silent = run_pytest(fresh)
    silent.assert_outcomes(passed=1)
    assert "subjects" not in silent.stdout.str() and "verdict" not in silent.stdout.str()


def test_implementations_named_in_the_table_and_on_the_command_line(fresh):
    table(fresh, '{implementation = "fresh_layers:unscaled", claims = "hessian.*jac*"}')
    fresh.makepyfile("def test_one():\n    pass\n")
    result = run_pytest(
        fresh,
        "--subjects",
        "--subject",
        "hessian.softmax=fresh_layers:softmax",
        "-k",
        "definition or jacobian-key-float64",
    )
    result.assert_outcomes(failed=3, passed=3)
    result.stdout.fnmatch_lines(["*likely cause: the scale 1/sqrt(d_K) is missing*"])
    result.stdout.fnmatch_lines(["FAILED subjects::hessian.attention::hessian.jacobian-key-float64*"])


def test_a_run_in_which_nothing_was_decided_fails(fresh):
    """Derivatives cannot be asked of what leaves torch; its values can."""
    fresh.makepyfile(cut="import torch\n\ndef softmax(T):\n    return torch.softmax(T.detach(), -1)\n")
    fresh.makepyfile("def test_one():\n    pass\n")
    option = ("--subject", "hessian.softmax=cut:softmax", "-k")
    nothing = run_pytest(fresh, *option, "first-derivatives-float64")
    nothing.assert_outcomes(skipped=1, deselected=nothing.parseoutcomes()["deselected"])
    assert nothing.ret == pytest.ExitCode.TESTS_FAILED
    nothing.stdout.fnmatch_lines(["*nothing was decided about hessian.softmax; all of its checks were skipped*"])
    something = run_pytest(fresh, *option, "first-derivatives-float64 or definition-float64")
    assert something.parseoutcomes()["passed"] == 1 and something.ret == pytest.ExitCode.OK
    assert "nothing was decided" not in something.stdout.str()


@pytest.mark.long("four runs, each in a fork that loads all claims")
def test_a_run_that_names_an_implementation_and_selects_none_of_its_checks_fails(fresh):
    """The other tests pass, and say nothing of it; where a file has the option, that is said."""
    fresh.makepyfile("def test_one():\n    pass\n")
    option = ("--subject", "hessian.softmax=fresh_layers:softmax")
    said = "*nothing was decided about hessian.softmax; none of its checks was run*"
    for choice in (("-k", "test_one"), ("-m", "not theorem")):
        none = run_pytest(fresh, *option, *choice)
        assert none.parseoutcomes()["passed"] == 1 and none.ret == pytest.ExitCode.TESTS_FAILED
        none.stdout.fnmatch_lines([said])
    listed = run_pytest(fresh, *option, "-k", "test_one", "--collect-only")
    assert listed.ret == pytest.ExitCode.OK and "nothing was decided" not in listed.stdout.str()
    fresh.makeini(f"[pytest]\naddopts = {' '.join(option)}\n")
    configured = run_pytest(fresh, "-k", "test_one")
    assert configured.ret == pytest.ExitCode.OK
    configured.stdout.fnmatch_lines([said])


@pytest.mark.kept(".")
@pytest.mark.long("a worker of pytest-xdist imports torch")
def test_a_wrong_option_is_a_usage_error(fresh):
    fresh.makepyfile("def test_one():\n    pass\n")
    result = run_pytest(fresh, "--subject", "hessian.attention=fresh_layers:nothing")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*implementation: expected a callable*"])
    shared = run_pytest(fresh, "--subject", "hessian.attention=fresh_layers:nothing", "-n", "1")
    shared.assert_outcomes(failed=1)
    shared.stdout.fnmatch_lines(["*implementation: expected a callable*"])


def test_the_command_line_reports_and_sets_its_exit_status(tmp_path, capsys, monkeypatch):
    (tmp_path / "fresh_layers.py").write_text(textwrap.dedent(LAYERS))
    monkeypatch.chdir(tmp_path)
    options = ["--claims", "hessian.*jac*", "--dtype", "float64"]
    assert main(["check", "hessian.attention", "fresh_layers:attention", *options]) == 0
    assert "hessian.attention implemented by fresh_layers.attention: ok" in capsys.readouterr().out
    entry = '{implementation = "fresh_layers:unscaled", claims = "hessian.*jac*", dtypes = ["float64"]}'
    (tmp_path / "pyproject.toml").write_text(f'[tool.verify.subjects]\n"hessian.attention" = {entry}\n')
    assert main(["check"]) == 1
    assert "likely cause: the scale 1/sqrt(d_K) is missing" in capsys.readouterr().out
    assert main(["check", "hessian.attention"]) == 2
    assert main(["subjects", "osa.stiefel*"]) == 0
    assert "osa.alg-1" in capsys.readouterr().out
    assert main(["subjects", "nothing"]) == 2


def test_entries_of_the_table_are_checked(tmp_path):
    assert entries_of(tmp_path) == []
    path = tmp_path / "pyproject.toml"
    path.write_text('[tool.verify.subjects]\na = "m:f"\nb = {implementation = "m:g", effort = "ci"}\n')
    assert entries_of(tmp_path) == [("a", {"implementation": "m:f"}), ("b", {"implementation": "m:g", "effort": "ci"})]
    for wrong in ("1", "{adapter = 'm:f'}", "{implementation = 'm:f', speed = 2}"):
        path.write_text(f"[tool.verify.subjects]\na = {wrong}\n")
        with pytest.raises(InputError, match=r"tool\.verify\.subjects\.a"):
            entries_of(tmp_path)
    with pytest.raises(InputError, match="--subject: expected SUBJECT="):
        entry_of_text("hessian.attention")
    assert entry_of_text("a=m:f") == ("a", {"implementation": "m:f"})


def test_a_subject_may_have_several_implementations_and_adapters_take_options(tmp_path, monkeypatch, capsys):
    (tmp_path / "several.py").write_text(
        "import torch\n"
        "from torch.nn.functional import scaled_dot_product_attention as right\n"
        "def wrong(q, k, v):\n    return torch.softmax(q @ k.transpose(-1, -2), -1) @ v\n"
    )
    kernel = 'adapter = {call = "theorems.adapters:attention_kernel", layout = "HNd"}, claims = "hessian.lem-B.1"'
    (tmp_path / "pyproject.toml").write_text(
        '[tool.verify.subjects]\n"hessian.attention" = [\n'
        f'  {{implementation = "several:right", {kernel}}},\n  {{implementation = "several:wrong", {kernel}}},\n]\n'
    )
    assert [entry["implementation"] for _, entry in entries_of(tmp_path)] == ["several:right", "several:wrong"]
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 1
    told = capsys.readouterr().out
    assert told.count("through theorems.adapters.attention_kernel(hessian.attention, HNd, scale: own)") == 2
    assert told.count(": ok") == 1 and "likely cause: the scale 1/sqrt(d_K) is missing" in told
    path = tmp_path / "pyproject.toml"
    for wrong, message in (
        ("[]", "at least one implementation"),
        ('{implementation = "m:f", effort = {}}', "effort: exp"),
    ):
        path.write_text(f"[tool.verify.subjects]\na = {wrong}\n")
        with pytest.raises(InputError, match=message):
            entries_of(tmp_path)
    with pytest.raises(InputError, match=r"adapter: expected options that theorems\.adapters:attention_kernel takes"):
        verify.check("hessian.attention", print, adapter={"call": "theorems.adapters:attention_kernel", "heads": 2})
    with pytest.raises(InputError, match=r"adapter\.call: expected a callable"):
        verify.check("hessian.attention", print, adapter={"layout": "HNd"})
