"""Sections 4.2-4.3: what the identity of a skip does to the condition number of K, and how that compares with the MLP's.

The shift helps a K that is ill-conditioned beside the bound by its symmetric part; in general it may as well make K singular.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import QueryWeights, Tokens, Weights
from theorems.skipless.quantities import INVERSE, flatness, input_jacobian
from theorems.skipless.sampling import (
    at_least_half, batched_input_jacobian, conditions, flat_singular_values, normal, truncated_normal,
)  # fmt: skip
from verify.matrix import eye, rational, spectral_norm, symmetric_eigenvalues
from verify.oracles import LawTest
from verify.vocabulary import Assumption, AtMost, Claim, Construction, Definition, FollowsLaw, Setting, Shape, checked

if TYPE_CHECKING:
    import torch

Factor = Annotated[Any, Shape("k", "k")]

OF_ATTENTION = Setting(SKIPLESS, "Section 4.3", sizes={"n": (1, 3), "d": (1, 2)})


@checked
def flatness_with_skip(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """1 / kappa(K + I), a scalar: at least 1 / kappa(K) if the identity helps."""
    K, I = input_jacobian(X, W_Q, W_K, W_V, W_O), eye(X.shape[0] * X.shape[1])
    return flatness(K + I)


def symmetric_part(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """mu, the least eigenvalue of (K + K^T) / 2, a scalar."""
    K = input_jacobian(X, W_Q, W_K, W_V, W_O)
    return symmetric_eigenvalues((K + K.T) * rational(1, 2))[0]


def flatness_without_skip(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """1 / kappa(K), a scalar."""
    return flatness(input_jacobian(X, W_Q, W_K, W_V, W_O))


def room_for_the_skip(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """1 + mu - (1 + |K|) / kappa(K), a scalar."""
    K = input_jacobian(X, W_Q, W_K, W_V, W_O)
    return 1 + symmetric_part(X, W_Q, W_K, W_V, W_O) - (1 + spectral_norm(K)) * flatness(K)


IDENTITY = Claim(OF_ATTENTION, "skipless.sec4.3-identity-conditioning",
    label="Section 4.3, text comparing Eqs. (8) and (9)", name="conditioning by adding the identity",
    statement=r"""\text{Comparing Eqs. (8) and (9), we can see clearly how the skip connections (}\mathbf{I}_{nd}\text{
        term) help network conditioning. As we stated before in assumption ii), compared to the conditioning of the MLP
        }\hat{\mathbf{K}}_\ell\text{, the conditioning of the SA }\mathbf{K}_\ell\text{ is much worse (explored in
        Section 5.1 under default truncated normal initialization with Proposition 1). The addition of the identity
        matrix }\mathbf{I}_{nd}\text{ in Eq. (8) shifts the spectrum of }\mathbf{K}_\ell\text{ from zero, regularizing
        the smallest singular values}""",
    assumptions=[
        Definition("'helps': kappa(K + I) <= kappa(K)", by=flatness_with_skip),
        INVERSE,
        Assumption("mu > -1, which is not printed",
            positive=lambda X, W_Q, W_K, W_V, W_O: 1 + symmetric_part(X, W_Q, W_K, W_V, W_O)),
        Assumption("kappa(K) >= (1 + |K|) / (1 + mu), which is not printed", nonnegative=room_for_the_skip),
    ],
    relation=AtMost(left="1 / kappa(K)"), expects="gap", presumes=("skipless.sec4.3-identity-any",),
    missing=r"""the least eigenvalue $\mu$ of the symmetric part of $K$ is above $-1$, and $K$ is as badly conditioned as
        $\kappa(K) \ge (1 + \|K\|_2)/(1 + \mu)$""",
    correction="skipless.sec4.3-identity-symmetric-part", uses=("skipless.sec4.3-identity-symmetric-part",),
    consequence=r"""A skip connection can make a well-conditioned block nearly singular, so that its benefit is not
        automatic; check the least eigenvalue $\mu$ of the symmetric part of $K$: for $\mu > -1$, $\kappa(K+I) \le
        (1+\|K\|_2)/(1+\mu)$ (skipless.sec4.3-identity-symmetric-part).""",
    note=r"""Then $\kappa(K + I) \le (1 + \|K\|)/(1 + \mu) \le \kappa(K)$. The sentence before speaks of the default
        initialisation and of a badly conditioned $K$, where it is true as far as tried; of $K$ in general nothing is
        assumed, and of some it is false (skipless.sec4.3-identity-any). It is true for symmetric positive semidefinite
        $K$, and wherever $\|K\| < 1$ and $\kappa(K) \ge (1 + \|K\|)/(1 - \|K\|)$, as under the default initialisation
        at small $d$: $\|K\|$ is near 0.01 at $n = 4$, $d = 12$. At $d = 384$ $\|K\|$ is near 3, and $\kappa$ falls all
        the same, from $10^8$ to 13 at $n = 4$.""")  # fmt: skip

IDENTITY.formula(flatness_with_skip)
IDENTITY.oracle(flatness_without_skip)
IDENTITY.mutant("half of 1 / kappa(K + I)", lambda value: value / 2)
IDENTITY.mutant("square of 1 / kappa(K + I)", lambda value: value * value)


ANY_JACOBIAN = Claim(OF_ATTENTION, "skipless.sec4.3-identity-any", label="Conditioning of K + I, for every K",
    statement=r"\kappa(\mathbf{K}+\mathbf{I})\le\kappa(\mathbf{K})", name="identity added to any Jacobian", of_project=True,
    assumptions=[Definition("K = dvec SA(X)/dvec X of Eq. (7)", by=input_jacobian), INVERSE],
    relation=AtMost(left="1 / kappa(K)"), expects="refuted", severity="error",
    correction="skipless.sec4.3-identity-symmetric-part",
    note=r"""The shift by 1 takes eigenvalues from zero on the right and to zero on the left: $K + I$ is singular for $K =
        -I$, and a reflection, which the SVD initialisation of Section 5.1 gives with probability 1/2, loses: $\kappa$
        goes from 1 to $(c^2 + 1)/|c^2 - 1|$ for $d = 2$: 1.25 at the printed $c = 3$. In the example with two tokens
        $\kappa$ goes from 1.012 to 1500.""")  # fmt: skip

ANY_JACOBIAN.formula(flatness_with_skip)
ANY_JACOBIAN.oracle(flatness_without_skip)
ONE, ZERO = [[1, 0], [0, 1]], [[0, 0], [0, 0]]
ANY_JACOBIAN.counterexample(
    "one token, W_V W_O = c^2 diag(1, -1) with c = 3: kappa(K) = 1, kappa(K + I) = 5/4",
    X=[[1, 1]], W_Q=ZERO, W_K=ZERO, W_V=[[3, 0], [0, 3]], W_O=[[3, 0], [0, -3]],
)  # fmt: skip
ANY_JACOBIAN.counterexample(
    "one token, W_V W_O = diag(-1, 1): kappa(K) = 1, K + I is singular",
    X=[[1, 1]], W_Q=ZERO, W_K=ZERO, W_V=ONE, W_O=[[-1, 0], [0, 1]],
)  # fmt: skip
ANY_JACOBIAN.counterexample(
    "two opposite tokens: kappa(K) < 1.02, kappa(K + I) > 1000",
    X=[[1, 1], [-1, -1]], W_Q=[[-1, 1], [-1, 0]], W_K=[[-1, 1], [0, 1]], W_V=[[1, 0], [-1, 1]], W_O=[[1, 0], [1, -1]],
)  # fmt: skip
ANY_JACOBIAN.mutant("K - 3 I", "I -> -3 * I")
ANY_JACOBIAN.mutant("K + I/2", "K -> 2 * K")


SYMMETRIC_PART = Claim(OF_ATTENTION, "skipless.sec4.3-identity-symmetric-part",
    label="Conditioning of K + I by the symmetric part of K", name="conditioning by the symmetric part, plus identity",
    statement=r"""\mu=\lambda_{\min}\big(\tfrac12(\mathbf{K}+\mathbf{K}^\top)\big)>-1\ \Rightarrow\
        \kappa(\mathbf{K}+\mathbf{I}) \le\frac{1+\|\mathbf{K}\|_2}{1+\mu}""",
    assumptions=[
        INVERSE,
        Assumption("mu > -1", positive=lambda X, W_Q, W_K, W_V, W_O: 1 + symmetric_part(X, W_Q, W_K, W_V, W_O)),
    ],
    relation=AtMost(), of_project=True, corrects=("skipless.sec4.3-identity-conditioning", "skipless.sec4.3-identity-any"),
    note=r"""$\|(K + I)x\| \ge x^\top(K + I)x \ge 1 + \mu$ and $\|(K + I)x\| \le 1 + \|K\|$ for unit $x$, for any square
        $K$. So the skip helps where $\kappa(K)$ is above that quotient: for $\|K\| < 1$ it is at most $(1 + \|K\|)/(1 -
        \|K\|)$ (skipless.sec4.3-identity-small), for positive semidefinite $K$ at most $\kappa(K)$
        (skipless.sec4.3-identity-positive), and norms above 1, as at $d = 384$ under the default initialisation where
        $\|K\|$ is near 3, are covered. Attained for one token and $W^VW^O = \operatorname{diag}(s, -t)$, $0 \le t \le
        s$, $t < 1$.""")  # fmt: skip

SYMMETRIC_PART.formula(flatness_with_skip)


@SYMMETRIC_PART.oracle
def least_flatness_by_symmetric_part(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(1 + mu) / (1 + |K|), a scalar."""
    norm = spectral_norm(input_jacobian(X, W_Q, W_K, W_V, W_O))
    return (1 + symmetric_part(X, W_Q, W_K, W_V, W_O)) / (1 + norm)


