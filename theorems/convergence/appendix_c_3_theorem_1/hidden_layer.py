"""The last hidden layer at initialisation: Eqs. (47) and (48), their use in C.4 and C.5, the loss, and C.7."""

from __future__ import annotations

import math
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    KeyWeights,
    QueryWeights,
    Samples,
    ValueWeights,
    last_hidden_layer,
    self_attention,
)
from theorems.convergence.appendix_c_1_lemmas.constants import stacked
from theorems.convergence.appendix_d_tangent_kernel.gradients import attention_row
from theorems.convergence.appendix_c_3_theorem_1.minimum_eigenvalue import expected_gram, lambda_0, smallest_eigenvalue
from verify.claims import Claim
from verify.matrix import (
    concatenate,
    frobenius_norm,
    ones,
    rational,
    relu,
    smallest_singular_value,
    spectral_norm,
    sqrt,
    stack_rows,
    symmetric_eigenvalues,
    trace,
)
from verify.relations import AtMost, Equal, FollowsLaw, at_most_probability
from verify.relations.follows_law import LawTest
from verify.shapes import Real, Shape, Size

Features = Annotated[Any, Shape("N", "d")]
Tokens = Annotated[Any, Shape("d_s", "d")]
SquareQuery = Annotated[Any, Shape("d", "d", role="query")]
Square = Annotated[Any, Shape("d", "d")]
Scale = Annotated[Any, Real(0.0625, 2.0)]
Variance = Annotated[Any, Real(0.0625, 2.0)]
Hidden = Annotated[Any, Real(0.00390625, 1.0)]
Failure = Annotated[Any, Real(0.0625, 0.5)]
SampleCount = Annotated[int, Size("N")]
Width = Annotated[int, Size("d_m")]


# -- the sum over tokens -----------------------------------------------------------------------------------------------

NETWORK_SIZES = {"N": (1, 3), "d_s": (1, 3), "d": (1, 3), "d_m": (1, 4)}


def token_layer(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any, i: int) -> Any:
    """tau_1 relu(Phi_i W_V^T), shape (N, d_m): the contribution of token i to F_pre for the sum over tokens."""
    Phi = stack_rows([attention_row(X[n], W_Q, W_K, tau_0, i).T @ X[n] for n in range(X.shape[0])])
    return relu(Phi @ W_V.T) * tau_1


EQ_47 = Claim(
    CONVERGENCE,
    "convergence.eq-47-psd-sum",
    label="Text before Eq. (47) (also C.4, C.5)",
    statement=r"F_{pre}F_{pre}^\top\text{ is the summation of PSD matrices, thus it suffices to lower bound }\lambda_{\min}(\hat F"
    r"_{pre}\hat F_{pre}^\top),\ \hat F_{pre}\hat F_{pre}^\top=\tau_1^2\sigma_r(\Phi W_V^\top)\sigma_r(\Phi W_V^\top)^\top",
    assumptions=["F_pre = sum over tokens i of tau_1 sigma_r(Phi_i W_V^T), Phi_1 = Phi"],
    relation=AtMost(ascent=False),
    sizes=NETWORK_SIZES,
    expects="refuted",
    severity="error",
    correction="convergence.eq-47-perturbed",
    note="With F_pre = sum_i F_i the product is sum_{i,j} F_i F_j^T; its mixed terms are not positive semidefinite. Two samples"
    " with the same tokens in different order have the same F_pre, so F_pre F_pre^T is singular, while the first tokens attend"
    " differently. The counterexample holds for the average over tokens too, 1/d_s^2 times 0. A neighbourhood of its weights"
    " has F_pre F_pre^T as near to singular as one likes.",
)


@EQ_47.formula
def eigenvalue_of_hidden_layer(
    X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale, tau_1: Scale
) -> Any:
    """lambda_min(F_pre F_pre^T) for the sum over tokens, a scalar, which is to be bounded below."""
    F = last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1, "sum")
    return smallest_eigenvalue(F @ F.T)


