"""Shared by the tests: pytester, a small package of claims in a temporary folder, and a report with its web site."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.made_up_evidence import made_up, with_links, written
from tests.shared import made_once
from verify.evidence.store import EvidenceWriter
from verify.report import Report, build, provenance
from verify.vocabulary import load

pytest_plugins = ["pytester"]

SOUND = """
    from __future__ import annotations
    from typing import Annotated, Any
    from verify.vocabulary import Claim, Equal, Paper, Shape

    PAPER = Paper("demo", "A demonstration", "nobody", "row-major")
    A_mn = Annotated[Any, Shape("m", "n")]
    B_nm = Annotated[Any, Shape("n", "m")]

    CLAIM = Claim(PAPER, "demo.{name}", label="Eq. ({name})", name="transpose of a product",
                  statement="(AB)^T = B^T A^T", relation=Equal(), sizes={{"m": (1, 3), "n": (1, 4)}}, exact=True)

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


#: Claims of every relation, among them a theorem whose proof is refuted; with what they link to, the site of the tests.
ON_THE_SITE = (
    "convergence.lemma-1", "convergence.lemma-11", "dynamics.prop-4.1", "dynamics.prop-5.1", "hessian.rem-3.1-z1",
    "osa.alg-1", "osa.cost-ssa", "osa.gradient-through-qr-rank-deficient", "osa.ns-convergence", "skipless.eq-17",
    "skipless.eq-37",
)  # fmt: skip


@pytest.fixture(scope="session")
def of_no_repository() -> Iterator[None]:
    """Reports name the same commit whatever the state of the repository, which is no input of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provenance, "_commit", lambda package: "0123456789abcdef0123456789abcdef01234567+")
        yield


@pytest.fixture(scope="session")
def full_report(of_no_repository: None, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A report of those claims, as if every check had upheld its claim."""
    claims = with_links(load(), ON_THE_SITE)
    recorded = made_once(
        tmp_path_factory, "evidence_of_the_site", lambda folder: EvidenceWriter(folder).append(*made_up(claims))
    )
    return build(claims, recorded)


@pytest.fixture(scope="session")
def site(full_report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That report's folder, with the site and the machine-readable forms."""
    return made_once(tmp_path_factory, "site", lambda folder: written(full_report, folder))


@pytest.fixture(scope="session")
def compiled_rocq() -> Path:
    """The theory of `rocq`, compiled: once for its sources, in two minutes, which are those of no test."""
    found: Path = importlib.import_module("theory").compiled_theory("ExponentialRules", "Iterates", "Matrices")
    return found
