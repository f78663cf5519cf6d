"""The last hidden layer and the loss at initialisation: Eqs. (47) and (48), and sqrt(2 l(theta^0)) = O(sqrt(N)).

F_pre F_pre^T is no sum of positive semidefinite matrices, so Eq. (47) fails; Eq. (48) needs d_m >= N at least.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import KeyWeights, QueryWeights, Samples, ValueWeights, last_hidden_layer
from theorems.convergence.part_c_1_lemmas.constants import stacked
from theorems.convergence.part_c_3_theorem_1.minimum_eigenvalue import expected_gram, lambda_0, smallest_eigenvalue
from theorems.convergence.part_d_1_limiting_kernel.gradients import attention_row
from theorems.convergence.settings import Features, SampleCount, Scale, Variance, Width, drawn
from verify.matrix import relu, smallest_singular_value, spectral_norm, sqrt, stack_rows, symmetric_eigenvalues, trace
from verify.oracles import LawTest, at_most_probability, standard_normal
from verify.vocabulary import (
    Assumption, AtMost, Claim, Construction, Definition, Equal, FollowsLaw, Reading, Real, Setting, checked,
)  # fmt: skip

# -- the sum over tokens -----------------------------------------------------------------------------------------------

NETWORK = Setting(CONVERGENCE, "Eq. (47)", sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 3), "d_m": (1, 4)})


def token_layer(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any, i: int) -> Any:
    """tau_1 relu(Phi_i W_V^T), shape (N, d_m): the contribution of token i to F_pre for the sum over tokens."""
    Phi = stack_rows([attention_row(X[n], W_Q, W_K, tau_0, i).T @ X[n] for n in range(X.shape[0])])
    return relu(Phi @ W_V.T) * tau_1


def _layers(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any) -> list[Any]:
    return [token_layer(X, W_Q, W_K, W_V, tau_0, tau_1, i) for i in range(X.shape[1])]


EQ_47 = Claim(NETWORK, "convergence.eq-47-psd-sum", label="Text before Eq. (47) (also C.4, C.5)",
    statement=r"""F_{pre}F_{pre}^\top\text{ is the summation of PSD matrices, thus, it suffices to lower bound:
        }\lambda_{\min}(\hat F_{pre}\hat F_{pre}^\top),\ \hat F_{pre}\hat F_{pre}^\top=\tau_1^2\sigma_r(\Phi
        W_v^\top)\sigma_r(\Phi W_v^\top)^\top""",
    assumptions=[
        Definition(
            "F_pre = sum over tokens i of tau_1 sigma_r(Phi_i W_V^T), Phi_1 = Phi", by=(last_hidden_layer, token_layer)
        ),
    ],
    name="hidden-layer Gram matrix as a PSD sum", relation=AtMost(ascent=False), expects="refuted", severity="error",
    correction="convergence.eq-47-perturbed",
    consequence=r"""A lower bound for the first token says nothing about $F_{pre}$, so that Theorems 1 and 2 have no
        lower bound of $\alpha$ for more than one token; use convergence.eq-47-perturbed.""",
    note=r"""With $F_{pre} = \sum_i F_i$ the product is $\sum_{i,j} F_i F_j^\top$; its mixed terms are not positive
        semidefinite. Two samples with the same tokens in different order have the same $F_{pre}$, so $F_{pre}
        F_{pre}^\top$ is singular, while the first tokens attend differently. The counterexample holds for the average
        over tokens too, $1/d_s^2$ times 0. A neighbourhood of its weights has $F_{pre} F_{pre}^\top$ as near to
        singular as one likes.""")  # fmt: skip


@EQ_47.formula
def eigenvalue_of_hidden_layer(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale,
                               tau_1: Scale) -> Any:  # fmt: skip
    """lambda_min(F_pre F_pre^T) for the sum over tokens, a scalar, which is to be bounded below."""
    F = last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1, "sum")
    return smallest_eigenvalue(F @ F.T)


@EQ_47.oracle
def eigenvalue_of_first_token(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale,
                              tau_1: Scale) -> Any:  # fmt: skip
    F = token_layer(X, W_Q, W_K, W_V, tau_0, tau_1, 0)
    return smallest_eigenvalue(F @ F.T)


EQ_47.mutant("largest eigenvalue", "smallest_eigenvalue(F @ F.T) -> symmetric_eigenvalues(F @ F.T)[-1]")
EQ_47.mutant(
    "a sum of positive semidefinite matrices F_i F_i^T",
    lambda X, W_Q, W_K, W_V, tau_0, tau_1: smallest_eigenvalue(
        sum(F @ F.T for F in _layers(X, W_Q, W_K, W_V, tau_0, tau_1))
    ),
)


@EQ_47.counterexample(
    "N = d_s = d = d_m = 2, identity weights, samples I_2 and its rows exchanged: 0 against tanh(1/2)^2"
)
def _() -> dict[str, Any]:
    unit = [[1, 0], [0, 1]]
    return {"X": [unit, unit[::-1]], "W_Q": unit, "W_K": unit, "W_V": unit, "tau_0": 1, "tau_1": 1}


EQ_47_PERTURBED = Claim(NETWORK, "convergence.eq-47-perturbed",
    label="Text before Eq. (47), with what the other tokens may take away",
    statement=r"""\sigma_{\min}(F_{pre})\ge d_s\sigma_{\min}(\hat F_{pre})-\sum_i\|F_i-\hat F_{pre}\|_2,\quad
        F_i=\tau_1\sigma_r(\Phi_iW_V^\top),\ \hat F_{pre}=F_1""",
    assumptions=[Definition("F_pre = sum over tokens i of F_i", by=(last_hidden_layer, token_layer))],
    name="smallest singular value of the hidden layer",
    relation=AtMost(signed=True),
    corrects="convergence.eq-47-psd-sum", of_project=True,
    note=r"""Weyl's inequality. For the average of Eq. (1.2) everything is $1/d_s$ times as large. At $\tau_0 = 1/d_m$
        the sum tends to 0 relative to the rest as the width grows; at $d_m^{-1/2}$ it does not.""")  # fmt: skip


@EQ_47_PERTURBED.formula
def singular_value_of_hidden_layer(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale,
                                   tau_1: Scale) -> Any:  # fmt: skip
    """sigma_min(F_pre) for the sum over tokens, a scalar."""
    return smallest_singular_value(last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1, "sum"))


@EQ_47_PERTURBED.oracle
def perturbed_singular_value(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale,
                             tau_1: Scale) -> Any:  # fmt: skip
    layers = _layers(X, W_Q, W_K, W_V, tau_0, tau_1)
    first = smallest_singular_value(layers[0])
    return first * X.shape[1] - sum((spectral_norm(F - layers[0]) for F in layers[1:]), first * 0)


EQ_47_PERTURBED.mutant("average over tokens on one side only", pooling="average")
EQ_47_PERTURBED.mutant("tau_1 twice", lambda value, tau_1: value * tau_1)


# -- Eq. (48) and its use under NTK initialisation ---------------------------------------------------------------------

#: The failure probabilities at which the bounds of this module are tested.
DELTAS = (1 / 2, 1 / 8, 1 / 32)
CHERNOFF = (
    "d_m >= 105 (S/lambda_0) log(23 S/lambda_0) log(N/delta), S = eta_V ||Phi||_F^2 <= eta_V N d_s C_x^2: the hidden constant"
    " depends on eta_V d_s C_x^2"
)


def _beside(generator: Any, array: Any) -> Any:
    """The array as a tensor on the device of `generator`, where its samples are."""
    import torch

    return torch.as_tensor(array, dtype=torch.float64, device=generator.device)


def sufficient_width(Phi: Any, eta_V: float, delta: float) -> int:
    """The width of `CHERNOFF`."""
    ratio = eta_V * float((Phi * Phi).sum()) / float(lambda_0(Phi, eta_V))
    return math.ceil(105 * ratio * math.log(23 * ratio) * math.log(Phi.shape[0] / delta))


def eigenvalue_shortfalls(share: Any, generator: Any, samples: int, Phi: Any, eta_V: Any, ntk: bool) -> list[LawTest]:
    """Whether lambda_min(tau_1^2 relu relu^T) falls below tau_1^2 d_m `share` too often; in units of tau_1^2 d_m."""
    import torch

    Phi, eta_V = _beside(generator, Phi), float(eta_V)
    tests = []
    for delta in DELTAS:
        d_m = sufficient_width(Phi, eta_V, delta)
        least = share(Phi, eta_V, d_m)
        below = 0
        for _ in range(samples):
            W_V = standard_normal(generator, Phi, d_m, Phi.shape[1]) * math.sqrt(eta_V)
            features = (Phi @ W_V.T).relu()
            smallest = float(torch.linalg.eigvalsh(features @ features.T)[0])
            below += (smallest / d_m if ntk else smallest) < least
        tests.append(at_most_probability(f"below the bound, delta = {delta}, d_m = {d_m}", below, samples, delta))
    return tests


def well_conditioned(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Rows near to orthogonal ones of different lengths, so that the sufficient width stays small."""
    Phi = arrays["Phi"]
    Phi[:] = rng.integers(-2, 3, Phi.shape) / 16
    for n in range(sizes["N"]):
        Phi[:, n, n] += 1 + n / 4


