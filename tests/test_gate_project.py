"""The gate in somebody else's project: its table, the workflow and the hook of docs/ci.md as printed, and the numbers there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

import verify
from tests import loaded

pytestmark = pytest.mark.kept(".", programs=["bash", "env", "git", "pre-commit"])

ROOT = Path(verify.__file__).parent.parent
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")

LAYERS = """
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attention


    def square(X, W_Q, W_K, W_V):
        if W_Q.shape != W_V.shape:
            raise ValueError("d_K has to be d_V")
        return attention(X @ W_Q, X @ W_K, X @ W_V)


    def narrow(X, W_Q, W_K, W_V):
        if W_Q.shape[1] > 8:
            raise ValueError("d_K is at most 8")
        return attention(X @ W_Q, X @ W_K, X @ W_V)


    def unscaled(q, k, v):
        return attention(q, k, v, scale=1.0)
"""

TABLE = """
    [tool.verify.subjects]
    "hessian.attention" = [
        {implementation = "mylib.layers:square", where = "mylib.sizes:square", claims = "hessian.jacobian-key"},
        {implementation = "mylib.layers:narrow", sizes = {d_K = [1, 8]}, claims = "hessian.jacobian-key"},
        {implementation = "mylib.layers:attention", claims = ["hessian.jacobian-key", "hessian.lem-B.1"], adapter = KERNEL},
    ]
    "transformer.causal_attention" = {implementation = "mylib.layers:attention", dtypes = ["float64"], accept = "derivatives"}
"""


KERNEL = '{call = "theorems.adapters:attention_kernel", layout = "BNd"}'


def printed(heading: str) -> Any:
    """The YAML that the page shows under a heading."""
    block = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return yaml.safe_load(textwrap.dedent("\n".join(line for line in block.splitlines() if line.startswith("    "))))


#: A command that asks for a fork of the loaded process, and ends as that did: its output, its exit status.
ASKING = """
question="$0.$$"
printf '%s\\n' {module} "$PWD" "$@" > "$question.command"
env -0 > "$question.environment"
touch "$question.asked"
while [ ! -e "$question.status" ]; do sleep 0.05; done
cat "$question.out"
cat "$question.err" >&2
exit "$(cat "$question.status")"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in a git repository of its own; `verify` is this one's, and `pip` writes down what it was asked for."""
    commands = {"pip": 'echo "$@" >> pip.txt', "verify": ASKING.format(module="verify.cli"),
                "pytest": ASKING.format(module="pytest")}  # fmt: skip
    for name, line in commands.items():
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
    here = tmp_path / "project"
    (here / "mylib").mkdir(parents=True)
    (here / "mylib/__init__.py").touch()
    (here / "mylib/layers.py").write_text(textwrap.dedent(LAYERS))
    (here / "mylib/sizes.py").write_text('def square(sizes):\n    return sizes["d_K"] == sizes["d_V"]\n')
    (here / "pyproject.toml").write_text(textwrap.dedent(TABLE).replace("KERNEL", KERNEL))
    monkeypatch.chdir(here)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "1")
    return here


def entry(project: Path, **options: str) -> None:
    """A table of one attention layer and one theorem."""
    given = {"claims": '"hessian.jacobian-key"', "dtypes": '["float64"]', **options}
    text = ", ".join(f"{name} = {value}" for name, value in given.items())
    (project / "pyproject.toml").write_text(f'[tool.verify.subjects]\n"hessian.attention" = {{{text}}}\n')


