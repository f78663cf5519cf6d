"""The constants of Appendices C.1 and C.2: rho, z, c_1, c_2, c_3 and C, from norms of weights and tokens.

The bounds grow with C_x and the lambdas, so they are attacked where both are as small as Assumption 1 and the hypotheses
allow: C_x = max ||X_n||_F / sqrt(d_s), and each lambda the largest norm of its weight (`NormBounds`).  Proposition 1 has
the norms at initialisation and room to move (`Bounds`).
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence.definitions import (
    WEIGHTS, KeyWeights, OutputWeights, QueryWeights, Samples, ValueWeights, last_hidden_layer, pooling_weight,
)  # fmt: skip
from theorems.convergence.part_d_1_limiting_kernel.gradients import attention_rows
from verify.matrix import (
    concatenate, each, frobenius_norm, maximum, rational, relu, smallest_singular_value, spectral_norm, sqrt, vector,
)  # fmt: skip
from verify.vocabulary import Assumption, Convention, Definition, Real, Shape

PositiveScale = Annotated[Any, Real(0.0625, 2.0)]
Theta = Annotated[Any, Shape("d_m", "p")]
Weights = dict[str, Any]

#: Glyphs that several claims doubt: the two forms of c_1 in Eq. (36), z with lambda_O in its bracket, t extracted as T.
TWO_C_1 = (
    r"\rho \bar{\lambda}_{O} (1 + \bar{\lambda}_{V} 2\tau_{0} C_{x}^{2} d_{s} (\bar{\lambda}_{Q} + \bar{\lambda}_{K}))",
    r"\rho (\bar{\lambda}_{V} + \bar{\lambda}_{O} + \bar{\lambda}_{V} 2\tau_{0} C_{x}^{2} d_{s} (\bar{\lambda}_{Q} + "
    r"\bar{\lambda}_{K}))",
)
Z_WITH_O = r"\bar{\lambda}_V^2 \left(\bar{\lambda}_O^2 + \bar{\lambda}_K^2 \right)"
THETA_T = r"\ell(\boldsymbol{\theta}^{\top})"
SUM_OVER_TOKENS = Definition("f with the sum over tokens of Appendix C.2", by=pooling_weight)
AT_ONE_SAMPLE = Definition("f with the sum over tokens of Appendix C.2, at one sample X", by=pooling_weight)
KINK = Convention("relu'(0) = 0", by=relu)
NOT_NARROW = Assumption("d_m >= N", sizes=lambda sizes: sizes["d_m"] >= sizes["N"])

TAU_0_POSITIVE = Assumption("tau_0 > 0 (Section 1)", positive=lambda tau_0: tau_0)
TAU_1_POSITIVE = Assumption("tau_1 > 0 (Table 1)", positive=lambda tau_1: tau_1)
SCALES_POSITIVE = [TAU_0_POSITIVE, TAU_1_POSITIVE]

#: C_Q = C_K = C_V = C_O = 1, as in the paper's own applications (Appendices C.3 and C.4).
ROOM = 1
#: Keeps quotients defined where all samples or all residuals vanish.
TINY = rational(1, 2**100)


def stacked(scalars: list[Any]) -> Any:
    """Scalars, and lists of them, as a vector."""
    return vector(*scalars)


def sample_bound(X: Samples) -> Any:
    """The smallest C_x with ||X_n||_F <= sqrt(d_s) C_x for all n (Assumption 1)."""
    norms = stacked([each(X.shape[0], lambda n: frobenius_norm(X[n]))])
    return maximum(norms) / sqrt(X.shape[1])


ASSUMPTION_1 = Definition("Assumption 1: ||X_n||_F <= sqrt(d_s) C_x, with the least such C_x", by=sample_bound)


class Scalars:
    """The constants of Appendices C.1 and C.2 from N, d_s, tau_0, tau_1, C_x and the four lambdas alone."""

    def __init__(self, N: int, d_s: int, tau_0: Any, tau_1: Any, C_x: Any, Q: Any, K: Any, V: Any, O: Any) -> None:
        self.N, self.d_s, self.tau_0, self.tau_1, self.C_x = N, d_s, tau_0, tau_1, C_x
        self.Q, self.K, self.V, self.O = Q, K, V, O
        self.per_sample = tau_1 * C_x * (d_s * sqrt(d_s))
        self.rho = self.per_sample * sqrt(N)
        self.kappa = tau_0 * C_x * C_x * (2 * d_s)  # 2 tau_0 C_x^2 d_s
        self.slope = self.kappa * (Q + K)  # z of Lemma 14: Lipschitz constant of the attention weights

    def z(self, first: Any) -> Any:
        """lambda_O^2 (1 + 4 tau_0^2 C_x^4 d_s^2 lambda_V^2 (first^2 + lambda_K^2)) (second bullet of Proposition 1)."""
        return self.O**2 * (1 + (self.kappa * self.V) ** 2 * (first**2 + self.K**2))

    def condition_2(self) -> Any:
        """8 rho max(...), shape (): the factor of sqrt(2 l(theta^0)) in Eq. (2)."""
        mixed = self.kappa * self.V * self.O
        return self.rho * 8 * maximum(stacked([self.V, self.O, mixed * self.K, mixed * self.Q])) / ROOM

    def condition_3(self, first: Any) -> Any:
        """32 rho^2 z / lambda_O: the factor of sqrt(2 l(theta^0)) in Eq. (3)."""
        return self.rho**2 * 32 * self.z(first) / self.O

    def speeds(self) -> dict[str, Any]:
        """The bound of ||grad l|| / ||f - y||_2 in each weight (Lemma 12)."""
        mixed = self.kappa * self.V * self.O
        factors = {"W_Q": mixed * self.K, "W_K": mixed * self.Q, "W_V": self.O, "w_O": self.V}
        return {name: self.rho * factor for name, factor in factors.items()}

    def c_1(self) -> Any:
        """Lipschitz constant of f: the first right-hand side of Eq. (36), the larger one since lambda_O >= 1."""
        return self.rho * (self.V + self.O * (1 + self.V * self.slope))

    def c_2(self) -> Any:
        """Bound of the Jacobian of f (Eq. (11))."""
        mixed = self.kappa * self.V * self.O
        return self.rho * sqrt(self.O**2 + self.V**2 + mixed**2 * (self.K**2 + self.Q**2))

    def c_3(self) -> Any:
        """Lipschitz constant of the Jacobian as printed (Eq. (14))."""
        Q, K, V, O, C_x, z, d_s = self.Q, self.K, self.V, self.O, self.C_x, self.slope, self.d_s
        gate = O * C_x * sqrt(d_s) * (1 + V * z) + 1

        def mixed(norm: Any) -> Any:
            inner = norm * C_x**2 * (2 * d_s) * (V * gate + O) + V * O * (C_x**2 * d_s + 3 * K * z)
            return self.tau_0 * self.tau_1 * C_x * d_s * inner

        blocks = [self.per_sample * (1 + V * z), self.per_sample * (O * z + gate), mixed(K), mixed(Q)]
        return sqrt(sum(block**2 for block in blocks) * self.N)

    def c_3_of_fixed_pattern(self) -> Any:
        """Lipschitz constant of the Jacobian while no ReLU changes state.

        As Eqs. (15)-(24) with relu' constant: the term lambda_O C_x sqrt(d_s) (1 + lambda_V z) of Eq. (19) disappears,
        tokens are bounded by sqrt(d_s) C_x, and the last block carries its own norm lambda_Q in front of 3 z.
        """
        Q, K, V, O, C_x, z, d_s = self.Q, self.K, self.V, self.O, self.C_x, self.slope, self.d_s

        def mixed(norm: Any) -> Any:
            inner = norm * C_x**2 * (2 * d_s) * (V + O) + V * O * C_x**2 * d_s * (1 + 3 * norm * z)
            return self.tau_0 * self.per_sample * inner

        blocks = [self.per_sample * (1 + V * z), self.per_sample * (O * z + 1), mixed(K), mixed(Q)]
        return sqrt(sum(block**2 for block in blocks) * self.N)

    def C(self, error: Any) -> Any:
        """C = c_1 c_2 + 2 c_3 l(theta^0) for ||f(theta^0) - y|| = error (Eq. (37))."""
        return self.c_1() * self.c_2() + self.c_3() * error**2

    def C_of_fixed_pattern(self, error: Any) -> Any:
        """c_1 c_2 + c_3 ||f(theta^0) - y||: Eq. (37) with the norm where the last step of Eq. (35) has its square."""
        return self.c_1() * self.c_2() + self.c_3_of_fixed_pattern() * error


class Bounds(Scalars):
    """The printed quantities at initialisation, C_Q = C_K = C_V = C_O = 1, and alpha."""

    def __init__(self, X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any, C_x: Any) -> None:
        norms = (spectral_norm(W) + ROOM for W in (W_Q, W_K, W_V, w_O))
        super().__init__(X.shape[0], X.shape[1], tau_0, tau_1, C_x, *norms)
        self.alpha = smallest_singular_value(last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1))


class NormBounds(Scalars):
    """The constants of Appendix C.1 made of norms that hold at every one of the given weights."""

    def __init__(self, X: Any, weights: list[Weights], tau_0: Any, tau_1: Any) -> None:
        norms = (
            maximum(stacked([spectral_norm(theta[name]) for theta in weights])) if name in weights[0] else 0
            for name in WEIGHTS
        )
        super().__init__(X.shape[0], X.shape[1], tau_0, tau_1, sample_bound(X), *norms)


ROOM_ONE = Definition("C_Q = C_K = C_V = C_O = 1", by=Bounds)
_LAMBDAS = "||W_Q||_2 <= lambda_Q, ||W_K||_2 <= lambda_K, ||W_V||_2 <= lambda_V, ||w_O||_2 <= lambda_O"
NORMS_ONCE = Definition(_LAMBDAS + ", with the least such lambdas", by=NormBounds)
NORMS = Definition(_LAMBDAS + " at t and t', with the least such lambdas", by=NormBounds)

# -- weights by name, and as one matrix --------------------------------------------------------------------------------


def by_name(*weights: Any) -> Weights:
    """W_Q, W_K, W_V, w_O by name, or as many of them as are given."""
    return dict(zip(WEIGHTS, weights, strict=False))


def at_both_ends(*weights: Any) -> tuple[Weights, Weights]:
    """W_Q, W_K, W_V, w_O at t' and the same at t, by name."""
    half = len(weights) // 2
    return by_name(*weights[:half]), by_name(*weights[half:])


