"""Stability and eigenvalues on the boundary: what Section 5.2 says in general, where it fails, and what holds.

Surprising: both general sentences are false already for linear systems, by a nilpotent block.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.dynamics import DYNAMICS
from theorems.dynamics.settings import Generator, Row
from verify.matrix import (
    absolute, expm, eye, inverse, row_norms, row_sums, smallest_singular_value, spectral_norm, sqrt, step, total,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Reading, Real, Setting, Shape, realises
from verify.vocabulary.hypotheses import contraction, dissipative

Time = Annotated[Any, Real(0.0, 4.0)]
Bound = Annotated[Any, Real(1.0, 30.0)]
Column = Annotated[Any, Shape("D", "1")]
Signs = Annotated[Any, Shape("D", "1", role="gate")]

#: Steps after which a discrete orbit is compared with its bound.
STEPS = 6

NILPOTENT = Assumption(r"N^2 = O, so that every eigenvalue of N is 0", zero=lambda N: N @ N)

GENERALLY = (
    "No other meaning saves it: taken for 'as a rule' the sentence is right of linear systems, where defective eigenvalues"
    " on the boundary are the exception; but it speaks of every f, and of nonlinear ones it is not right, since eigenvalues on"
    " the boundary, which are what 'or equal' adds and what the section is about, decide nothing."
)


def nilpotent(u: Any, v: Any) -> Any:
    """u w^T with w = (u^T u) v - (u^T v) u orthogonal to u, shape (D, D): its square vanishes."""
    w = v * total(u * u) - u * total(u * v)
    return u @ w.T


@realises(
    {"N^2 = O": ("N = u w^T with w across u: all matrices of rank one whose square vanishes")},
    but=(
        "from dimension four on N may have rank two; the orbit x + t N x is also that of a matrix of rank one, y w^T with y ="
        " N x, w across y and w^T x = 1"
    ),
)
def nilpotent_system(u: Column, v: Column, x: Row, t: Time) -> dict[str, Any]:
    """N = u w^T with w orthogonal to u; any state."""
    return {"N": nilpotent(u, v), "x": x, "t": t}


NILPOTENT_SYSTEM = Setting(
    DYNAMICS, "Section 5.2, nilpotent systems", assumptions=[NILPOTENT], sizes={"D": (2, 4)}, inputs=nilpotent_system
)

# -- continuous time ---------------------------------------------------------------------------------------------------

CONTINUOUS = Claim(NILPOTENT_SYSTEM, "dynamics.sec-5.2-stability-continuous", label="Section 5.2, text",
    statement=r"""\text{``Generally, in continuous-time systems }\dot x=f(x)\text{, the equilibrium point is Lyapunov
        stable if all eigenvalues }\lambda_j\text{ of the Jacobian }J(x)\text{ satisfy
        }\operatorname{Re}(\lambda_j)\le0\text{''}""",
    assumptions=[Definition(r"f(x) = Nx with its equilibrium 0; J = N, and Re(\lambda_j) = 0 for all j", by=expm)],
    name="stability by eigenvalues, continuous time", relation=Equal(), expects="refuted", severity="error",
    correction="dynamics.sec-5.2-stability-semisimple",
    reading=Reading("Generally, in continuous-time systems", "in every such system"),
    consequence=r"""Eigenvalues with $\operatorname{Re}\lambda_j = 0$ prove no stability; ask for
        $\operatorname{Re}\lambda_j < 0$, or for a linear system whose eigenvalues on the axis are semisimple
        (dynamics.sec-5.2-stability-semisimple).""",
    note=r"""On these systems $\exp(tN) x = x + tNx$: the velocity never changes, so a bounded orbit, as stability of a
        linear system demands, has velocity 0. A defective eigenvalue on the imaginary axis is enough to break the
        statement; for nonlinear $f$ a simple one is (dynamics.sec-5.2-cubic-flow). """ + GENERALLY)  # fmt: skip


@CONTINUOUS.formula
def velocity_of_bounded_orbit(x: Row) -> Any:
    """0: an orbit of constant velocity that stays bounded rests, shape (1, D)."""
    return x * 0


CONTINUOUS.oracle(lambda N, x, t: jacobian(lambda t: x @ expm(N.T * t), "t")(t).reshape(1, -1))
# By hand: x(t) = (t, 1)
CONTINUOUS.counterexample("the nilpotent block [[0, 1], [0, 0]] from (0, 1), after time 3",
    N=[[0, 1], [0, 0]], x=[[0, 1]], t=3)  # fmt: skip
CONTINUOUS.mutant("velocity equal to the state", lambda x: x)
CONTINUOUS.mutant("velocity of the reversed flow", lambda N, x: -x @ N.T)


def nilpotent_step(N: Any, x: Any) -> Any:
    """(I + N) x for a row x, shape (1, D)."""
    return x + x @ N.T


DISCRETE = Claim(NILPOTENT_SYSTEM, "dynamics.sec-5.2-stability-discrete", label="Section 5.2, text",
    statement=r"""\text{``In contrast, the equilibrium points of discrete-time systems }x^{(t+1)}=f(x^{(t)})\text{ are
        Lyapunov stable if all eigenvalues }\lambda_j\text{ of the Jacobian satisfy }|\lambda_j|\le1\text{''}""",
    assumptions=[
        Definition(
            r"f(x) = (I + N)x with its equilibrium 0; J = I + N, and \lambda_j = 1 for all j", by=nilpotent_step
        ),
    ],
    name="stability by eigenvalues, discrete time", relation=Equal(), expects="refuted", severity="error",
    correction="dynamics.sec-5.2-stability-power-bounded",
    consequence=r"""Eigenvalues with $|\lambda_j| = 1$ prove no stability; ask for $|\lambda_j| < 1$, or for a linear
        system whose eigenvalues on the circle are semisimple (dynamics.sec-5.2-stability-power-bounded).""",
    note="""On these systems $x^{(t)} = x + tNx$: the increment never changes, so a bounded orbit has increment 0. The
        matrices of Eqs. (17) and (18) at equal frequencies are not of this kind, the first being normal, the second a
        contraction. For nonlinear $f$ a simple eigenvalue 1 is enough (dynamics.sec-5.2-cubic-map). """ + GENERALLY)  # fmt: skip


@DISCRETE.formula
def increment_of_bounded_orbit(x: Row) -> Any:
    """0: an orbit of constant increment that stays bounded rests, shape (1, D)."""
    return x * 0


@DISCRETE.oracle
def increment_after_steps(N: Generator, x: Row) -> Any:
    for _ in range(STEPS):
        x = nilpotent_step(N, x)
    return nilpotent_step(N, x) - x


# By hand: x^(t) = (t, 1)
DISCRETE.counterexample("the Jordan block [[1, 1], [0, 1]] from (0, 1)", N=[[0, 1], [0, 0]], x=[[0, 1]], t=0)
DISCRETE.mutant("increment equal to the state", lambda x: x)
DISCRETE.mutant("increment of the inverse map", lambda N, x: -x @ N.T)


UNBOUNDED = Claim(NILPOTENT_SYSTEM, "dynamics.sec-5.2-unbounded", label="Growth on a nilpotent block",
    statement=r"""
        N^2=O,\ Nx\ne0\ \Rightarrow\ \|\exp(tN)x\|\ge K\|x\|\ \text{at}\ t=(K+1)\|x\|/\|Nx\|,\ \text{for every }K""",
    assumptions=[
        Assumption("D >= 2, without which N = O", sizes=lambda sizes: sizes["D"] >= 2),
        Assumption("N x does not vanish", positive=lambda N, x: row_sums((x @ N.T) * (x @ N.T))),
    ],
    name="growth on a nilpotent block", relation=AtMost(left="K |x|"), all_sizes=True, hypotheses=(NILPOTENT,),
    sizes={"D": (2, 3)}, of_project=True,
    note=r"""No $K$ bounds $\|\exp(tN)\|$, so that 0 is not Lyapunov stable although every eigenvalue is 0; for whole
        $t$ also for $I + N$.""")  # fmt: skip


@UNBOUNDED.inputs
@realises(
    {"N^2 = O": ("N = u w^T with w across u: all matrices of rank one whose square vanishes")},
    but=(
        "from dimension four on, which is not drawn, N may have rank two; the orbit x + t N x is also that of a matrix of"
        " rank one, y w^T with y = N x, w across y and w^T x = 1"
    ),
)
def nilpotent_system_and_bound(u: Column, v: Column, x: Row, K: Bound) -> dict[str, Any]:
    """N = u w^T with w orthogonal to u; any state."""
    return {"N": nilpotent(u, v), "x": x, "K": K}


@UNBOUNDED.formula
def norm_after_that_time(N: Generator, x: Row, K: Bound) -> Any:
    """|exp(t N) x| at t = (K + 1) |x| / |N x|, shape (1, 1)."""
    t = (K + 1) * row_norms(x) / row_norms(x @ N.T)
    return row_norms(x @ expm(N.T * t))


UNBOUNDED.oracle(lambda x, K: row_norms(x) * K)


@UNBOUNDED.domain("states against the drift")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """x = -s N x / |N x| + small: the drift first leads back through 0, and the bound is nearly attained."""
    arrays["u"][:] = 0.0
    arrays["u"][:, 0, 0] = 1.0
    arrays["v"][:] = 0.0
    arrays["v"][:, 1, 0] = 1.0
    arrays["x"][:] = 0.0
    arrays["x"][:, 0, 0] = -1.0
    arrays["x"][:, 0, 1] = 2.0**-6


UNBOUNDED.mutant("at t = K |x| / |N x|, the way back through 0 forgotten", "K + 1 -> K")
UNBOUNDED.mutant("orbit at rest", lambda x: row_norms(x))


# -- what holds --------------------------------------------------------------------------------------------------------


@realises(
    {r"M + M^\top = -2BB": "M = G - G^T - B B^T: the skew part of M may be any"},
    but=(
        "V is symmetric with eigenvalues of at least 1; every regular V is c P O with such a P, an orthogonal O and a number"
        " c, which cancels, and O turns M and B, which may be any"
    ),
)
def damped_rotation(G: Generator, B: Generator, W: Generator, x: Row, t: Time) -> dict[str, Any]:
    """M = G - G^T - B B^T and V = I + W W^T: up to a scale and an orthogonal factor, which M absorbs, every regular V."""
    return {"M": G - G.T - B @ B.T, "B": B, "V": eye(G.shape[0]) + W @ W.T, "x": x, "t": t}


#: M + M^T is negative semidefinite, by a root of it.
DISSIPATIVE = Assumption(
    r"M + M^\top = -2BB^\top for some B, so that M is dissipative", zero=lambda M, B: M + M.T + B @ B.T * 2
)
REGULAR = Assumption("V is regular", positive=lambda V: smallest_singular_value(V))


SEMISIMPLE = Claim(DYNAMICS, "dynamics.sec-5.2-stability-semisimple",
    label="Stability of linear systems, continuous time", name="stability of linear systems, continuous time",
    statement=r"J=VMV^{-1},\ M+M^\top\preceq0\ \Rightarrow\ \|\exp(tJ)x\|\le\|V\|_2\|V^{-1}\|_2\|x\|\ (t\ge0)",
    assumptions=[
        DISSIPATIVE,
        REGULAR,
        Assumption(r"t \ge 0", nonnegative=lambda t: t),
    ],
    relation=AtMost(left="|exp(tA) x|"), all_sizes=True, sizes={"D": (1, 3)}, of_project=True,
    hypotheses=(dissipative("M", stated="M is dissipative"),),
    corrects="dynamics.sec-5.2-stability-continuous",
    note=r"""These are the real $J$ with $\operatorname{Re}(\lambda_j)\le0$ whose eigenvalues on the imaginary axis are
        semisimple. A bound independent of $t$ is Lyapunov stability of 0, for linear $f$. Zero eigenvalues, odd $D$ and
        non-normal $J$ included. For nonlinear $f$ eigenvalues with $\operatorname{Re}(\lambda_j) < 0$ suffice, those on
        the axis decide nothing.""")  # fmt: skip


SEMISIMPLE.inputs(damped_rotation)


def _orbit_bound(x: Any, V: Any) -> Any:
    return row_norms(x) * spectral_norm(V) * spectral_norm(inverse(V))


@SEMISIMPLE.formula
def bound_on_orbit(x: Row, V: Generator) -> Any:
    """|V| |V^-1| |x|, shape (1, 1)."""
    return _orbit_bound(x, V)


@SEMISIMPLE.oracle
def norm_on_orbit(M: Generator, V: Generator, x: Row, t: Time) -> Any:
    return row_norms(x @ expm(V @ M @ inverse(V) * t).T)


@SEMISIMPLE.domain("no damping")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    arrays["B"][:] = 0.0


SEMISIMPLE.mutant("norm of the state alone, as for normal J", lambda x: row_norms(x))
SEMISIMPLE.mutant("half the bound", lambda value: value / 2)


@realises(
    {
        r"M + M^\top = -2BB": "M = G - G^T - B B^T: the skew part of M may be any",
        "C(I - M) =": ("C is computed from M and sigma; I - M is regular, since M is dissipative"),
    },
    but=(
        "V is symmetric with eigenvalues of at least 1; every regular V is c P O with such a P, an orthogonal O and a number"
        " c, which cancels, and O turns C, which may be any contraction"
    ),
)
def contraction_in_a_basis(G: Generator, B: Generator, W: Generator, x: Row, signs: Signs) -> dict[str, Any]:
    """C = diag(+-1) (I + M)(I - M)^-1 with M = G - G^T - B B^T, and V = I + W W^T; signs +1 or -1 by those of `signs`."""
    M, identity = G - G.T - B @ B.T, eye(G.shape[0])
    sigma = 2 * step(signs) - 1
    C = (identity + M) @ inverse(identity - M) * sigma
    return {"C": C, "V": identity + W @ W.T, "x": x, "M": M, "B": B, "sigma": sigma}


POWER_BOUNDED = Claim(DYNAMICS, "dynamics.sec-5.2-stability-power-bounded",
    label="Stability of linear systems, discrete time", name="stability of linear systems, discrete time",
    statement=r"J=VCV^{-1},\ \|C\|_2\le1\ \Rightarrow\ \|J^tx\|\le\|V\|_2\|V^{-1}\|_2\|x\|\ (t=0,1,2,\ldots)",
    assumptions=[
        DISSIPATIVE,
        REGULAR,
        Assumption(r"\sigma = \pm1", zero=lambda sigma: sigma * sigma - 1),
        Assumption(
            r"C(I - M) = \sigma(I + M), so that C is a contraction",
            zero=lambda C, M, sigma: C * sigma @ (eye(M.shape[0]) - M) - eye(M.shape[0]) - M,
        ),
    ],
    relation=AtMost(), all_sizes=True, hypotheses=(contraction("C", stated="a contraction"),),
    sizes={"D": (1, 3)}, of_project=True, corrects="dynamics.sec-5.2-stability-discrete",
    note=r"""These include the real $J$ with $|\lambda_j|\le1$ whose eigenvalues on the unit circle, $-1$ among them, are
        semisimple. Checked after six steps; the bound does not depend on their number.""")  # fmt: skip


POWER_BOUNDED.inputs(contraction_in_a_basis)


POWER_BOUNDED.formula(bound_on_orbit)


@POWER_BOUNDED.oracle
def norm_of_iterate(C: Generator, V: Generator, x: Row) -> Any:
    J = V @ C @ inverse(V)
    for _ in range(STEPS):
        x = x @ J.T
    return row_norms(x)


POWER_BOUNDED.domain("no damping")(SEMISIMPLE.special_domains["no damping"])
POWER_BOUNDED.mutant("norm of the state alone, as for normal J", lambda x: row_norms(x))
POWER_BOUNDED.mutant("half the bound", lambda value: value / 2)


# -- nonlinear systems -------------------------------------------------------------------------------------------------

Start = Annotated[Any, Real(-3.0, 3.0, avoid_zero=True)]
LifeShare = Annotated[Any, Real(0.0, 0.96875)]

CUBIC_FLOW = Claim(DYNAMICS, "dynamics.sec-5.2-cubic-flow", label="A simple eigenvalue 0, continuous time",
    statement=r"\dot x=x^3\ \text{has}\ x(t)=\frac{x_0}{\sqrt{1-2x_0^2t}}:\ \text{0 is unstable though}\ \lambda=0",
    assumptions=[Assumption(r"t < 1/(2x_0^2), the end of its life", positive=lambda x, t: 1 - 2 * x * x * t)],
    name="instability of a cubic flow", relation=Equal(), all_sizes=True, of_project=True,
    note="""A second way in which the general statement of Section 5.2 fails: $|x(t)|$ exceeds every bound, however
        small $x_0$ is.""")  # fmt: skip


@CUBIC_FLOW.inputs
def start_and_time(x: Start, share: LifeShare) -> dict[str, Any]:
    """x_0, and a share of its life for t."""
    return {"x": x, "t": share / (2 * x * x)}


def _solution(x: Any, t: Any) -> Any:
    return x / sqrt(1 - 2 * x * x * t)


@CUBIC_FLOW.formula
def cube_of_solution(x: Start, t: Time) -> Any:
    """x(t)^3, a scalar."""
    solution = _solution(x, t)
    return solution * solution * solution


CUBIC_FLOW.oracle(lambda x, t: jacobian(_solution, "t")(x, t))
CUBIC_FLOW.mutant("linear growth law", _solution)
CUBIC_FLOW.mutant("sign, of a stable equilibrium", "solution * solution -> -solution * solution")


CUBIC_MAP = Claim(DYNAMICS, "dynamics.sec-5.2-cubic-map", label="A simple eigenvalue 1, discrete time",
    statement=r"""x^{(t+1)}=x^{(t)}+(x^{(t)})^3\ \Rightarrow\ |x^{(t)}|\ge|x^{(0)}|(1+t\,(x^{(0)})^2):\ \text{0 is
        unstable though}\ \lambda=1""",
    name="instability of a cubic map", relation=AtMost(left="|x| (1 + 6 x^2)"), of_project=True,
    note="Every step multiplies by $1 + x^2$, which never falls. Checked after six steps.")  # fmt: skip


@CUBIC_MAP.formula
def iterated_cubic_map(x: Start) -> Any:
    """|x^(6)|, a scalar."""
    for _ in range(STEPS):
        x = x + x * x * x
    return absolute(x)


CUBIC_MAP.oracle(lambda x: absolute(x) * (1 + STEPS * x * x))
CUBIC_MAP.mutant("identity, the linearised map", lambda x: absolute(x))
CUBIC_MAP.mutant("two steps", "STEPS -> 2")