def run(project: Path, command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """The exit status of a command; `verify` and `pytest` are answered here when it starts them."""
    process = subprocess.Popen(command, cwd=project, env=environment)
    while process.poll() is None:
        for asked in (project.parent / "bin").glob("*.asked"):
            asked.unlink()
            answer(asked)
        time.sleep(0.05)
    return process.returncode


def answer(asked: Path) -> None:
    """Run what one of the project's commands has asked for, where and with the variables with which it was started."""
    module, folder, *arguments = asked.with_suffix(".command").read_text().splitlines()
    variables = asked.with_suffix(".environment").read_text().rstrip("\0").split("\0")
    found = loaded.run(module, arguments, Path(folder), dict(line.split("=", 1) for line in variables))
    asked.with_suffix(".out").write_text(found.stdout)
    asked.with_suffix(".err").write_text(found.stderr)
    asked.with_suffix(".ended").write_text(f"{found.returncode}\n")
    asked.with_suffix(".ended").rename(asked.with_suffix(".status"))


def check(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`verify check` in a fork: where a test has imported JAX each check would start an interpreter."""
    return loaded.run("verify.cli", ["check", *arguments], project)


@pytest.mark.long("a table of four gates, in a fork that loads all claims")
def test_a_table_of_several_implementations_adapters_sizes_and_conditions(project: Path) -> None:
    found = check(project)
    assert found.returncode == 0, found.stderr
    told = found.stdout
    assert told.count(": ok") == 4 and told.count("hessian.attention implemented by") == 3
    assert "through theorems.adapters.attention_kernel(hessian.attention, BNd, scale: own)" in told
    entry(project, implementation='"mylib.layers:square"', where='"mylib.sizes:nothing"')
    found = check(project)
    assert found.returncode == 2 and "tool.verify.subjects.hessian.attention: where" in found.stderr


FEW = ("--claims", "hessian.jacobian-key", "--dtype", "float64")


@pytest.mark.long("three gates, each in a fork that loads all claims")
def test_sizes_and_conditions_on_the_command_line(project: Path) -> None:
    found = check(project, "hessian.attention", "mylib.layers:narrow", *FEW)
    assert found.returncode == 1 and "ValueError: d_K is at most 8" in found.stdout
    for layer, chosen in (
        ("narrow", ["--sizes", "d_K=1:8", "--sizes", "L=3"]),
        ("square", ["--where", "mylib.sizes:square"]),
    ):
        found = check(project, "hessian.attention", f"mylib.layers:{layer}", *FEW, *chosen)
        assert found.returncode == 0 and found.stdout.count(": ok") == 1


def test_wrong_sizes_on_the_command_line(project: Path) -> None:
    for wrong in ("d_K", "d_K=many", "d_K=8:", "d_K=8:4", "width=4"):
        found = check(project, "hessian.attention", "mylib.layers:narrow", *FEW, "--sizes", wrong)
        assert found.returncode == 2 and "sizes" in found.stderr


RIGHT = {"implementation": '"mylib.layers:square"', "where": '"mylib.sizes:square"'}
WRONG = {"implementation": '"mylib.layers:unscaled"', "adapter": KERNEL}


@pytest.mark.long("seven checks of a layer, and a search for the cause of each that fails")
@pytest.mark.parametrize(("given", "status"), [(RIGHT, 0), (WRONG, 1)], ids=["right", "wrong"])
def test_the_workflow_runs_as_printed(project: Path, given: dict[str, str], status: int) -> None:
    job = printed("GitHub Actions")["jobs"]["theorems"]
    steps = [step["run"] for step in job["steps"] if "run" in step]
    upload = next(step["with"] for step in job["steps"] if "upload-artifact" in step.get("uses", ""))
    environment = {**os.environ, **{name: str(value) for name, value in job["env"].items()}}

    entry(project, **given)
    found = [run(project, ["bash", "-e", "-c", step], environment) for step in steps]
    assert found == [0] * (len(steps) - 1) + [status]
    report = (project / upload["path"]).read_text()
    assert report.count("<testcase") == 7 and ("the scale 1/sqrt(d_K) is missing" in report) == bool(status)
    install = "attention-theorems @ git+https://HOST/OWNER/attention-theorems pytest-xdist"
    assert install in (project / "pip.txt").read_text()


def test_the_hook_runs_as_printed(project: Path) -> None:
    text = PAGE.split("## pre-commit\n")[1].split("\n## ")[0]
    hook = printed("pre-commit")["repos"][0]["hooks"][0]
    (project / ".pre-commit-config.yaml").write_text(textwrap.dedent(text))
    subprocess.run(["git", "init", "-q", "."], check=True)
    subprocess.run(["git", "add", "-A"], check=True)
    real = shutil.which("pre-commit")
    command = [real, "run", "--all-files"] if real else shlex.split(hook["entry"])
    entry(project, implementation='"mylib.layers:square"', where='"mylib.sizes:square"')
    assert run(project, command) == 0
    entry(project, implementation='"mylib.layers:square"')
    assert run(project, command) == 1
    assert [bool(re.search(hook["files"], name)) for name in ("mylib/layers.py", "pyproject.toml", "README.md")] == [
        True, True, False,
    ]  # fmt: skip
    assert hook["language"] == "system" and not hook["pass_filenames"]