@EQ_47.oracle
def eigenvalue_of_first_token(
    X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale, tau_1: Scale
) -> Any:
    F = token_layer(X, W_Q, W_K, W_V, tau_0, tau_1, 0)
    return smallest_eigenvalue(F @ F.T)


EQ_47.mutant("largest eigenvalue", "smallest_eigenvalue(F @ F.T) -> symmetric_eigenvalues(F @ F.T)[-1]")


@EQ_47.mutant("a sum of positive semidefinite matrices F_i F_i^T")
def _(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale, tau_1: Scale) -> Any:
    layers = [token_layer(X, W_Q, W_K, W_V, tau_0, tau_1, i) for i in range(X.shape[1])]
    return smallest_eigenvalue(sum(F @ F.T for F in layers))


@EQ_47.counterexample(
    "N = d_s = d = d_m = 2, identity weights, samples I_2 and its rows exchanged: 0 against tanh(1/2)^2"
)
def _() -> dict[str, Any]:
    unit = [[1, 0], [0, 1]]
    return {"X": [unit, unit[::-1]], "W_Q": unit, "W_K": unit, "W_V": unit, "tau_0": 1, "tau_1": 1}


EQ_47_PERTURBED = Claim(
    CONVERGENCE,
    "convergence.eq-47-perturbed",
    label="Text before Eq. (47), with what the other tokens may take away",
    statement=r"\sigma_{\min}(F_{pre})\ge d_s\sigma_{\min}(\hat F_{pre})-\sum_i\|F_i-\hat F_{pre}\|_2,\quad"
    r" F_i=\tau_1\sigma_r(\Phi_iW"
    r"_V^\top),\ \hat F_{pre}=F_1",
    assumptions=["F_pre = sum over tokens i of F_i; 1/d_s times everything for the average of Eq. (1.2)"],
    relation=AtMost(signed=True),
    sizes=NETWORK_SIZES,
    corrects="convergence.eq-47-psd-sum",
    of_project=True,
    note="Weyl's inequality. At tau_0 = 1/d_m the sum tends to 0 relative to the rest as the width grows; at"
    " d_m^{-1/2} it does not.",
)


@EQ_47_PERTURBED.formula
def singular_value_of_hidden_layer(
    X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale, tau_1: Scale
) -> Any:
    """sigma_min(F_pre) for the sum over tokens, a scalar."""
    return smallest_singular_value(last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1, "sum"))


@EQ_47_PERTURBED.oracle
def perturbed_singular_value(
    X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale, tau_1: Scale
) -> Any:
    layers = [token_layer(X, W_Q, W_K, W_V, tau_0, tau_1, i) for i in range(X.shape[1])]
    first = smallest_singular_value(layers[0])
    return first * X.shape[1] - sum((spectral_norm(F - layers[0]) for F in layers[1:]), first * 0)


EQ_47_PERTURBED.mutant("average over tokens on one side only", pooling="average")
EQ_47_PERTURBED.mutant("tau_1 twice", lambda value, tau_1: value * tau_1)


# -- Eq. (48) and its use under NTK initialisation ---------------------------------------------------------------------

#: The failure probability at which Eq. (48) is tested.
DELTA = 1 / 8
CHERNOFF = (
    "d_m >= 105 (S/lambda_0) log(23 S/lambda_0) log(N/delta), S = eta_V ||Phi||_F^2 <= eta_V N d_s C_x^2: the hidden constant"
    " depends on eta_V d_s C_x^2"
)


def _tensor(array: Any) -> Any:
    import torch

    return torch.as_tensor(array, dtype=torch.float64)


def sufficient_width(Phi: Any, eta_V: float) -> int:
    """The width of `CHERNOFF` for delta = DELTA."""
    ratio = eta_V * float((Phi * Phi).sum()) / float(lambda_0(Phi, eta_V))
    return math.ceil(105 * ratio * math.log(23 * ratio) * math.log(Phi.shape[0] / DELTA))


