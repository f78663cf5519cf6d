"""Every symbol of a claim is defined, by the claim or by a table; a planted symbol without a definition is found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest

from tests.statements.defined_symbols import undefined
from tests.statements.introduced import introduced
from verify.report.notation import row_of, rows, symbols_of
from verify.report.symbols_in_latex import symbols
from verify.report.typed_formulas import as_latex
from verify.site.mathematics import mathml
from verify.vocabulary import Assumption, Claim, Definition, Equal, InputError, Paper, Shape, load

pytestmark = pytest.mark.kept

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
Matrix = Annotated[Any, Shape("n", "d")]


def identity(X: Matrix) -> Any:
    return X


def claim(statement: str, assumptions: Any = (), **options: Any) -> Claim:
    it = Claim(
        PAPER,
        "toy.a",
        "a",
        statement,
        Equal(),
        sizes={"n": (1, 2), "d": (1, 2)},
        name="toy",
        assumptions=assumptions,
        **options,
    )
    it.formula(identity)
    return it


@pytest.mark.parametrize(
    ("latex", "found"),
    [
        (r"\hat x_i", ["hat x_i"]),
        (r"\tilde{W}", ["tilde W"]),
        (r"\mathbf{W}_Q^{t}", ["W_Q^t"]),
        (r"W_Q^\top A^{(l)}", ["W_Q", "A^(l)"]),
        (r"{W_Q}^T", ["W_Q"]),
        (r"x'", ["x'"]),
        (r"x^\prime_i", ["x'_i"]),
        (r"F_{\text{pre}}^*", ["F_pre^*"]),
        (r"\dot\sigma_r(W)", ["dot sigma_r", "W"]),
        (r"\bar\lambda_V", ["bar lambda_V"]),
        (r"\sum_{i=1}^N c_i\Gamma_i", ["i", "N", "c_i", "Gamma_i"]),
        (r"\operatorname{diag}(\boldsymbol\beta)", ["diag", "beta"]),
        (r"\frac{\partial f}{\partial W_Q}", ["f", "W_Q"]),
        (r"\|x\|_F^2", ["x", "norm_F"]),
        (r"f\Big|_{x=0}", ["f", "x"]),
        (r"A^{-1}B^2C^{\top}", ["A", "B", "C"]),
        (r"\text{all words here}", []),
        (r"\mathbb R^{n\times d}", ["bb R^ntimesd"]),
        (r"\max_j x_j \exp 1 \log 2", ["j", "x_j"]),
    ],
)
def test_symbols_are_letters_with_their_accents_and_scripts(latex: str, found: list[str]) -> None:
    assert [str(symbol) for symbol in symbols(latex)] == found


@pytest.mark.parametrize(
    ("latex", "new"),
    [
        (r"\sum_{i=1}^N x_i", {"i"}),
        (r"\max_{u, v} f(u, v)", {"u", "v"}),
        (r"\lim_{t\to\infty} f(t)", {"t"}),
        (r"\forall\epsilon > 0", {"epsilon"}),
        (r"\int_0^1 e^{sA}\,ds", {"s", "d"}),
        (r"M := A + B", {"M"}),
        (r"g(s) \triangleq s^2", {"g", "s"}),
        (r"W \in \mathbb R^{n\times m}", {"W", "n", "m"}),
        (r"x, y \sim \mathcal N(0, 1)", {"x", "y"}),
        (r"a = M \text{ with } M = AB, c = 2d", {"M", "c"}),
        (r"\text{for every } t \text{ in } [0, 1]", {"t"}),
        (r"|A|M = 1,\ M = AB", {"M"}),  # used, then set equal
        (r"v = Ax:\ \|v\| \le 1", {"v"}),  # a condition in front
        (r"c > 0 \Rightarrow cA = 1", {"c"}),
    ],
)
def test_what_a_formula_introduces(latex: str, new: set[str]) -> None:
    assert introduced(latex) == new


@pytest.mark.parametrize(
    "latex",
    [
        r"M = A + B",  # the claim itself, not a definition
        r"A \le M",
        r"\text{with probability at least } \delta",
        r"\text{if } \gamma \le 1/C",
        r"M = 3: A = B",  # a value, of what is known
        r"\text{the norm of } M",
        r"A_M + x^p",
    ],
)
def test_a_mention_introduces_nothing(latex: str) -> None:
    assert introduced(latex) == set()


@pytest.mark.parametrize(
    ("typed", "latex"),
    [
        ("||W_Q||_2 <= lambda_Q", r"\|W_Q\|_2 \le  \lambda _Q"),
        ("X in R^{n x d}", r"X \in  \mathbb R^{n \times d}"),
        ("a matrix A is given", r"\text{a} \text{matrix} A \text{is} \text{given}"),
        ("see Lemma B.1", r"\text{see} \text{Lemma} "),
        ("x_hat of the layer's A (x) I", r"\hat{x} \text{of} \text{the} \text{layer} A \otimes  I"),
    ],
)
def test_typed_formulas_are_read(typed: str, latex: str) -> None:
    assert as_latex(typed) == latex


@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        (r"X = M", ["M"]),
        (r"X = c_i\Gamma_i", ["c_i", "Gamma_i"]),
        (r"\tilde X = \hat X", ["tilde X", "hat X"]),
        (r"X_{\text{pre}} = X^*", ["X_pre", "X^*"]),
        (r"X_M = X^p", ["X_M", "X^p"]),
        (r"\operatorname{frobnicate}(X) = 0", ["frobnicate"]),
    ],
)
def test_a_planted_symbol_is_found(statement: str, missing: list[str]) -> None:
    assert undefined(claim(statement)) == missing


@pytest.mark.parametrize(
    "statement",
    [
        r"X_{ij} = X^\top_{ji}",  # indices
        r"\sum_k X_{ik} = \max_j X_{ij}",
        r"\int_0^1 \exp(sX)\,ds = X",  # a differential and its variable
        r"\partial X = dX",
        r"X = M \text{ with } M = X + 0",
        r"\log\det X = n d",  # sizes of the input
    ],
)
def test_what_is_bound_or_an_input_does_not_fire(statement: str) -> None:
    assert undefined(claim(statement)) == []


def test_assumptions_and_notes_are_read_too() -> None:
    assert undefined(claim("X = X", [Assumption("tau_9 > 0", sizes=lambda sizes: True)])) == ["tau_9"]
    assert undefined(claim("X = X", note="It is at most $q^2 X$.")) == ["q"]
    assert undefined(claim("X = X", note="For every $q$ it is at most $q X$.")) == []
    assert undefined(claim("X = M", [Definition("M = X + 0, the input itself", by=identity)])) == []
    assert undefined(claim("X = M", note="Here $M = X$.")) == []


def test_no_symbol_of_any_claim_is_without_a_definition() -> None:
    missing = {claim.id: undefined(claim) for claim in load("theorems").values()}
    assert {claim_id: found for claim_id, found in missing.items() if found} == {}


def test_every_paper_has_a_table_and_each_row_says_where() -> None:
    papers = {claim.paper.key: claim.paper for claim in load("theorems").values()}
    for key, paper in papers.items():
        table = rows("theorems", key)
        assert table, f"no notation.yaml for {key}"
        if not paper.of_project:
            nowhere = [row.symbol for row in table if not row.where]
            assert len(nowhere) <= 4, f"{key}: {nowhere}"  # letters that all papers use, defined by none


def test_symbols_of_a_claim_are_rows_and_inputs() -> None:
    claims = load("theorems")
    found = {name: row for row in symbols_of(claims["hessian.thm-3.1-qq"]) for name in row.names}
    assert "first derivatives of the softmax" in found["Z_1"].meaning and found["Z_1"].where == "Theorem 3.1"
    assert found["W_K"].shape == "d_V × d_K, d_V × d_K, d_V × d_V" and "Z_2" not in found
    toy = symbols_of(claim("X = X"))
    assert [(row.symbol, row.meaning, row.shape) for row in toy] == [("X", "input", "n × d")]


@pytest.mark.parametrize(
    "data",
    [
        {"symbol": "x"},
        {"symbol": "x", "meaning": ""},
        {"symbol": "=", "meaning": "m"},
        {"symbol": "x", "meaning": "m", "unit": 1},
    ],
)
def test_a_row_that_is_none_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"row 3|one symbol in LaTeX"):
        row_of(data, "notation.yaml, row 3")


def test_a_symbol_stands_once_in_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "twice"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "notation.yaml").write_text("- {symbol: x, meaning: one}\n- {symbol: 'y, x', meaning: other}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match=r"each symbol once.*x"):
        rows("twice")


def test_every_row_can_be_shown() -> None:
    for key in ("", *{claim.paper.key for claim in load("theorems").values()}):
        for row in rows("theorems", key):
            assert mathml(row.symbol, inline=True) is not None, row.symbol
            assert "\\" not in row.meaning + row.shape + row.where, f"{key}: {row.symbol}"
