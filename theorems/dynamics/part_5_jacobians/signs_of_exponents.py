"""Section 5.3: what the sign of a Lyapunov exponent, or its closeness to 0, says of signals.

Surprising: all exponents of an orbit can be negative while every other orbit leaves it; and signals can grow without bound at
exponent 0, though not exponentially.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.part_5_jacobians.stability import NILPOTENT_SYSTEM, STEPS
from theorems.dynamics.settings import OSCILLATION, Generator, Row, Step
from theorems.shared.matrices import orthogonal_matrix
from verify.matrix import (
    absolute, concatenate, eye, inverse, log, maximum, ones, rational, row_norms, row_sums, smallest_singular_value,
    spectral_norm,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Reading, Real, Setting, Shape, realises

Spectrum = Annotated[Any, Shape("1", "D")]
Rate = Annotated[Any, Real(0.0, 2.0)]


def iterated(J: Any, x: Any, steps: int) -> Any:
    """J^steps x for a state written as a row, shape (1, D)."""
    for _ in range(steps):
        x = x @ J.T
    return x


def norms_along(J: Any, x: Any, steps: int) -> Any:
    """|x|, |Jx|, ..., |J^steps x| for a state written as a row, shape (steps + 1, 1)."""
    return concatenate([row_norms(iterated(J, x, t)) for t in range(steps + 1)], axis=0)


def basis_and_condition(W: Any) -> tuple[Any, Any]:
    """A regular V = I + W W^T (D, D), and its condition number |V| |V^-1|."""
    V = eye(W.shape[0]) + W @ W.T
    return V, spectral_norm(V) * spectral_norm(inverse(V))


def _gram_in_the_basis(J: Any, W: Any) -> Any:
    """C^T C for C = V^-1 J V, shape (D, D)."""
    V, _ = basis_and_condition(W)
    C = inverse(V) @ J @ V
    return C.T @ C


BASIS = Definition(
    r"V = I + WW^\top: up to a scale and orthogonal factors, which Q absorbs, every regular V", by=basis_and_condition
)


# -- the sign ----------------------------------------------------------------------------------------------------------


@realises(
    {
        "columns of V are eigenvectors of J": (
            "J = V diag(mu) V^-1 has these eigenvectors, and every such J is of this form"
        )
    },
    but=(
        "V is symmetric with eigenvalues of at least 1; every regular V is c O P with such a P, an orthogonal O and a number"
        " c, and both sides, J^6 V and V diag(mu)^6, then get the factor c O"
    ),
)
def known_eigenvectors(W: Generator, spectrum: Spectrum) -> dict[str, Any]:
    """J = V diag(mu) V^-1 with the eigenvectors V = I + W W^T."""
    V, _ = basis_and_condition(W)
    return {"J": (V * spectrum) @ inverse(V), "V": V, "spectrum": spectrum}


SIGN = Claim(DYNAMICS, "dynamics.sec-5.3-sign", label="Section 5.3, text", name="sign of a Lyapunov exponent",
    statement=r"""\text{``A positive exponent indicates instability and sensitivity to initial conditions, whereas a
        negative exponent implies convergence''}""",
    assumptions=[
        Definition(r"x^{(t+1)} = J x^{(t)}", by=iterated),
        Assumption(
            r"the columns of V are eigenvectors of J for the eigenvalues \mu_i, so that the exponents are \ln|\mu_i|",
            zero=lambda J, V, spectrum: J @ V - V * spectrum,
        ),
    ],
    relation=Equal(), sizes={"D": (1, 3)}, exact=True, expects="gap", presumes=("dynamics.sec-5.3-sign-any",),
    correction="dynamics.sec-5.3-sign-linear", uses=("dynamics.eq-89",),
    missing="the derivative along the orbit contracts evenly, as a constant one does",
    consequence="""A negative exponent along one orbit does not make neighbouring orbits converge to it; for that ask for a
        contraction that is uniform in time (dynamics.sec-5.3-sign-linear).""",
    note=r"""Checked for constant Jacobians, where it is so, after six steps: along eigenvector $i$ a signal is
        multiplied by $\mu_i^t$.
        In general the terms that linearisation drops can grow faster than the linear ones fall (Perron, 1930): in
        $(s, y) \to (s/2, y/2 + y^2/s)$, $s > 0$, both exponents along $(s, 0)$ are $-\ln 2$ and every orbit with $y > 0$
        leaves it (dynamics.sec-5.3-sign-any).""")  # fmt: skip
SIGN.inputs(known_eigenvectors)


@SIGN.formula
def powers_along_eigenvectors(V: Generator, spectrum: Spectrum) -> Any:
    """mu_i^6 v_i for every eigenvector as columns, shape (D, D)."""
    squares = spectrum * spectrum
    return V * (squares * squares * squares)


SIGN.oracle(lambda J, V: iterated(J, V.T, STEPS).T)
SIGN.mutant("one step less", "squares * squares * squares -> squares * squares * spectrum")
SIGN.mutant("sign", lambda value: -value)


def uneven_step(s: Any, y: Any) -> tuple[Any, Any]:
    """(s/2, y/2 + y^2/s) for s > 0."""
    return s * rational(1, 2), y * rational(1, 2) + y * y * (rational(1) / s)


Position = Annotated[Any, Real(0.125, 4.0)]

SIGN_ANY = Claim(DYNAMICS, "dynamics.sec-5.3-sign-any", label="Negative exponents and convergence",
    statement=r"""\text{if all exponents (89) along an orbit of }f\text{ are negative, orbits that start near it converge
        to it: for }f(s,y)=(s/2,\ y/2+y^2/s),\ s>0\text{, and the orbit of }(s,0)\text{, the distance }y^{(t)}\text{ is
        at most }y^{(0)}\text{ after }t=6\text{ steps}""",
    assumptions=[
        Assumption("s > 0, y > 0", positive=lambda s, y: concatenate([ones(1, 1) * s, ones(1, 1) * y], axis=0)),
        Definition("the step of f", by=uneven_step),
    ],
    name="convergence from negative exponents", relation=AtMost(ascent=False), expects="refuted", severity="error",
    of_project=True,
    note=r"""Along $(s, 0)$ the derivative of $f$ is $I/2$ at every time, so that both exponents are $-\ln 2$. But $z =
        y/s$ obeys $z \to z + 2z^2$, which grows faster than any exponential: $y = zs$ exceeds every bound, however
        small $y^{(0)}$ is; where $z$ begins small, only later than after six steps.""")  # fmt: skip


@SIGN_ANY.formula
def distance_at_the_start(s: Position, y: Position) -> Any:
    """y^(0), a scalar."""
    return y


@SIGN_ANY.oracle
def distance_after_steps(s: Position, y: Position) -> Any:
    for _ in range(STEPS):
        s, y = uneven_step(s, y)
    return y


SIGN_ANY.counterexample("s = y = 1: y is 3/2, 21/4, ... after one and two steps", s=1, y=1)
SIGN_ANY.mutant("half the distance", lambda value: value / 2)
SIGN_ANY.mutant("a quarter of the distance", lambda value: value / 4)


@realises({"V^{-1}JV =": "J is computed from V and Q, and every such J is of this form"})
def contraction_in_a_basis(G: Generator, W: Generator, c: Rate, x: Row) -> dict[str, Any]:
    """J = c V Q V^-1 with an orthogonal Q, a rate c >= 0 and V = I + W W^T."""
    V, _ = basis_and_condition(W)
    return {"J": V @ orthogonal_matrix(G) @ inverse(V) * c, "W": W, "c": c, "x": x}


SIGN_LINEAR = Claim(DYNAMICS, "dynamics.sec-5.3-sign-linear", label="Convergence under a uniform contraction",
    statement=r"""J=cVQV^{-1},\ Q^\top Q=I,\ c\ge0\ \Rightarrow\ \frac{c^t\|x\|}{\|V\|_2\|V^{-1}\|_2}\le\|J^tx\|\le
        c^t\|V\|_2\|V^{-1}\|_2\|x\|:\ \text{every exponent is }\ln c\text{, signals vanish for }c<1\text{ and grow for
        }c>1""",
    assumptions=[
        BASIS,
        Assumption(r"c \ge 0", nonnegative=lambda c: c),
        Assumption(r"V^{-1}JV = cQ with Q^\top Q = I", zero=lambda J, W, c: _gram_in_the_basis(J, W) - eye(J.shape[0]) * (c * c)),
    ],
    name="signals under a uniform contraction", relation=AtMost(), sizes={"D": (1, 3)}, of_project=True,
    corrects="dynamics.sec-5.3-sign",
    note="Checked after 0, 1, ..., 6 steps; by a power of $Q$, which is orthogonal, for every number of them.")  # fmt: skip
SIGN_LINEAR.inputs(contraction_in_a_basis)


def _rates(c: Any, x: Any) -> Any:
    """c^t |x| for t = 0, ..., 6, shape (7, 1)."""
    return concatenate([row_norms(x) * c**t for t in range(STEPS + 1)], axis=0)


@SIGN_LINEAR.formula
def largest_signals(J: Generator, W: Generator, c: Rate, x: Row) -> Any:
    """c^t |V| |V^-1| |x|, and |V| |V^-1| |J^t x|, for t = 0, ..., 6, shape (14, 1)."""
    return concatenate([_rates(c, x), norms_along(J, x, STEPS)], axis=0) * basis_and_condition(W)[1]


@SIGN_LINEAR.oracle
def signals_after_steps(J: Generator, c: Rate, x: Row) -> Any:
    return concatenate([norms_along(J, x, STEPS), _rates(c, x)], axis=0)


SIGN_LINEAR.mutant("norm of the state alone, as for normal J", "basis_and_condition(W)[1] -> 1")
SIGN_LINEAR.mutant("one step more", "_rates(c, x) -> _rates(c, x) * c / 2")
SIGN_LINEAR.mutant("six steps, however many are taken", "_rates(c, x) -> row_norms(x) * c**STEPS + 0 * _rates(c, x)")


# -- exponents near zero -----------------------------------------------------------------------------------------------


@realises({"does not vanish": "any state is drawn"})
def two_steps_in_turn(J: Generator, K: Generator, x: Row) -> dict[str, Any]:
    """Two Jacobians and a signal, as drawn."""
    return {"J": J, "K": K, "x": x}


def product_in_turn(J: Any, K: Any) -> Any:
    """J_6 ... J_1 for Jacobians that are J and K in turn, shape (D, D): the derivative of six steps."""
    return iterated(J @ K, eye(J.shape[0]), STEPS // 2).T


CRITICAL = Claim(DYNAMICS, "dynamics.sec-5.3-critical", label="Section 5.3, text",
    statement=r"""\text{``An exponent close to zero characterizes a critical regime, often referred to as the edge of
        chaos, where signals neither explode nor vanish and can propagate for a long period''}""",
    assumptions=[
        Assumption("no exponent is infinite: J and K are regular", positive=lambda J, K: (
            smallest_singular_value(J) * smallest_singular_value(K))),
        Assumption("x does not vanish", positive=lambda x: row_sums(x * x)),
        Definition("six steps, whose Jacobians are J and K in turn", by=product_in_turn),
    ],
    name="signals at exponents near zero", sizes={"D": (1, 3)}, expects="reading", uses=("dynamics.eq-89",),
    relation=AtMost(left="how far the growth rate of a signal is from 0", right="how far the exponents are from 0"),
    reading=Reading("neither explode nor vanish", r"""neither grow nor decay exponentially: over any number of steps no
            signal grows or decays at a rate that is farther from 0 than an exponent over these steps"""),
    consequence="""An exponent at or near 0 does not say that signals keep their size; look at the norms of the products
        of Jacobians themselves (dynamics.sec-5.3-critical-bounded).""",
    note=r"""In this sense the sentence says what exponents are. 'Stay bounded, and bounded away from 0' is another meaning of
        the words, and stronger: at exponents 0 signals can grow like $t$ (dynamics.sec-5.3-critical-bounded). The paper does
        not say which it means. Checked for six steps.""")  # fmt: skip
CRITICAL.inputs(two_steps_in_turn)


@CRITICAL.formula
def largest_exponent_in_size(J: Generator, K: Generator) -> Any:
    """max_i |log sigma_i| / 6 for the product of six Jacobians, shape (1, 1)."""
    M = product_in_turn(J, K)
    largest, smallest = log(spectral_norm(M)), log(smallest_singular_value(M))
    both = concatenate([ones(1, 1) * absolute(largest), ones(1, 1) * absolute(smallest)], axis=0)
    return ones(1, 1) * maximum(both) * rational(1, STEPS)


@CRITICAL.oracle
def rate_of_the_signal(J: Generator, K: Generator, x: Row) -> Any:
    signal = x
    for _ in range(STEPS // 2):
        signal = signal @ K.T @ J.T
    return absolute(log(row_norms(signal)) - log(row_norms(x))) * rational(1, STEPS)


CRITICAL.mutant("the largest exponent alone", "absolute(smallest) -> absolute(largest)")
CRITICAL.mutant("half the exponents", lambda value: value / 2)


CRITICAL_BOUNDED = Claim(NILPOTENT_SYSTEM, "dynamics.sec-5.3-critical-bounded", label="Bounded signals at exponent zero",
    statement=r"""\text{if all exponents (89) are 0, signals stay bounded and bounded away from 0: for
        }x^{(t+1)}=(I+N)x^{(t)},\ N^2=O,\text{ the increment }x^{(t+1)}-x^{(t)}\text{ is }0""",
    assumptions=[Definition(r"x^{(t+1)} = (I + N)x^{(t)}, all of whose exponents (89) are 0", by=iterated)],
    name="bounded signals at exponent zero", relation=Equal(), sizes={"D": (1, 4)}, exact=True, expects="refuted",
    severity="error", correction="dynamics.sec-5.3-critical-isometry", uses=("dynamics.eq-89",), of_project=True,
    note=r"""Here $x^{(t)} = x + tNx$: the increment never changes, so a signal that stays bounded has increment 0.
        The exponent sees exponential growth only (dynamics.sec-5.3-critical). Such steps are the same as those on which the
        discrete stability criterion of Section 5.2 fails (dynamics.sec-5.2-stability-discrete).""")  # fmt: skip


@CRITICAL_BOUNDED.formula
def increment_of_a_bounded_signal(x: Row) -> Any:
    """0, shape (1, D)."""
    return x * 0


@CRITICAL_BOUNDED.oracle
def increment_of_the_signal(N: Generator, x: Row) -> Any:
    J = eye(N.shape[0]) + N
    return iterated(J, x, STEPS + 1) - iterated(J, x, STEPS)


CRITICAL_BOUNDED.counterexample("the shear [[1, 1], [0, 1]] from (0, 1)", N=[[0, 1], [0, 0]], x=[[0, 1]], t=0)
CRITICAL_BOUNDED.mutant("the signal itself", lambda x: x)
CRITICAL_BOUNDED.mutant("increment of the inverse map", lambda N, x: -x @ N.T)


@realises({"V^{-1}JV =": "J is computed from V and Q, and every such J is of this form"})
def isometry_in_a_basis(G: Generator, W: Generator, x: Row) -> dict[str, Any]:
    """J = V Q V^-1 with an orthogonal Q and V = I + W W^T."""
    V, _ = basis_and_condition(W)
    return {"J": V @ orthogonal_matrix(G) @ inverse(V), "W": W, "x": x}


#: How long a finite-time exponent runs in the paper.
HORIZON = 16

ISOMETRY = Setting(
    DYNAMICS,
    "Section 5.3, isometries in a basis",
    assumptions=[
        BASIS,
        Assumption(r"V^{-1}JV = Q with Q^\top Q = I", zero=lambda J, W: _gram_in_the_basis(J, W) - eye(J.shape[0])),
    ],
    sizes={"D": (1, 3)},
    inputs=isometry_in_a_basis,
)

CRITICAL_ISOMETRY = Claim(ISOMETRY, "dynamics.sec-5.3-critical-isometry", label="Signals that neither explode nor vanish",
    statement=r"""J=VQV^{-1},\ Q^\top Q=I\ \Rightarrow\ \frac{\|x\|}{\|V\|_2\|V^{-1}\|_2}\le\|J^tx\|\le
        \|V\|_2\|V^{-1}\|_2\|x\|\quad(t=0,1,2,\ldots)""",
    name="signals under an isometry in a basis", relation=AtMost(), of_project=True, corrects="dynamics.sec-5.3-critical-bounded",
    note=r"""These are the constant real $J$ whose signals all stay bounded and away from 0: the eigenvalues lie on the
        unit circle and are semisimple. Checked for $t = 0, 1, \ldots, 16$, up to the horizon of the paper; $Q^t$ is orthogonal
        for every $t$.""")  # fmt: skip


def _at_the_start(x: Any) -> Any:
    """|x| for t = 0, ..., 16, shape (17, 1)."""
    return concatenate([row_norms(x)] * (HORIZON + 1), axis=0)


@CRITICAL_ISOMETRY.formula
def multiples_of_signals(J: Generator, W: Generator, x: Row) -> Any:
    """|V| |V^-1| times |x| and |J^t x|, for t = 0, ..., 16, shape (34, 1)."""
    condition = basis_and_condition(W)[1]
    return concatenate([_at_the_start(x), norms_along(J, x, HORIZON)], axis=0) * condition


@CRITICAL_ISOMETRY.oracle
def signals_up_to_the_horizon(J: Generator, x: Row) -> Any:
    return concatenate([norms_along(J, x, HORIZON), _at_the_start(x)], axis=0)


CRITICAL_ISOMETRY.mutant("norm of the state alone, as for normal J", "condition -> 1")
CRITICAL_ISOMETRY.mutant("a contraction", "J -> J / 2")


# -- the horizon -------------------------------------------------------------------------------------------------------


def finite_time_exponent(J: Any, steps: int = HORIZON) -> Any:
    """log(sigma_max(J^steps)) / steps, the largest exponent over a finite time, shape (1, 1)."""
    power = iterated(J.T, eye(J.shape[0]), steps)
    return ones(1, 1) * log(spectral_norm(power)) * rational(1, steps)


HORIZON_16 = Claim(DYNAMICS, "dynamics.b.3-horizon", label="Appendix B.3, text",
    statement=r"""\text{``In our experiments, we approximated the Lyapunov spectrum using a finite time horizon of }
        T=16\text{''}""",
    assumptions=[
        Assumption("J is regular", positive=lambda J: smallest_singular_value(J)),
        Definition("the largest exponent over 16 steps, and over 32", by=finite_time_exponent),
    ],
    name="Lyapunov exponents at a horizon of 16 steps", sizes={"D": (1, 3)},
    relation=AtMost(left="the exponent at T = 32", right="the exponent at T = 16"), expects="reading", uses=("dynamics.eq-89",),
    reading=Reading("approximated", r"""as the definition (89) has it, by the exponents over finitely many steps, which tend to
            those of the limit. For a constant Jacobian $J$ the largest one over $T$ steps comes down to its limit, and is no
            larger over twice as many steps"""),
    consequence=r"""An exponent of 0.1 at $T = 16$ does not tell a chaotic model from a critical one: a transient growth by
        a factor $e^{1.6} = 5$ gives as much. Compare several horizons, or bound the transient
        (dynamics.b.3-horizon-error).""",
    note=r"""The sentence tells what was done, and gives no accuracy; so it lacks none. Section 5.3 does, which tells 0.1 from 0
        at $T = 16$ (dynamics.sec-5.3-chaotic-side). A number read there has an error of up to $\ln(\kappa)/16$, $\kappa$ the
        condition number of a basis in which the Jacobian is normal (dynamics.b.3-horizon-error); no bound on it is given, and
        without one the error can exceed 0.1 (dynamics.b.3-horizon-any).""")  # fmt: skip


@HORIZON_16.formula
def exponent_over_sixteen_steps(J: Generator) -> Any:
    """log(sigma_max(J^16)) / 16, shape (1, 1)."""
    return finite_time_exponent(J)


@HORIZON_16.oracle
def exponent_over_twice_the_horizon(J: Generator) -> Any:
    return finite_time_exponent(J, 2 * HORIZON)


HORIZON_16.mutant("over 96 steps", lambda J: finite_time_exponent(J, 6 * HORIZON))
HORIZON_16.mutant("0.01 less", lambda value: value - rational(1, 100))


HORIZON_ANY = Claim(NILPOTENT_SYSTEM, "dynamics.b.3-horizon-any", label="Exponents at T = 16, whatever the Jacobian",
    statement=r"""J=I+N,\ N^2=O\ \Rightarrow\ \Big|\frac1T\ln\sigma_{\max}(J^T)-\lambda_{\max}\Big|\le\frac1{10},\quad
        \lambda_{\max}=0,\ T=16""",
    assumptions=[Definition(r"x^{(t+1)} = (I + N)x^{(t)}, all of whose exponents (89) are 0", by=finite_time_exponent)],
    name="Lyapunov exponents at a horizon of 16 steps, any Jacobian",
    relation=AtMost(left="how far the exponent at T = 16 is from the exponent", right="0.1"), sizes={"D": (1, 4)},
    expects="refuted", severity="error", of_project=True, uses=("dynamics.eq-89",), correction="dynamics.b.3-horizon-error",
    note="The shear $[[1, 1], [0, 1]]$ has both exponents 0 and reads 0.173 at $T = 16$.")  # fmt: skip


@HORIZON_ANY.formula
def tenth_for_any(x: Row) -> Any:
    """1/10, shape (1, 1)."""
    return row_sums(x * 0) + rational(1, 10)


HORIZON_ANY.oracle(lambda N: absolute(finite_time_exponent(eye(N.shape[0]) + N)))
HORIZON_ANY.counterexample("the shear [[1, 1], [0, 1]]", N=[[0, 1], [0, 0]], x=[[0, 1]], t=0)
HORIZON_ANY.mutant("0.05", lambda value: value / 2)
HORIZON_ANY.mutant("0.01", lambda value: value / 10)


HORIZON_ERROR = Claim(ISOMETRY, "dynamics.b.3-horizon-error", label="Error of a finite-time exponent",
    statement=r"""J=VQV^{-1},\ Q^\top Q=I\ \Rightarrow\ \Big|\frac1T\ln\sigma_{\max}(J^T)-\lambda_{\max}\Big|\le\frac1T\ln
        \big(\|V\|_2\|V^{-1}\|_2\big),\quad\lambda_{\max}=0""",
    name="error of a finite-time Lyapunov exponent", relation=AtMost(left="the exponent at T = 16"), of_project=True,
    corrects="dynamics.b.3-horizon-any",
    note=r"""Checked at $T = 16$. For $cJ$ in the place of $J$ both exponents grow by $\ln c$, so that the error is the
        same. It is 0 for normal $J$.""")  # fmt: skip


@HORIZON_ERROR.formula
def error_by_condition(W: Generator) -> Any:
    """log(|V| |V^-1|) / 16, shape (1, 1)."""
    return ones(1, 1) * log(basis_and_condition(W)[1]) * rational(1, HORIZON)


HORIZON_ERROR.oracle(lambda J: absolute(finite_time_exponent(J)))
HORIZON_ERROR.mutant("no error", lambda value: value * 0)
HORIZON_ERROR.mutant("a tenth of it", lambda value: value / 10)


CHAOTIC_SIDE = Claim(OSCILLATION, "dynamics.sec-5.3-chaotic-side", label="Section 5.3, text",
    statement=r"""\text{``Interestingly, the maximum Lyapunov exponent of successful models is slightly positive }(\sim
        0.1)\text{, indicating that the dynamical state resides near criticality from the chaotic side''}""",
    assumptions=[Definition("the exponent over 16 steps, of the normal step (17)", by=finite_time_exponent)],
    name="positive exponents at a horizon of 16 steps", relation=Equal(), expects="gap",
    presumes=("dynamics.b.3-horizon-any",), missing="at $T = 16$ exponents are right to less than 0.1",
    consequence="""That models sit on the chaotic side is not shown by a number of 0.1 after 16 steps; a model with
        exponent 0 can read more (dynamics.b.3-horizon-any).""",
    note=r"""The exponents of Section 5.3 are those of Appendix B.3, at $T = 16$. Checked is where it is so: for normal
        Jacobians, as of (17), the exponent over 16 steps is the exponent, $\frac12\ln(1+\eta^2\omega^2)$, and positive.
        In general what is read off at $T = 16$ is never below the largest exponent of a constant Jacobian, and can be
        0.17 where it is 0. What the trained models do is not denied.""")  # fmt: skip


@CHAOTIC_SIDE.inputs
@realises({"Omega is anti-symmetric": reached.SKEW})
def oscillating_step(G: Generator, x: Row, eta: Step) -> dict[str, Any]:
    """Omega = G - G^T, any state."""
    return {"Omega": G - G.T, "x": x, "eta": eta}


@CHAOTIC_SIDE.formula
def exponent_of_the_normal_step(Omega: Generator, eta: Step) -> Any:
    """log(1 + eta^2 omega^2) / 2 for the largest frequency omega, shape (1, 1)."""
    omega = spectral_norm(Omega) * eta
    return ones(1, 1) * log(1 + omega * omega) * rational(1, 2)


@CHAOTIC_SIDE.oracle
def exponent_over_the_horizon(x: Row, Omega: Generator, eta: Step) -> Any:
    J = jacobian(lambda x: x + x @ Omega.T * eta, "x")(x)
    return finite_time_exponent(J)


CHAOTIC_SIDE.mutant("ln sigma^2, without one half", numerator=2)
CHAOTIC_SIDE.mutant("zero, as in continuous time", lambda value: value * 0)