CONDITIONED = Setting(
    CONVERGENCE, "Eq. (48)", sizes={"N": (2, 3), "d": (2, 4)}, where=lambda sizes: sizes["N"] <= sizes["d"],
    special_domains={"well conditioned": well_conditioned},
)  # fmt: skip

PHI_FIXED = Construction("Phi fixed as d_m grows", shapes={"Phi": ("N", "d")})

#: What the samples of these laws have in common.
ANY_PHI = {
    "Phi has distinct rows": "with equal rows lambda_0 is 0, and nothing is claimed",
    "Phi has a condition number below 100": "a small lambda_0 asks for a width that no sample has; the proof in the note of"
    " convergence.eq-48 uses no condition number",
}

EQ_48 = Claim(CONDITIONED, "convergence.eq-48", label="Eq. (48)", name="eigenvalue concentration at large width",
    statement=r"""\lambda_{\min}(\hat F_{pre}\hat F_{pre}^\top)\ge d_m\lambda_0/4\ \text{w.p.}\ge1-\delta_1\text{ as
        long as }d_m\ge\tilde\Omega(N/\lambda_0)""",
    assumptions=[
        Definition("LeCun/He (tau_1 = 1): entries of W_V independent N(0, eta_V)", by=eigenvalue_shortfalls), PHI_FIXED,
        Assumption("eta_V > 0", positive=lambda eta_V: eta_V),
    ],
    relation=FollowsLaw(samples=100, instances=2), domains=[], expects="reading", needless=ANY_PHI,
    reading=Reading(r"d_m \geq \tilde{\Omega}(N/\lambda_0)", r"""$d_m \ge 105 (S/\lambda_0) \log(23 S/\lambda_0)
            \log(N/\delta)$, $S = \eta_V \|\Phi\|_F^2 \le \eta_V N d_s C_x^2$: the hidden constant depends on $\eta_V
            d_s C_x^2$"""),
    note=r"""With a constant that depends on nothing else it is false: $\lambda_0$ grows with the square of the data, so
        for large $C_x$ the quotient $N/\lambda_0$ falls below 1, and at $d_m < N$ the matrix is singular
        (convergence.eq-48-narrow). Proof of the reading: $E \exp(Y/4S) \le \sqrt{2}$ for $Y = |\Phi w|^2$; cut at $R =
        8 S \log(16 \sqrt{2} S/\lambda_0)$, which leaves at least $\lambda_0/2$ of the smallest eigenvalue; the matrix
        Chernoff bound at half of that fails with at most $N \exp(-0.153 d_m \lambda_0/(2R))$. Tested at $\delta = 1/2$,
        1/8 and 1/32.""")  # fmt: skip


