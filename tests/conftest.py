"""Shared by the engine's tests: pytester, and a small package of claims in a temporary folder."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SOUND = """
    from __future__ import annotations
    from typing import Annotated, Any
    from verify.claims import Claim, Paper
    from verify.relations import Equal
    from verify.shapes import Shape

    PAPER = Paper("demo", "A demonstration", "nobody", "row-major")
    A_mn = Annotated[Any, Shape("m", "n")]
    B_nm = Annotated[Any, Shape("n", "m")]

    CLAIM = Claim(PAPER, "demo.{name}", label="Eq. ({name})", statement="(AB)^T = B^T A^T", relation=Equal(),
                  sizes={{"m": (1, 3), "n": (1, 4)}}, exact=True)

    @CLAIM.formula
    def product_transposed(A: A_mn, B: B_nm) -> Any:
        return {formula}

    @CLAIM.oracle
    def transposed_product(A: A_mn, B: B_nm) -> Any:
        {before}
        return (A @ B).T

    @CLAIM.mutant("doubled")
    def _(A: A_mn, B: B_nm) -> Any:
        return 2 * (B.T @ A.T)

    @CLAIM.mutant("not transposed")
    def _(A: A_mn, B: B_nm) -> Any:
        return A @ B + A.sum()
"""


def write_claim(package: Path, name: str, formula: str = "B.T @ A.T", before: str = "pass") -> None:
    """A module of `package` with one claim, sound unless told otherwise."""
    package.mkdir(exist_ok=True)
    (package / "__init__.py").touch()
    source = textwrap.dedent(SOUND.replace("{before}", before)).format(name=name, formula=formula)
    (package / f"{name.replace('-', '_')}.py").write_text(source)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project whose package `demo_claims` holds one sound claim, `demo.sound`."""
    write_claim(pytester.path / "demo_claims", "sound")
    pytester.makeini("[pytest]\nverify_packages = demo_claims\ntestpaths = demo_claims\njunit_family = xunit2\n")
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return pytester