def eigenvalue_shortfalls(share: Any, generator: Any, samples: int, Phi: Any, eta_V: Any, ntk: bool) -> list[LawTest]:
    """Whether lambda_min(tau_1^2 relu relu^T) falls below tau_1^2 d_m `share` too often; in units of tau_1^2 d_m."""
    import torch

    Phi, eta_V = _tensor(Phi), float(eta_V)
    d_m = sufficient_width(Phi, eta_V)
    tau_1_squared = 1 / d_m if ntk else 1.0
    below = []
    for _ in range(samples):
        W_V = torch.randn(d_m, Phi.shape[1], generator=generator, dtype=torch.float64) * math.sqrt(eta_V)
        features = (Phi @ W_V.T).relu()
        below.append(float(torch.linalg.eigvalsh(features @ features.T)[0]) * tau_1_squared < share(Phi, eta_V, d_m))
    return [at_most_probability(f"below the bound at d_m = {d_m}", sum(below), len(below), DELTA)]


def well_conditioned(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Rows near to orthogonal ones of different lengths, so that the sufficient width stays small."""
    Phi = arrays["Phi"]
    Phi[:] = rng.integers(-2, 3, Phi.shape) / 16
    for n in range(sizes["N"]):
        Phi[:, n, n] += 1 + n / 4


EQ_48 = Claim(
    CONVERGENCE,
    "convergence.eq-48",
    label="Eq. (48)",
    statement=r"\lambda_{\min}(\hat F_{pre}\hat F_{pre}^\top)\ge d_m\lambda_0/4\ \text{w.p.}\ge1-\delta_1\text{ as long as }d_m\ge"
    r"\tilde\Omega(N/\lambda_0)",
    assumptions=["LeCun/He (tau_1 = 1)", "Phi fixed"],
    relation=FollowsLaw(samples=100, instances=2),
    sizes={"N": (2, 3), "d": (2, 4)},
    where=lambda sizes: sizes["N"] <= sizes["d"],
    domains=[],
    expects="reading",
    reading=CHERNOFF,
    note="With a constant that depends on nothing else it is false: lambda_0 grows with the square of the data, so for large C_x"
    " N/lambda_0 falls below 1, and at d_m < N the matrix is singular (convergence.eq-48-narrow). Proof of"
    " the reading: E exp(Y/4S) <= sqrt 2 for Y ="
    " |Phi w|^2; cut at R = 8 S log(16 sqrt 2 S/lambda_0), which leaves at least lambda_0/2 of the smallest eigenvalue; the"
    " matrix Chernoff bound at half of that fails with at most N exp(-0.153 d_m lambda_0/(2R)).",
)

EQ_48.domain("well conditioned")(well_conditioned)


@EQ_48.formula
def quarter_of_expected_eigenvalue(Phi: Features, eta_V: Variance, d_m: Any) -> float:
    """d_m lambda_0 / 4 (Eq. (48))."""
    return d_m * float(lambda_0(Phi, eta_V)) / 4


@EQ_48.part("laws")
def lecun_shortfalls(formula: Any, generator: Any, samples: int, Phi: Features, eta_V: Variance) -> list[LawTest]:
    return eigenvalue_shortfalls(formula, generator, samples, Phi, eta_V, ntk=False)


@EQ_48.inputs
def features_and_variance(Phi: Features, eta_V: Variance) -> dict[str, Any]:
    return {"Phi": Phi, "eta_V": eta_V}


EQ_48.mutant("d_m lambda_0, its expected order, without 1/4", lambda Phi, eta_V, d_m: d_m * float(lambda_0(Phi, eta_V)))


@EQ_48.mutant("mean of the diagonal for lambda_0")
def _(Phi: Features, eta_V: Variance, d_m: Any) -> float:
    return d_m * float(trace(expected_gram(Phi, eta_V))) / Phi.shape[0]


NARROW = Claim(
    CONVERGENCE,
    "convergence.eq-48-narrow",
    label="Eq. (48) for fewer neurons than samples",
    statement=r"d_m<N\ \Rightarrow\ \lambda_{\min}(\hat F_{pre}\hat F_{pre}^\top)=0\text{ for all weights and data}",
    relation=Equal(),
    sizes={"N": (2, 4), "d": (1, 3), "d_m": (1, 3)},
    where=lambda sizes: sizes["d_m"] < sizes["N"],
    of_project=True,
    note="Decided as: the N - 1 largest eigenvalues add up to the trace. Multiplying the data by s divides N/lambda_0 by s^2, so"
    " any condition d_m >= K N/lambda_0 with a constant K that does not depend on the data admits d_m = 1 < N, where Eq. (48)"
    " fails for every draw of the weights.",
)


@NARROW.formula
def trace_of_narrow_layer(Phi: Features, W_V: ValueWeights) -> Any:
    """trace(relu(Phi W_V^T) relu(Phi W_V^T)^T), a scalar: all of it belongs to the N - 1 largest eigenvalues."""
    F = relu(Phi @ W_V.T)
    return trace(F @ F.T)


@NARROW.oracle
def sum_of_largest_eigenvalues(Phi: Features, W_V: ValueWeights) -> Any:
    F = relu(Phi @ W_V.T)
    return symmetric_eigenvalues(F @ F.T)[1:].sum()


NARROW.mutant("trace and largest eigenvalue", "trace(F @ F.T) -> trace(F @ F.T) + symmetric_eigenvalues(F @ F.T)[-1]")
NARROW.mutant("without relu", "relu(Phi @ W_V.T) -> Phi @ W_V.T")


EQ_60_61 = Claim(
    CONVERGENCE,
    "convergence.eq-60-61",
    label='C.4, "By Eq. (48)" and (60), (61)',
    statement=r"\text{NTK initialization}:\ \lambda_{\min}(\hat F_{pre}\hat F_{pre}^\top)\ge d_m\lambda_0/4;\ (60)"
    r"\ d_m\lambda_0/4\ge"
    r"\tilde{\mathcal O}(Nd_s^{5/2}C_x^3),\ (61)\ (d_m\lambda_0/4)^{3/2}\ge\tilde{\mathcal O}(N^{3/2}d_s^3C_x^2(1+4C_x^4d_s^2));\ "
    r"\text{all hold when }d_m=\tilde\Omega(N)",
    assumptions=[
        "tau_1 = d_m^{-1/2}",
        r"\hat F_{pre}\hat F_{pre}^T = tau_1^2 sigma_r(Phi W_V^T) sigma_r(Phi W_V^T)^T",
        "the first bound holds with probability at least 1 - delta",
    ],
    relation=AtMost(ascent=False, signed=True),
    sizes={"N": (1, 3), "d": (1, 3), "d_m": (1, 16)},
    expects="refuted",
    severity="error",
    correction="convergence.eq-60-61-scaled",
    note="tau_1^2 = 1/d_m was lost. lambda_min is concave, so E lambda_min(F F^T) <= lambda_min(E F F^T) = lambda_0,"
    " while the printed"
    " bound would make it at least (1 - delta) d_m lambda_0/4. With lambda_0/4 in place of d_m lambda_0/4 the width drops out of"
    " the left sides of (60) and (61): wherever sqrt(2 l) is of order sqrt N, no width meets (57) for large N, since lambda_0 is at"
    " most eta_V d_s C_x^2/2.",
)


@EQ_60_61.formula
def expected_eigenvalue_at_most(Phi: Features, d_m: Width) -> Any:
    """lambda_min(E F F^T) = tau_1^2 d_m lambda_min(E relu relu^T), an upper bound of E lambda_min(F F^T); a scalar."""
    return lambda_0(Phi, 1)


EQ_60_61.oracle(lambda Phi, delta, d_m: (1 - delta) * lambda_0(Phi, 1) * rational(d_m, 4))
EQ_60_61.mutant("tau_1 = 1", lambda value, d_m: value * d_m)
EQ_60_61.mutant("tau_1 = 1/d_m", lambda value, d_m: value * rational(1, d_m))


@EQ_60_61.inputs
def features_and_failure(Phi: Features, delta: Failure, d_m: Width) -> dict[str, Any]:
    return {"Phi": Phi, "delta": delta, "d_m": d_m}


EQ_60_61.counterexample(
    "Phi = 1, d_m = 16, delta = 1/10: the expectation is 1/2, the printed bound makes it 9/5",
    Phi=[[1]],
    delta="1/10",
    d_m=16,
)


EQ_60_SCALED = Claim(
    CONVERGENCE,
    "convergence.eq-60-61-scaled",
    label="C.4, with tau_1",
    statement=r"\text{NTK initialization}:\ \lambda_{\min}(\hat F_{pre}\hat F_{pre}^\top)\ge\lambda_0/4"
    r"\ \text{w.p.}\ge1-\delta\text{ as"
    r" long as }d_m\ge105\tfrac S{\lambda_0}\log\tfrac{23S}{\lambda_0}\log\tfrac N\delta,\ S=\|\Phi\|_F^2",
    assumptions=["Phi fixed"],
    relation=FollowsLaw(samples=100, instances=2),
    sizes={"N": (2, 3), "d": (2, 4)},
    where=lambda sizes: sizes["N"] <= sizes["d"],
    domains=[],
    corrects="convergence.eq-60-61",
    of_project=True,
)

EQ_60_SCALED.domain("well conditioned")(well_conditioned)


@EQ_60_SCALED.formula
def quarter_of_lambda_0(Phi: Features, eta_V: Variance, d_m: Any) -> float:
    """lambda_0 / 4 at eta_V = 1."""
    return float(lambda_0(Phi, eta_V)) / 4


@EQ_60_SCALED.part("laws")
def ntk_shortfalls(formula: Any, generator: Any, samples: int, Phi: Features) -> list[LawTest]:
    return eigenvalue_shortfalls(formula, generator, samples, Phi, 1.0, ntk=True)


@EQ_60_SCALED.inputs
def features_alone(Phi: Features) -> dict[str, Any]:
    return {"Phi": Phi}


EQ_60_SCALED.mutant("d_m lambda_0 / 4, as printed", lambda Phi, eta_V, d_m: d_m * float(lambda_0(Phi, eta_V)) / 4)
EQ_60_SCALED.mutant("lambda_0", lambda Phi, eta_V: float(lambda_0(Phi, eta_V)))


# -- the loss at initialisation ----------------------------------------------------------------------------------------

INITIALISATIONS = ("LeCun", "He", "NTK")
LOSS_DELTA = 1 / 2

LOSS = Claim(
    CONVERGENCE,
    "convergence.loss-init-sqrt-n",
    label="C.3, C.4",
    statement=r"\text{w.p. at least }1-\delta:\ \sqrt{2\ell(\theta^0)}\le\tilde{\mathcal O}(\sqrt N)",
    assumptions=["initialisations of Table 1", "labels bounded by C_y"],
    relation=FollowsLaw(samples=400, instances=10),
    sizes={"N": (16, 24), "d_s": (1, 2), "d": (1, 3), "d_m": (4, 8)},
    expects="reading",
    reading="sqrt(2 l) <= sqrt(N) (C_y + (v/delta)^{1/2}) with v = eta_O eta_V tau_1^2 d_m d_s^3 C_x^2/2, which depends on d_s, C_x"
    " and, for LeCun and He, on d",
    note="E f(X)^2 <= v for the sum over tokens (w_O is centred, E relu^2 is half the second moment, |X^T beta|^2 <= d_s C_x^2),"
    " then Markov. The paper's Lipschitz argument gives log(1/delta) in place of 1/delta. Tested at delta = 1/2.",
)


@LOSS.formula
def loss_bound(N: SampleCount, C_y: float, v: float) -> float:
    """sqrt(N) (C_y + sqrt(v / delta)) at delta = 1/2 (Appendices C.3 and C.4)."""
    return math.sqrt(N) * (C_y + math.sqrt(v / LOSS_DELTA))


@LOSS.inputs
def data_and_width(X: Samples, d_m: Width) -> dict[str, Any]:
    return {"X": X, "d_m": d_m}


@LOSS.part("laws")
def large_losses(formula: Any, generator: Any, samples: int, X: Samples, d_m: Width) -> list[LawTest]:
    """Whether the residual of labels 1 exceeds the bound more often than delta, for every row of Table 1."""
    import torch

    X = _tensor(X)
    N, d_s, d = X.shape
    C_x = float((X * X).sum((1, 2)).max() / d_s) ** 0.5
    tests = []
    for name in INITIALISATIONS:
        gain = {"LeCun": 1.0, "He": 2.0, "NTK": 1.0}[name]
        eta, eta_O, tau_1 = (1.0, 1.0, d_m**-0.5) if name == "NTK" else (gain / d, gain / d_m, 1.0)
        W = torch.randn(3, samples, d_m, d, generator=generator, dtype=torch.float64) * math.sqrt(eta)
        w_O = torch.randn(samples, d_m, generator=generator, dtype=torch.float64) * math.sqrt(eta_O)
        products = W[0].mT @ W[1] * (1 / d_m if name == "NTK" else d_m**-0.5)
        logits = torch.einsum("nia,sab,njb->snij", X, products, X)
        attended = torch.einsum("snij,njd,smd->snim", logits.softmax(-1), X, W[2])
        outputs = torch.einsum("snim,sm->sn", attended.relu(), w_O) * tau_1
        v = eta_O * eta * tau_1**2 * d_m * d_s**3 * C_x**2 / 2
        above = (outputs - 1).norm(dim=1) > formula(N, 1.0, v)
        tests.append(at_most_probability(f"{name}: residual above the bound", int(above.sum()), len(above), LOSS_DELTA))
    return tests


LOSS.mutant("without sqrt(N)", lambda C_y, v: C_y + math.sqrt(v / LOSS_DELTA))
LOSS.mutant("N^{1/4}", lambda N, C_y, v: float(N**0.25 * (C_y + math.sqrt(v / LOSS_DELTA))))


# -- Appendix C.5 ------------------------------------------------------------------------------------------------------

C5 = Claim(
    CONVERGENCE,
    "convergence.c5-alpha",
    label="C.5",
    statement=r"\alpha^2=\lambda_{\min}(\hat F_{pre}\hat"
    r" F_{pre}^\top)\ge\tau_1^2d_m\lambda_0/4\ge\tau_1^2\eta_Vd_m\Omega(N/d);\ \text{"
    r"LeCun/He: }\alpha^2\ge\Omega(d_mN/d),\ \text{NTK: }\alpha^2\ge\Omega(N/d)",
    assumptions=[
        "Table 1",
        "with probability at least 1/2, so that E alpha^2 is at least half of the bound",
        "c > 0 stands for the constant hidden in Omega",
    ],
    relation=AtMost(ascent=False, signed=True),
    sizes={"N": (2, 5), "d": (1, 2), "d_m": (1, 8)},
    where=lambda sizes: sizes["N"] > sizes["d"],
    expects="refuted",
    severity="error",
    correction="convergence.c5-alpha-bounded",
    note="lambda_0 >= eta_V Omega(N/d) is Lemma 18, which is false: alpha^2 is bounded in N"
    " (convergence.c5-alpha-bounded). Besides,"
    " eta_V = 1/d was lost for LeCun and He, where tau_1^2 eta_V d_m N/d = d_m N/d^2; and alpha belongs to F_pre, which the text"
    " before Eq. (47) fails to reduce to its first token. For NTK the order tau_1^2 d_m = 1 in the width is right.",
)


@C5.formula
def expected_alpha_squared_at_most(Phi: Features, d_m: Width) -> Any:
    """tau_1^2 d_m lambda_0, an upper bound of E lambda_min(F F^T): LeCun, then NTK; shape (2,) (Appendix C.5)."""
    least = lambda_0(Phi, 1)
    return stacked([least * rational(d_m, Phi.shape[1]), least])


@C5.oracle
def half_of_printed_orders(Phi: Features, c: Hidden, d_m: Width) -> Any:
    order = c * rational(Phi.shape[0], 2 * Phi.shape[1])
    return stacked([order * d_m, order])


@C5.inputs
def features_and_constant(Phi: Features, c: Hidden, d_m: Width) -> dict[str, Any]:
    return {"Phi": Phi, "c": c, "d_m": d_m}


@C5.mutant("trace for smallest eigenvalue")
def _(Phi: Features, d_m: Width) -> Any:
    whole = trace(expected_gram(Phi, 1))
    return stacked([whole * rational(d_m, Phi.shape[1]), whole])


@C5.mutant("largest eigenvalue")
def _(Phi: Features, d_m: Width) -> Any:
    largest = symmetric_eigenvalues(expected_gram(Phi, 1))[-1]
    return stacked([largest * rational(d_m, Phi.shape[1]), largest])


C5.counterexample(
    "d = 1, features 1, -1, 1, d_m = 64, hidden constant 10^-9: alpha = 0 at every width",
    Phi=[[1], [-1], [1]],
    c="1/1000000000",
    d_m=64,
)


C5_BOUNDED = Claim(
    CONVERGENCE,
    "convergence.c5-alpha-bounded",
    label="C.5, the bound from above",
    statement=r"\lambda_{\min}(\hat F_{pre}\hat"
    r" F_{pre}^\top)\le\tfrac1N\tau_1^2\|W_V\|_2^2\|\Phi\|_F^2\le\tau_1^2\|W_V\|_2^2d_sC_x^2",
    relation=AtMost(),
    sizes={"N": (1, 4), "d": (1, 3), "d_m": (1, 4)},
    corrects="convergence.c5-alpha",
    of_project=True,
    note="The last member does not depend on N: under Assumption 1 alpha^2 cannot grow with the number of samples.",
)


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


# -- Appendix C.7 ------------------------------------------------------------------------------------------------------

C7 = Claim(
    CONVERGENCE,
    "convergence.c7-residual",
    label="C.7, residual formulas and modified Lemma 10",
    statement=r"A_1=\text{softmax attention}(X)+X,"
    r"\ f(X)=\tau_1w_O^\top\sum_i\sigma_r(W_VX^\top\beta_i+(X^{(i:)})^\top),\ f_{pre}=\tau"
    r"_1w_O^\top\sum_i\sigma_r(W_VX^\top\beta_i+(X^{(i:)})^\top);"
    r"\ \|\tau_1\sum_i\sigma_r(W_V^{t'}X_1^\top\beta_{i,1}^{t'}(X^{(i:)})"
    r")\|_2\le\tau_1d_s(\|W_V^{t'}\|_2d_s^{1/2}C_x+C_x)",
    assumptions=["Assumption 1: ||X||_F <= sqrt(d_s) C_x", "d = d_m, without which A_1 is not defined"],
    relation=AtMost(),
    sizes={"d_s": (1, 3), "d": (1, 3)},
    expects="reading",
    reading="f_pre without w_O^T, a vector of d_m entries as in Table 2, and + between the arguments of sigma_r in the last norm,"
    " as in the lines before; the sum over tokens in place of the average",
    doubt="No operator is legible between the arguments of sigma_r in the last norm. f_pre is printed with w_O^T, which makes"
    " it f.",
    note="The tokens add d_s C_x together, sum_i |X^{(i,:)}| <= sqrt(d_s) ||X||_F, though one of them may be as long as"
    " sqrt(d_s) C_x. The layer formed from the matrix A_1 is compared with the sum over i, entry by entry and in both"
    " directions.",
)


def _residual_layers(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any) -> tuple[Any, Any]:
    """f_pre from the matrix A_1, and as the sum over i of tau_1 relu(W_V X^T beta_i + X^(i)); rows, shape (1, d_m)."""
    A_1 = self_attention(X, W_Q, W_K, W_V, tau_0) + X
    rows = [attention_row(X, W_Q, W_K, tau_0, i).T @ X @ W_V.T + X[i : i + 1] for i in range(X.shape[0])]
    return ones(1, X.shape[0]) @ relu(A_1) * tau_1, sum((relu(row) for row in rows[1:]), relu(rows[0])) * tau_1


def _beside(bound: Any, first: Any, second: Any) -> Any:
    return concatenate([stacked([bound]).reshape(1, 1), first, second], axis=1)


def _residual_bound(X: Any, W_V: Any, tau_1: Any) -> Any:
    length = frobenius_norm(X)  # sqrt(d_s) C_x
    return tau_1 * (spectral_norm(W_V) * length + length / sqrt(X.shape[0])) * X.shape[0]


@C7.formula
def bound_of_residual_layer(X: Tokens, W_Q: SquareQuery, W_K: Square, W_V: Square, tau_0: Scale, tau_1: Scale) -> Any:
    """tau_1 d_s (||W_V||_2 sqrt(d_s) C_x + C_x), then f_pre as the sum over i and by A_1; (1, 2 d_m + 1) (Appendix C.7)."""
    by_matrix, by_tokens = _residual_layers(X, W_Q, W_K, W_V, tau_0, tau_1)
    return _beside(_residual_bound(X, W_V, tau_1), by_tokens, by_matrix)


@C7.oracle
def norm_of_residual_layer(X: Tokens, W_Q: SquareQuery, W_K: Square, W_V: Square, tau_0: Scale, tau_1: Scale) -> Any:
    by_matrix, by_tokens = _residual_layers(X, W_Q, W_K, W_V, tau_0, tau_1)
    return _beside(frobenius_norm(by_matrix), by_matrix, by_tokens)


@C7.inputs
def residual_network(
    X: Tokens, W_Q: SquareQuery, W_K: Square, W_V: Square, tau_0: Scale, tau_1: Scale
) -> dict[str, Any]:
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "tau_0": tau_0, "tau_1": tau_1}


@C7.mutant("without the residual connection")
def _(X: Tokens, W_Q: SquareQuery, W_K: Square, W_V: Square, tau_0: Scale, tau_1: Scale) -> Any:
    by_matrix, by_tokens = _residual_layers(X, W_Q, W_K, W_V, tau_0, tau_1)
    return _beside(tau_1 * spectral_norm(W_V) * frobenius_norm(X) * X.shape[0], by_tokens, by_matrix)


C7.mutant(
    "the residual connection alone", "_residual_bound(X, W_V, tau_1) -> tau_1 * frobenius_norm(X) * sqrt(X.shape[0])"
)
C7.mutant("d_s dropped", "_residual_bound(X, W_V, tau_1) -> _residual_bound(X, W_V, tau_1) / X.shape[0]")


@C7.mutant("the token added after the ReLU")
def _(X: Tokens, W_Q: SquareQuery, W_K: Square, W_V: Square, tau_0: Scale, tau_1: Scale) -> Any:
    by_matrix, _ = _residual_layers(X, W_Q, W_K, W_V, tau_0, tau_1)
    outside = ones(1, X.shape[0]) @ (relu(self_attention(X, W_Q, W_K, W_V, tau_0)) + X) * tau_1
    return _beside(_residual_bound(X, W_V, tau_1), outside, by_matrix)
