"""Sections 4.4, C.5 and C.6: the largest step that Eq. (37) allows under NTK, LeCun and He initialisation."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.part_c_1_lemmas.constants import Scalars, stacked
from theorems.convergence.settings import Dimension, Length, Positive, SampleCount, Width
from verify.matrix import maximum, rational, sqrt
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Reading, Real

Middle = Annotated[Any, Real(0.5, 3.0)]


def _C_of(N: int, d_s: int, tau_0: Any, tau_1: Any, C_x: Any, Q: Any, K: Any, V: Any, O: Any,
          loss: Any) -> tuple[Any, Any]:  # fmt: skip
    b = Scalars(N, d_s, tau_0, tau_1, C_x, Q + 1, K + 1, V + 1, O + 1)
    return b.c_1() * b.c_2(), 2 * b.c_3() * loss


def _wide_constants(N: int, d_s: int, d: int, d_m: Any, tau_0: Any, tau_1: Any, C_x: Any, Q: Any, K: Any, V: Any,
                    g: Any, loss: Any) -> Any:  # fmt: skip
    """C of Eq. (37) under LeCun and under He, whose weights are sqrt(2) times as large; shape (2,)."""
    constants = []
    for gain in (1, 2):
        of_tokens, of_output = sqrt(loss * 0 + rational(gain, d)), sqrt((loss * 0 + gain) / d_m)
        norms = (Q * of_tokens, K * of_tokens, V * of_tokens, g * of_output)
        constants.append(sum(_C_of(N, d_s, tau_0, tau_1, C_x, *norms, loss)))
    return stacked(constants)


def _least_width(N: int, d_s: int, d: int, C_x: Any, loss: Any) -> Any:
    """4 d A / (N d_s^3 C_x^2), A = C of Eq. (37) at tau_0 = tau_1 = 1 and all lambdas 4."""
    one, three = loss * 0 + 1, loss * 0 + 3
    return sum(_C_of(N, d_s, one, one, C_x, three, three, three, three, loss)) * (4 * d) / (C_x**2 * (N * d_s**3))


def _norms_in_range(Q: Any, K: Any, V: Any, g: Any, d_m: Any) -> Any:
    """Each norm less sqrt(d_m)/2, and 3 sqrt(d_m) less each."""
    norms, root = [Q, K, V, g], sqrt(d_m)
    return stacked([*(norm - root / 2 for norm in norms), *(3 * root - norm for norm in norms)])


INIT_STEPSIZE = Claim(CONVERGENCE, "convergence.init-stepsize", label="Section 4.4 / C.5-C.6",
    statement=r"""\text{the NTK initialization scheme allows for a larger step size than LeCun/He initialization for
        training}""",
    assumptions=[
        Definition(
            "tau_0 = 1/d_m, as in Section 4.3; the same Gaussian draws and l(theta^0) for all three", by=_wide_constants
        ),
        Assumption("C_x, l(theta^0) > 0", positive=lambda C_x, loss: stacked([C_x, loss])),
        Assumption(
            "norms of the standard Gaussian draws between sqrt(d_m)/2 and 3 sqrt(d_m), as Lemma 5 has them for d_m >= "
            "d from above",
            nonnegative=_norms_in_range,
        ),
        Assumption(
            "d_m >= max(d, 4 d A / (N d_s^3 C_x^2)), A = C of Eq. (37) at tau_0 = tau_1 = 1 and all lambdas 4, free of "
            "d_m",
            nonnegative=lambda N, d_s, d, d_m, C_x, loss: stacked([d_m - d, d_m - _least_width(N, d_s, d, C_x, loss)]),
        ),
    ],
    name="larger step size under NTK initialisation", relation=AtMost(),
    sizes={"N": (1, 4), "d_s": (1, 3), "d": (1, 4)}, expects="reading", uses=("convergence.eq-44",),
    reading=Reading("allows for a larger step size than LeCun/He initialization for training",
        r"""the largest step that Eq. (37) allows, $\gamma = 1/C$, is larger for wide networks at $\tau_0 = 1/d_m$, the
            scaling of Section 4.3: $C$ under NTK initialisation is at most $C$ under LeCun and under He initialisation
            with the same Gaussian draws, $C_Q = C_K = C_V = C_O = 1$"""),
    note=r"""$\tau_1 = d_m^{-1/2}$ against 1: at $\tau_0 = 1/d_m$ the constant $C$ stays bounded under NTK as $d_m$
        grows, by $A$, and is at least $c_1 c_2 \ge \rho^2 \lambda_V^2$, of order $d_m / d$, under LeCun and He. That
        $1/C$ is an admissible step at all is what Eq. (37) fails to give. The sentence names neither $\tau_0$ nor a
        width. At $\tau_0 = d_m^{-1/2}$ for all three, as Figure 5 seems to have it, $1/C$ can be the larger under LeCun
        and He: $\eta = 1/d$ makes their logits smaller. At $N = d_s = C_x = \ell(\theta^0) = 1$, norms $\sqrt{d_m} +
        \sqrt{d}$ and widths from 100 to $10^7$ it is under LeCun from $d = 2$ on, under He from $d = 4$ on. At $d = 1$
        NTK has the larger one at every width and $\tau_0$ (convergence.init-stepsize-one-dimension).""")  # fmt: skip


@INIT_STEPSIZE.inputs
def wide_networks(N: SampleCount, d_s: Length, d: Dimension, C_x: Positive, q: Middle, k: Middle, v: Middle, o: Middle,
                  loss: Positive, extra: Annotated[Any, Real(0.0, 2.0)]) -> dict[str, Any]:  # fmt: skip
    """Q, K, V, g: norms of standard Gaussian draws, in units of sqrt(d_m) between 1/2 and 3."""
    d_m = maximum(stacked([loss * 0 + d, _least_width(N, d_s, d, C_x, loss)])) * (1 + extra)
    norms = {name: share * sqrt(d_m) for name, share in (("Q", q), ("K", k), ("V", v), ("g", o))}
    return {"N": N, "d_s": d_s, "d": d, "d_m": d_m, "C_x": C_x, **norms, "loss": loss}


@INIT_STEPSIZE.formula
def C_under_LeCun_and_He(N: SampleCount, d_s: Length, d: Dimension, d_m: Positive, C_x: Positive, Q: Positive,
                         K: Positive, V: Positive, g: Positive, loss: Positive) -> Any:  # fmt: skip
    """C of Eq. (37) for tau_1 = 1, tau_0 = 1/d_m, weights over sqrt(d) and w_O over sqrt(d_m), times sqrt(2) for He."""
    return _wide_constants(N, d_s, d, d_m, 1 / d_m, loss * 0 + 1, C_x, Q, K, V, g, loss)


@INIT_STEPSIZE.oracle
def C_under_NTK(N: SampleCount, d_s: Length, d_m: Positive, C_x: Positive, Q: Positive, K: Positive, V: Positive,
                g: Positive, loss: Positive) -> Any:  # fmt: skip
    return stacked([sum(_C_of(N, d_s, 1 / d_m, 1 / sqrt(d_m), C_x, Q, K, V, g, loss))] * 2)


INIT_STEPSIZE.mutant("scaling factor of NTK for all", "loss * 0 + 1 -> 1 / sqrt(d_m)")
INIT_STEPSIZE.mutant("d_m less in C", lambda value, d_m: value / d_m)


STEPSIZE_AT_D_1 = Claim(CONVERGENCE, "convergence.init-stepsize-one-dimension", label="Section 4.4 / C.5-C.6, at d = 1",
    statement=r"""d=1:\ C\text{ under NTK initialisation is at most }C\text{ under LeCun and He initialisation, at every
        width and }\tau_0""",
    assumptions=[
        Definition(
            "d = 1, where eta_Q, eta_K, eta_V agree for LeCun and NTK and are 2 for He; the same Gaussian draws, tau_0,"
            " l(theta^0)",
            by=_wide_constants,
        ),
        Assumption("tau_0, C_x > 0", positive=lambda tau_0, C_x: stacked([tau_0, C_x])),
        Assumption(
            "norms of the draws and l(theta^0) >= 0", nonnegative=lambda Q, K, V, g, loss: stacked([Q, K, V, g, loss])
        ),
    ],
    name="step sizes by initialisation in one dimension", relation=AtMost(),
    sizes={"N": (1, 4), "d_s": (1, 3), "d_m": (1, 64)}, of_project=True,
    note=r"""With $g = \|w_O\| / \sqrt{\eta_O}$: every term of $c_1$, $c_2$ and $c_3$ under NTK has $\tau_1 =
        d_m^{-1/2}$ against 1, and $(g + 1) / \sqrt{d_m} \le g / \sqrt{d_m} + 1$.""")  # fmt: skip


@STEPSIZE_AT_D_1.formula
def C_under_LeCun_and_He_at_d_1(N: SampleCount, d_s: Length, d_m: Width, tau_0: Positive, C_x: Positive, Q: Positive,
                                K: Positive, V: Positive, g: Positive, loss: Positive) -> Any:  # fmt: skip
    """C of Eq. (37) for tau_1 = 1 and ||w_O|| = g / sqrt(d_m), and with all norms times sqrt(2); shape (2,)."""
    return _wide_constants(N, d_s, 1, d_m, tau_0, rational(1), C_x, Q, K, V, g, loss)


@STEPSIZE_AT_D_1.oracle
def C_under_NTK_at_d_1(N: SampleCount, d_s: Length, d_m: Width, tau_0: Positive, C_x: Positive, Q: Positive, K: Positive,
                       V: Positive, g: Positive, loss: Positive) -> Any:  # fmt: skip
    return stacked([sum(_C_of(N, d_s, tau_0, 1 / sqrt(d_m), C_x, Q, K, V, g, loss))] * 2)


STEPSIZE_AT_D_1.mutant("scaling factor of NTK for all", "rational(1) -> 1 / sqrt(d_m)")
STEPSIZE_AT_D_1.mutant("d_m^2 less in C", lambda value, d_m: value / (d_m * d_m))