SYMMETRIC_PART.mutant("without the skip", "I -> 0 * I")
SYMMETRIC_PART.mutant("half of 1 / kappa(K + I)", lambda value: value / 2)


@IDENTITY.domain("small value weights")
@SYMMETRIC_PART.domain("small value weights")
def values_near_a_sign(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """W_V of entries of order 1/16 or near 2 I, W_O close to a signed identity."""
    arrays["W_V"] = np.round(arrays["W_V"] * 32) / 256 + np.eye(sizes["d"]) * rng.choice([0.0, 2.0])
    arrays["W_O"] = np.round(arrays["W_O"] * 16) / 256 + np.eye(sizes["d"]) * rng.choice([-1.0, 1.0], sizes["d"]) / 2


def below_one(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """1 - |K|, a scalar."""
    return 1 - spectral_norm(input_jacobian(X, W_Q, W_K, W_V, W_O))


SMALL = Claim(OF_ATTENTION, "skipless.sec4.3-identity-small", label="Conditioning of K + I for |K| < 1",
    statement=r"\|\mathbf{K}\|_2<1\ \Rightarrow\ \kappa(\mathbf{K}+\mathbf{I})\le\frac{1+\|\mathbf{K}\|_2}{1-\|"
    r"\mathbf{K}\|_2},\ \text{hence}\ \kappa(\mathbf{K}+\mathbf{I})\le\kappa(\mathbf{K})\ \text{if}\ \kappa("
    r"\mathbf{K})\ge\frac{1+\|\mathbf{K}\|_2}{1-\|\mathbf{K}\|_2}",
    assumptions=[INVERSE, Assumption("|K| < 1", positive=below_one)],
    name="identity added to a small Jacobian", relation=AtMost(), all_sizes=True, of_project=True,
    uses=("skipless.sec4.3-identity-symmetric-part",),
    note=r"""$1 - \|K\| \le \|(K + I)x\| \le 1 + \|K\|$ for unit $x$. Attained for one token and $W^VW^O =
        \operatorname{diag}(s, -s)$.""")  # fmt: skip

SMALL.formula(flatness_with_skip)


@SMALL.oracle
def least_flatness_with_skip(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """(1 - |K|) / (1 + |K|), a scalar."""
    norm = spectral_norm(input_jacobian(X, W_Q, W_K, W_V, W_O))
    return (1 - norm) / (1 + norm)


SMALL.mutant("without the skip", "I -> 0 * I")
SMALL.mutant("square of 1 / kappa(K + I)", lambda value: value * value)


@SMALL.domain("small value weights")
def small_values(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """W_V of entries of order 1/16, W_O close to a signed identity."""
    arrays["W_V"] = np.round(arrays["W_V"] * 32) / 256
    arrays["W_O"] = np.round(arrays["W_O"] * 16) / 256 + np.eye(sizes["d"]) * rng.choice([-1.0, 1.0], sizes["d"]) / 2


POSITIVE = Claim(SKIPLESS, "skipless.sec4.3-identity-positive",
    label="Conditioning of K + I for positive semidefinite K", name="identity added to a semidefinite Jacobian",
    statement=r"\mathbf{K}=\mathbf{K}^\top\succeq0\ \Rightarrow\ \kappa(\mathbf{K}+\mathbf{I})\le\kappa(\mathbf{K})",
    assumptions=[INVERSE, Construction("K = G G^T, as is every symmetric positive semidefinite matrix", shapes={"G": ("k", "k")})],
    relation=AtMost(left="1 / kappa(G G^T)"), all_sizes=True, sizes={"k": (1, 4)}, of_project=True,
    note=r"""$(s_{\max} + 1)/(s_{\min} + 1) \le s_{\max}/s_{\min}$. The Jacobian of attention is hardly ever symmetric;
        for general $K$ with $K + K^\top \succeq 0$ it may fail, as for $\operatorname{diag}(1, R)$ with $R$ the
        rotation by 90 degrees.""")  # fmt: skip


@POSITIVE.formula
def flatness_of_shifted(G: Factor) -> Any:
    """1 / kappa(G G^T + I), a scalar."""
    return flatness(G @ G.T + eye(G.shape[0]))


POSITIVE.oracle(lambda G: flatness(G @ G.T))
POSITIVE.mutant("minus the identity", lambda G: flatness(G @ G.T - eye(G.shape[0])))
POSITIVE.mutant("G instead of G G^T", lambda G: flatness(G + eye(G.shape[0])))


# -- default initialisation --------------------------------------------------------------------------------------------

N, D, DRAWS = 4, 12, 100


@functools.lru_cache(maxsize=4)
def _both_conditions(seed: int) -> tuple[Any, Any]:
    """kappa(K) and kappa(K-hat) of DRAWS layers."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    X = normal(generator, DRAWS, N, D)
    Q, K, V, O = (truncated_normal(generator, DRAWS, D, D) for _ in range(4))
    first, second = truncated_normal(generator, DRAWS, D, 4 * D), truncated_normal(generator, DRAWS, 4 * D, D)

    def mlp(x: Any, W_1: Any, W_2: Any) -> Any:
        return torch.nn.functional.gelu(x @ W_1) @ W_2

    by_token = torch.func.vmap(torch.func.vmap(torch.func.jacrev(mlp), in_dims=(0, None, None)))(X, first, second)
    spectrum = flat_singular_values(by_token).reshape(DRAWS, -1)  # K-hat is block diagonal over tokens
    attention = batched_input_jacobian(X, Q @ K.transpose(1, 2), V @ O)
    return conditions(attention), spectrum.amax(1) / spectrum.amin(1)


SA_WORSE = Claim(SKIPLESS, "skipless.sec4.3-sa-worse-than-mlp", label="Sections 4.2-4.3, text",
    statement=r"""\text{compared to the conditioning of the MLP }\hat{\mathbf{K}}_\ell\text{, the conditioning of the SA
        }\mathbf{K}_\ell\text{ is much worse (explored in Section 5.1 under default truncated normal initialization with
        Proposition 1)}""",
    assumptions=[Definition("truncated normal weights, tokens N(0, I)", by=(truncated_normal, normal)),
        Definition("GELU, hidden width 4d: ViT's; the paper states neither", by=_both_conditions)],
    name="conditioning of attention against the MLP", relation=FollowsLaw(samples=DRAWS, instances=1),
    expects="empirical",
    observed=r"""$n = 4$ tokens of dimension $d = 12$, weights of standard deviation 0.02 cut at two of them, 100 draws:
        $\kappa(K)$ is more than 100 times $\kappa(\hat{K})$ in at least half of them; medians about $10^6$ and $10^2$,
        the former near the product of $\kappa(A)$ and $\kappa(W^VW^O)$""")  # fmt: skip


@SA_WORSE.formula
def median_ratio() -> tuple[float, int]:
    """A lower bound of the median of kappa(K) / kappa(K-hat), and the power of that quotient."""
    return 100.0, 1


@SA_WORSE.part("laws")
def compared(formula: Callable[[], tuple[float, int]], generator: torch.Generator) -> list[LawTest]:
    least_ratio, power = formula()
    attention, feed_forward = _both_conditions(generator.initial_seed())
    return [at_least_half("kappa(K) / kappa(K-hat)", (attention / feed_forward) ** power >= least_ratio)]


SA_WORSE.mutant("the MLP worse than the SA", lambda: (100.0, -1))
SA_WORSE.mutant("a ratio of 10^9", lambda: (1000000000.0, 1))