@EQ_48.formula
def quarter_of_expected_eigenvalue(Phi: Features, eta_V: Variance, d_m: Any) -> float:
    """d_m lambda_0 / 4 (Eq. (48))."""
    return d_m * float(lambda_0(Phi, eta_V)) / 4


@EQ_48.part("laws")
def lecun_shortfalls(formula: Any, generator: Any, samples: int, Phi: Features, eta_V: Variance) -> list[LawTest]:
    return eigenvalue_shortfalls(formula, generator, samples, Phi, eta_V, ntk=False)


EQ_48.inputs(drawn(Phi=Features, eta_V=Variance))
EQ_48.mutant("d_m lambda_0, its expected order, without 1/4", "4 -> 1")
EQ_48.mutant("mean of the diagonal for lambda_0",
    lambda Phi, eta_V, d_m: d_m * float(trace(expected_gram(Phi, eta_V))) / Phi.shape[0])  # fmt: skip


NARROW = Claim(CONVERGENCE, "convergence.eq-48-narrow", label="Eq. (48) for fewer neurons than samples",
    statement=r"d_m<N\ \Rightarrow\ \lambda_{\min}(\hat F_{pre}\hat F_{pre}^\top)=0\text{ for all weights and data}",
    name="hidden layer with fewer neurons than samples", relation=Equal(),
    assumptions=[Assumption("d_m < N", sizes=lambda sizes: sizes["d_m"] < sizes["N"])],
    sizes={"N": (2, 4), "d": (1, 3), "d_m": (1, 3)}, of_project=True,
    note=r"""Decided as: the $N - 1$ largest eigenvalues add up to the trace. Multiplying the data by any $s$
        divides $N/\lambda_0$ by $s^2$, so any condition $d_m \ge K N/\lambda_0$ with a constant $K$ that does not depend on the
        data admits $d_m = 1 < N$, where Eq. (48) fails for every draw of the weights.""")  # fmt: skip


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


