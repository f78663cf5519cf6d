"""Appendix D.2: the smallest eigenvalue of Z*^T Z*, for which the proof of Lemma 17 cites Zhu et al."""

from __future__ import annotations

import math
from typing import Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.part_d_2_minimum_eigenvalue.many_samples import spanning_support
from theorems.convergence.settings import Support, drawn
from verify.oracles import LawTest, at_most_probability
from verify.vocabulary import Claim, Definition, FollowsLaw


def sufficient_number(rows: Any, d_s: int) -> int:
    """The least N for which d exp(-N / (8 d_s^2 B)) is at most e^{-d}, B the largest squared norm of the rows."""
    d = rows.shape[1]
    return math.ceil(8 * d_s**2 * float((rows * rows).sum(1).max()) * (d + math.log(d)))


ZHU = Claim(CONVERGENCE, "convergence.lemma-17-zhu", label="Proof of Lemma 17, by Proposition 4 of Zhu et al.",
    statement=r"""\text{Therefore, by Proposition 4 of Zhu et al. [2022]), we have
        }\lambda_{\min}(Z^{\star\top}Z^\star)\ge\Theta(N/d)
        \ \text{[with probability at least }1-e^{-d}\text{ when }N\ge\Omega(d^4)]""",
    name="smallest eigenvalue of whitened samples", relation=FollowsLaw(samples=200, instances=3), domains=[],
    sizes={"m": (3, 4), "d_s": (1, 3), "d": (1, 3)}, uses=("convergence.lemma-17-chernoff",),
    assumptions=[
        Definition("samples independent and uniform on the rows of `support`; Sigma = E[x x^T] for the sum x of the tokens, as in "
                   "Assumption 4; N the least number for which the matrix Chernoff bound fails with probability at most e^{-d}",
                   by=sufficient_number),
    ],
    note=r"""The source is not at hand. Decided is what the proof takes from it, for the rows of $Z^\star = \Phi^\star
        \Sigma^{-1/2}$ of
        bounded samples: $\lambda_{\min}(Z^{\star\top} Z^\star) \ge N / (2 d_s^2)$, which is at least $N / (2 d_s^2 d)$. The
        constant hidden in $\Theta$ depends on $d_s$, that in $\Omega$ on $d_s$, $C_x$ and $C_\Sigma$. The $N \times N$ matrix
        of Lemma 17 does not follow from it (convergence.lemma-17-eig-swap).""",
)  # fmt: skip


@ZHU.formula
def half_of_the_mean(N: int, d: int, d_s: int) -> float:
    """N / (2 d_s^2), a number that is at least Theta(N/d) (proof of Lemma 17)."""
    return N / (2 * d_s**2)


@ZHU.part("laws")
def eigenvalues_of_whitened_samples(formula: Any, generator: Any, samples: int, support: Support) -> list[LawTest]:
    """Whether lambda_min(Z*^T Z*) falls below the bound more often than e^{-d}."""
    import torch

    support = torch.as_tensor(support, dtype=torch.float64, device=generator.device)
    m, d_s, d = support.shape
    sums = support.sum(1)
    values, vectors = torch.linalg.eigh(sums.T @ sums / m)
    rows = support.mean(1) @ vectors / values.sqrt() @ vectors.T
    N = sufficient_number(rows, d_s)
    Z = rows[torch.randint(m, (samples, N), generator=generator, device=generator.device)]
    below = torch.linalg.eigvalsh(Z.mT @ Z)[:, 0] < formula(N, d, d_s)
    return [at_most_probability(f"below the bound at N = {N}", int(below.sum()), samples, math.exp(-d))]


ZHU.inputs(drawn(support=Support))
ZHU.domain("spanning support", spanning_support)
ZHU.mutant("twice the mean", "2 * d_s ** 2 -> d_s ** 2 / 2")
ZHU.mutant("3/2 of the mean", "2 * d_s ** 2 -> d_s ** 2 * 2 / 3")