def joined(*weights: Any) -> Any:
    """theta = [W_Q W_K W_V w_O], shape (d_m, 3d + 1), so that ||theta||_2 of the paper is a Frobenius norm."""
    return concatenate(list(weights), axis=1)


def split(theta: Any) -> Weights:
    """W_Q, W_K, W_V (d_m, d) and w_O (d_m, 1) by name."""
    d = (theta.shape[1] - 1) // 3
    return by_name(*(theta[:, k * d : (k + 1) * d] for k in range(3)), theta[:, 3 * d :])


def two_ends(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
             W_Q_0: QueryWeights, W_K_0: KeyWeights, W_V_0: ValueWeights, w_O_0: OutputWeights,
             tau_0: PositiveScale, tau_1: PositiveScale) -> dict[str, Any]:  # fmt: skip
    """The weights at t' and, with the suffix _0, at t, each as one matrix."""
    theta, theta_0 = joined(W_Q, W_K, W_V, w_O), joined(W_Q_0, W_K_0, W_V_0, w_O_0)
    return {"X": X, "theta": theta, "theta_0": theta_0, "tau_0": tau_0, "tau_1": tau_1}


def distance(theta: Weights, theta_0: Weights) -> Any:
    """||theta - theta_0||_2 over all weights."""
    return sqrt(sum(((theta[name] - theta_0[name]) * (theta[name] - theta_0[name])).sum() for name in WEIGHTS))