# -- the loss at initialisation ----------------------------------------------------------------------------------------

INITIALISATIONS = ("LeCun", "He", "NTK")


@checked
def loss_bound(N: SampleCount, C_y: float, v: float, delta: float) -> float:
    """sqrt(N) (C_y + sqrt(v / delta)) (Appendices C.3 and C.4)."""
    return math.sqrt(N) * (C_y + math.sqrt(v / delta))


def large_losses(formula: Any, generator: Any, samples: int, X: Samples, d_m: Width) -> list[LawTest]:
    """Whether the residual of labels 1 exceeds the bound more often than delta, for every row of Table 1."""
    import torch

    X = _beside(generator, X)
    N, d_s, d = X.shape
    C_x = float((X * X).sum((1, 2)).max() / d_s) ** 0.5
    tests = []
    for name in INITIALISATIONS:
        gain = {"LeCun": 1.0, "He": 2.0, "NTK": 1.0}[name]
        eta, eta_O, tau_1 = (1.0, 1.0, d_m**-0.5) if name == "NTK" else (gain / d, gain / d_m, 1.0)
        W = standard_normal(generator, X, 3, samples, d_m, d) * math.sqrt(eta)
        w_O = standard_normal(generator, X, samples, d_m) * math.sqrt(eta_O)
        products = W[0].mT @ W[1] * (1 / d_m if name == "NTK" else d_m**-0.5)
        logits = torch.einsum("nia,sab,njb->snij", X, products, X)
        attended = torch.einsum("snij,njd,smd->snim", logits.softmax(-1), X, W[2])
        outputs = torch.einsum("snim,sm->sn", attended.relu(), w_O) * tau_1
        v = eta_O * eta * tau_1**2 * d_m * d_s**3 * C_x**2 / 2
        residuals = (outputs - 1).norm(dim=1)
        for delta in DELTAS:
            above = int((residuals > formula(N, 1.0, v, delta)).sum())
            tests.append(
                at_most_probability(f"{name}: residual above the bound, delta = {delta}", above, samples, delta)
            )
    return tests


TABLE_1 = Definition("initialisations of Table 1", by=large_losses)

LOSS = Claim(CONVERGENCE, "convergence.loss-init-sqrt-n", label="C.3, C.4", name="loss at initialisation",
    statement=r"\text{w.p. at least }1-\delta_2\text{, one has }\sqrt{2\ell(\theta^0)}\le\tilde{\mathcal O}(\sqrt N)",
    assumptions=[TABLE_1, Definition("labels bounded by C_y: all of them are 1 = C_y", by=large_losses)],
    relation=FollowsLaw(samples=400, instances=10), sizes={"N": (16, 24), "d_s": (1, 3), "d": (1, 3), "d_m": (4, 8)},
    expects="gap", presumes=("convergence.loss-init-any-labels",), correction="convergence.loss-init-bounded-labels",
    missing="labels of finite second moment (here: bounded by $C_y$)",
    note=r"""The hidden constant: $\sqrt{2 \ell} \le \sqrt{N} (C_y + (v/\delta)^{1/2})$ with $v = \eta_O \eta_V \tau_1^2
        d_m d_s^3 C_x^2/2$, which depends on $\delta$, $d_s$, $C_x$ and, for LeCun and He, on $d$. $E f(X)^2 \le v$ for
        the sum over tokens ($w_O$ is centred, $E \mathrm{relu}^2$ is half the second moment, $|X^\top \beta|^2 \le d_s
        C_x^2$), then Markov. The paper's Lipschitz argument gives $\log(1/\delta)$ in place of $1/\delta$. Tested at
        $\delta = 1/2$, 1/8 and 1/32.""")  # fmt: skip


