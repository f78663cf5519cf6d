"""Appendices C.5 and C.6: alpha under LeCun, He and NTK initialisation, attention at tau_0 = d_m^{-1/2} and 1/d_m.

alpha cannot grow with the number of samples; attention becomes uniform at tau_0 = 1/d_m, not at d_m^{-1/2}.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import ValueWeights
from theorems.convergence.part_c_1_lemmas.constants import stacked
from theorems.convergence.part_c_3_theorem_1.minimum_eigenvalue import expected_gram, smallest_eigenvalue
from theorems.convergence.part_d_2_minimum_eigenvalue.limiting_attention import first_attention
from theorems.convergence.settings import WIDTHS, Features, Hidden, Scale, Tokens, Width, drawn
from verify.oracles import standard_normal
from verify.matrix import (
    basis_vector, frobenius_norm, ones, rational, relu, spectral_norm, symmetric_eigenvalues, total, trace,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Construction, Definition, Doubt, PowerRate, TendsTo


def _for_both_schemes(Phi: Any, d_m: int, of_spectrum: Any = smallest_eigenvalue) -> Any:
    value = of_spectrum(expected_gram(Phi, 1))
    return stacked([value * rational(d_m, Phi.shape[1]), value])


def half_of_printed_orders(Phi: Features, c: Hidden, d_m: Width) -> Any:
    order = c * rational(Phi.shape[0], 2 * Phi.shape[1])
    return stacked([order * d_m, order])


C5 = Claim(CONVERGENCE, "convergence.c5-alpha", label="C.5", name="hidden-layer singular value by initialisation",
    statement=r"""\alpha^2=\lambda_{\min}(\hat F_{pre}\hat
        F_{pre}^\dagger)\ge\tau_1^2d_m\lambda_0/4\ge\tau_1^2\eta_Vd_m\Omega(N/d);\ \text{for LeCun initialization and He
        initialization: }\alpha^2\ge\Omega(d_mN/d)\text{ while for NTK initialization: }\alpha^2\ge\Omega(N/d)""",
    assumptions=[
        Definition("LeCun and NTK initialisation of Table 1", by=_for_both_schemes),
        Definition(
            "with probability at least 1/2, so that E alpha^2 is at least half of the bound", by=half_of_printed_orders
        ),
        Assumption("c > 0, the constant hidden in Omega", positive=lambda c: c),
    ],
    relation=AtMost(ascent=False, signed=True), sizes={"N": (2, 5), "d": (1, 2), "d_m": (1, 8)},
    where=lambda sizes: sizes["N"] > sizes["d"], expects="refuted", severity="error",
    correction="convergence.c5-alpha-bounded",
    doubt=Doubt(r"\hat{F}_{\text{pre}}^{\dagger}", "A dagger stands where Eqs. (47) and (48) have the transpose."),
    note=r"""$\lambda_0 \ge \eta_V \Omega(N/d)$ is Lemma 18, which is false: $\alpha^2$ is bounded in $N$
        (convergence.c5-alpha-bounded). From below there is $\tau_1^2 d_m \lambda_0 / 4$ with the $\lambda_0$ of the
        given samples, for one token and the widths of convergence.eq-48 and convergence.eq-60-61-scaled. Besides,
        $\eta_V = 1/d$ was lost for LeCun and He, where $\tau_1^2 \eta_V d_m N/d = d_m N/d^2$; and $\alpha$ belongs to
        $F_{pre}$, which the text before Eq. (47) fails to reduce to its first token. For NTK the order $\tau_1^2 d_m =
        1$ in the width is right.""")  # fmt: skip


@C5.formula
def expected_alpha_squared_at_most(Phi: Features, d_m: Width) -> Any:
    """tau_1^2 d_m lambda_0, an upper bound of E lambda_min(F F^T): LeCun, then NTK; shape (2,) (Appendix C.5)."""
    return _for_both_schemes(Phi, d_m)


C5.oracle(half_of_printed_orders)
C5.inputs(drawn(Phi=Features, c=Hidden, d_m=Width))
C5.mutant("trace for smallest eigenvalue", of_spectrum=trace)
C5.mutant("largest eigenvalue", of_spectrum=lambda G: symmetric_eigenvalues(G)[-1])
C5.counterexample("d = 1, features 1, -1, 1, d_m = 64, hidden constant 10^-9: alpha = 0 at every width",
    Phi=[[1], [-1], [1]], c="1/1000000000", d_m=64)  # fmt: skip


C5_BOUNDED = Claim(CONVERGENCE, "convergence.c5-alpha-bounded", label="C.5, the bound from above",
    statement=r"""\lambda_{\min}(\hat F_{pre}\hat F_{pre}^\top)\le\tfrac1N\tau_1^2\|W_V\|_2^2\|\Phi\|_F^2""",
    name="hidden-layer singular value, upper bound", relation=AtMost(), sizes={"N": (1, 4), "d": (1, 3), "d_m": (1, 4)},
    all_sizes=True, corrects="convergence.c5-alpha", of_project=True,
    note=r"""Under Assumption 1 no row of $\Phi$, an average of tokens, is longer than $\sqrt{d_s} C_x$. So the bound is
        at most $\tau_1^2 \|W_V\|_2^2 d_s C_x^2$: $\alpha^2$ cannot grow with the number of samples.""")  # fmt: skip


@C5_BOUNDED.formula
def mean_square_of_features(Phi: Features, W_V: ValueWeights, tau_1: Scale) -> Any:
    """tau_1^2 ||W_V||_2^2 ||Phi||_F^2 / N, a scalar."""
    return (tau_1 * spectral_norm(W_V) * frobenius_norm(Phi)) ** 2 / Phi.shape[0]


@C5_BOUNDED.oracle
def eigenvalue_of_first_layer(Phi: Features, W_V: ValueWeights, tau_1: Scale) -> Any:
    F = relu(Phi @ W_V.T) * tau_1
    return smallest_eigenvalue(F @ F.T)


C5_BOUNDED.mutant("tau_1^4", "tau_1 -> tau_1 * tau_1")
C5_BOUNDED.mutant("half of it, the expectation", "Phi.shape[0] -> 2 * Phi.shape[0]")


def _lecun_product(X: Any, width: int, generator: Any) -> Any:
    """W_Q^T W_K for weights of variance 1/d, shape (d, d)."""
    d = X.shape[1]
    W_Q, W_K = standard_normal(generator, X, 2, width, d)
    return W_Q.T @ W_K * rational(1, d)


LECUN = Definition("LeCun initialisation: entries of W_Q and W_K independent N(0, 1/d)", by=_lecun_product)

C6 = Claim(CONVERGENCE, "convergence.c6-beta", label="C.6", name="attention of wide networks, inverse-root scaling",
    statement=r"""\|\beta_{1,k}\|_2^2\ge1/d_s;\ \text{for the case of }\tau_0=d_m^{-1/2}\text{ scaling, when the width
        is large enough, the value inside the softmax tends to zero, as a result }\|\beta_{1,k}\|_2^2\approx1/d_s""",
    assumptions=[LECUN],
    relation=TendsTo(WIDTHS, PowerRate(0.5), instances=2), sizes={"d_s": (2, 3), "d": (1, 3)}, expects="refuted",
    severity="slip", correction="convergence.c6-beta-inverse-width",
    note=r"""At $\tau_0 = d_m^{-1/2}$ the values inside the softmax have the second moments $|x_1|^2 |x_j|^2 / d^2$ at
        every width, and bounded fourth moments, so they tend to no constant. The sentence is right for $\tau_0 =
        d_m^{-1}$, which must be meant: the conclusion of C.6, a faster rate at $d_m^{-1/2}$, needs the larger $|\beta|$
        there. $|\beta|^2 \ge 1/d_s$ is Lemma 8.""")  # fmt: skip


@C6.formula
def printed_limit_of_squares(X: Tokens) -> Any:
    """The limit 0 of the squared values inside the softmax, shape (1, d_s) (Appendix C.6)."""
    return (X @ X[0:1].T).T * 0


@C6.oracle
def second_moments_inside_softmax(X: Tokens) -> Any:
    """E (tau_0 x_1^T W_Q^T W_K x_j)^2 = tau_0^2 d_m d^{-2} |x_1|^2 |x_j|^2, since the d_m terms are uncorrelated."""
    d = X.shape[1]
    squares = (X * X).sum(1).reshape(1, -1)
    return squares * squares[0, 0] * rational(1, d * d)


@C6.part("sequence")
def squared_logits(X: Tokens, scale: int, generator: Any) -> Any:
    M = _lecun_product(X, scale, generator) * scale**-0.5
    logits = X[0:1] @ M @ X.T
    return logits * logits


C6.mutant("limit of the scaled second moment 1/d", lambda X: (X * X).sum(1).reshape(1, -1) * rational(1, X.shape[1]))
C6.mutant("limit 1", lambda value, X: value + ones(1, X.shape[0]))
C6.counterexample("X = I_2: the values inside the softmax have variance 1/4 at every width", X=[[1, 0], [0, 1]])


C6_INVERSE = Claim(CONVERGENCE, "convergence.c6-beta-inverse-width", label="C.6, for tau_0 = 1/d_m",
    statement=r"""\text{LeCun},\ \tau_0=d_m^{-1}:\ \beta_{1,k}\to\tfrac1{d_s}\mathbf 1,\text{ hence
        }\|\beta_{1,k}\|_2^2\to1/d_s""",
    assumptions=[LECUN, Construction("X fixed as d_m grows", shapes={"X": ("d_s", "d")})],
    without_domains={
        "huge": "tokens of length 32 give values of order 1000 d_m^{-1/2} inside the softmax, saturated at these widths"
    },
    name="attention of wide networks, inverse-width scaling", relation=TendsTo(WIDTHS, PowerRate(0.5), instances=4),
    all_sizes=True,
    sizes={"d_s": (2, 3), "d": (1, 3)}, corrects="convergence.c6-beta", of_project=True)  # fmt: skip


@C6_INVERSE.formula
def limiting_attention(X: Tokens) -> Any:
    """1/d_s in every entry, shape (1, d_s)."""
    d_s = X.shape[0]
    return (X @ X[0:1].T).T * 0 + ones(1, d_s) * rational(1, d_s)


C6_INVERSE.part("sequence",
    lambda X, scale, generator: first_attention(X, _lecun_product(X, scale, generator) * rational(1, scale)).T)  # fmt: skip


@C6_INVERSE.part("square")
def squared_logits_of_first_token(X: Tokens, scale: int, generator: Any) -> Any:
    """A quarter of the sum of the squared values inside the softmax, which is 1/2-Lipschitz."""
    logits = X[0:1] @ (_lecun_product(X, scale, generator) * rational(1, scale)) @ X.T
    return total(logits * logits) * rational(1, 4)


C6_INVERSE.part("factor",
    lambda X: total(X[0:1] * X[0:1]) * total(X * X) * rational(1, 4 * X.shape[1] * X.shape[1]))  # fmt: skip
C6_INVERSE.part("rate", lambda scale: Fraction(1) / scale)
C6_INVERSE.mutant("all attention on the token itself", lambda X: (X @ X[0:1].T).T * 0 + basis_vector(X.shape[0], 0).T)
C6_INVERSE.mutant("1/d_s^2", "rational(1, d_s) -> rational(1, d_s ** 2)")