def pre_activations(X: Any, theta: Weights, tau_0: Any) -> Any:
    """W_V X_n^T beta_i for all n and i, in one row, for samples X (N, d_s, d) or one sample (d_s, d)."""
    X = X.reshape(-1, *X.shape[-2:])

    def of_sample(n: int) -> Any:
        betas = attention_rows(X[n], theta["W_Q"], theta["W_K"], tau_0)
        return concatenate(each(X.shape[1], lambda i: (theta["W_V"] @ X[n].T @ betas[i]).reshape(1, -1)), axis=1)

    return concatenate(each(X.shape[0], of_sample), axis=1)


def same_signs(X: Any, theta: Any, theta_0: Any, tau_0: Any) -> Any:
    """Products of the pre-activations at both ends: positive where no ReLU differs in state."""
    return pre_activations(X, split(theta), tau_0) * pre_activations(X, split(theta_0), tau_0)


def same_pattern(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, W_Q_0: Any, W_K_0: Any, W_V_0: Any, w_O_0: Any,
                 tau_0: Any) -> Any:  # fmt: skip
    """The same for weights that are given one by one."""
    return same_signs(X, joined(W_Q, W_K, W_V, w_O), joined(W_Q_0, W_K_0, W_V_0, w_O_0), tau_0)


def length(slopes: Any, tau_1: Any) -> Any:
    """||slopes||_F in the arithmetic of tau_1: gradients of a network that is inactive come as plain zeros."""
    return sqrt((slopes * slopes).sum() + tau_1 * 0)


def bounds_at(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> NormBounds:
    """The constants of Appendix C.1 at one set of weights."""
    return NormBounds(X, [by_name(W_Q, W_K, W_V, w_O)], tau_0, tau_1)