LOSS.inputs(drawn(X=Samples, d_m=Width))
LOSS.formula(loss_bound)
LOSS.part("laws", large_losses)
LOSS.mutant("without sqrt(N)", "math.sqrt(N) -> 1")
LOSS.mutant("N^{1/4}", "math.sqrt(N) -> N ** 0.25")

BOUNDED_LABELS = LOSS.corrected("convergence.loss-init-bounded-labels", label="C.3, C.4, for bounded labels",
    statement=r"""|y_n|\le C_y,\ \|X_n\|_F\le\sqrt{d_s}C_x:\ \text{with probability at least }1-\delta,\
        \sqrt{2\ell(\theta^0)}\le\sqrt N\big(C_y+(v/\delta)^{1/2}\big),\ v=\tfrac12\eta_O\eta_V\tau_1^2d_md_s^3C_x^2""",
    assumptions=[TABLE_1, Definition("f with the sum over tokens, labels all 1 = C_y", by=large_losses)],
    levels={"delta": DELTAS}, name="loss at initialisation, bounded labels", mutants=True,
    note=r"""Tested at $\delta = 1/2$, 1/8 and 1/32. For the average over tokens $v$ is $d_s^2$ times smaller.""")  # fmt: skip
BOUNDED_LABELS.formula(loss_bound)


@checked
def probability_of_small_residuals(N: SampleCount, K: Annotated[Any, Real(1.0, 4.0)]) -> Any:
    """(1 - 1 / (2 K sqrt(N)))^N, a scalar: no residual exceeds K sqrt(N)."""
    return (1 - 1 / (K * 2 * sqrt(N))) ** N


ANY_LABELS = Claim(CONVERGENCE, "convergence.loss-init-any-labels", label="C.3, C.4, for labels of any law",
    statement=r"""\text{iid labels of any law},\ K\text{ independent of }N:\ P(\sqrt{2\ell(\theta^0)}\le K\sqrt N)\ge1-\delta""",
    assumptions=[
        Definition(
            "labels symmetric, P(|y| >= t) = 1/t for t >= 1, independent of samples and weights",
            by=probability_of_small_residuals,
        ),
        Assumption("K >= 1", nonnegative=lambda K: K - 1),
        Assumption("0 < delta < 1", positive=lambda delta: stacked([delta, 1 - delta])),
    ],
    name="loss at initialisation, unbounded labels", relation=AtMost(left="1 - delta", signed=True),
    sizes={"N": (1024, 1040)}, expects="refuted", severity="error", of_project=True,
    note=r"""Given the outputs, $|f(X_n) - y_n| \ge |y_n|$ where the sign of $y_n$ is the other one, so each residual
        exceeds $t$ with probability at least $1/(2t)$; all stay below $K \sqrt N$ with probability at most $(1 - 1/(2 K
        \sqrt N))^N$, which tends to 0. Section 3.1 has labels in $Y \subseteq \mathbb R$ of an unknown law, without a
        bound or a moment; logarithms in $\tilde O$ change nothing.""")  # fmt: skip


ANY_LABELS.formula(probability_of_small_residuals)
ANY_LABELS.inputs(drawn(N=SampleCount, K=Annotated[Any, Real(1.0, 4.0)], delta=Annotated[Any, Real(0.0078125, 0.5)]))
ANY_LABELS.oracle(lambda delta: 1 - delta)
ANY_LABELS.mutant("one residual only", "(1 - 1 / (K * 2 * sqrt(N))) ** N -> 1 - 1 / (K * 2 * sqrt(N))")
ANY_LABELS.mutant("tail 1/t^2", "1 / (K * 2 * sqrt(N)) -> 1 / (K * K * 2 * N)")
ANY_LABELS.counterexample("N = 1024, K = 1, delta = 1/2: probability below 10^-6", N=1024, K="1", delta="1/2")
