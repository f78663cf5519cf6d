"""The weights of queries and keys: Theorem C.2, and the W~ through which the layer sees them (Appendix C.2).

The Jacobian of exp(S) depends on them through W~ alone; that of the A of Theorem C.3 does only for orthonormal [W^Q, W^K].
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.shared.matrices import orthogonal_matrix
from theorems.osa import OSA
from theorems.osa.definitions import attention, orthonormal_columns, query_key_generator, whole_heads
from theorems.osa.settings import (
    HEADS, LAYER, ORTHONORMAL_QUERIES_AND_KEYS, UNTRAINED, gram_defect, layer, newton_schulz_jacobian,
    orthonormal_queries_and_keys, two_heads,
)  # fmt: skip
from theorems.osa.shapes import Alpha, Epsilon, Frame, Key, Output, Query, Steps, Tokens, Value
from verify.matrix import COLUMN, concatenate, expm, ones, rational, sqrt, total
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, HasStructure, Setting, Shape, realises

# -- query and key weights ---------------------------------------------------------------------------------------------

C2_DIMS = Claim(OSA, "osa.c2-dims", label="Appendix C.2, text", name="head size of the query-key initialisation",
    statement=r"\text{this scheme requires } 2d_v\le d \text{ which is satisfied for } h>1",
    assumptions=[
        Assumption("d_v = d/h for h > 1 heads", sizes=lambda sizes: whole_heads(sizes) and sizes["d_v"] < sizes["d"])
    ],
    relation=AtMost(left="2 d_v"), sizes={"d": (2, 9), "d_v": (1, 4)},
    note=r"""For $h = 1$, $d_v = d$ and the scheme of Appendix C.2 does not exist: no $2d$ columns of $\mathbb{R}^d$ are
        orthonormal.""",
)  # fmt: skip
C2_DIMS.inputs(W_Q=Query, W_K=Key)


@C2_DIMS.formula
def token_dimension(W_Q: Query) -> Any:
    """d, a scalar."""
    return W_Q.shape[0]


C2_DIMS.oracle(lambda W_Q, W_K: W_Q.shape[1] + W_K.shape[1])
C2_DIMS.mutant("d - d_v, as for h > 2", lambda value, W_Q: value - W_Q.shape[1])
C2_DIMS.mutant("d - 1", lambda value: value - 1)

ORTHONORMAL_COLUMNS = Assumption(
    "[W^Q, W^K] in R^{d x 2 d_v} has orthonormal columns",
    zero=lambda W_Q, W_K: gram_defect(concatenate([W_Q, W_K], axis=1)),
)
THEOREM_C2 = Claim(Setting(OSA, scales=[UNTRAINED]), "osa.thm-c.2", label="Theorem C.2, Eq. (14)",
    statement=r"""\text{We assume } 2d_v \le d. \text{ If we initialise } \mathbf{W}^Q,\mathbf{W}^K \text{ such that }
        [\mathbf{W}^Q,\mathbf{W}^K]\in\mathbb{R}^{d\times2d_v} \text{ forms an orthonormal matrix, we have }
        \kappa(\tilde{\mathbf{W}})=1. \text{ Specifically, we have that the non-zero singular values of }
        \tilde{\mathbf{W}} \text{ are } 1""",
    assumptions=[Assumption("2 d_v <= d", sizes=lambda sizes: 2 * sizes["d_v"] <= sizes["d"]), ORTHONORMAL_COLUMNS],
    name="condition number of the query-key matrix", relation=HasStructure(), all_sizes=True,
    hypotheses=(ORTHONORMAL_COLUMNS,), sizes={"d": (2, 6), "d_v": (1, 3)},
    where=lambda sizes: 2 * sizes["d_v"] <= sizes["d"], proof=("osa.eq-53",), exact=True,
)  # fmt: skip
THEOREM_C2.inputs(orthonormal_queries_and_keys)


@THEOREM_C2.formula
def query_key_matrix(W_Q: Query, W_K: Key) -> Any:
    """W~ = W_Q W_K^T - W_K W_Q^T, shape (d, d) (Theorem C.2)."""
    return query_key_generator(W_Q, W_K)


@THEOREM_C2.part("structure")
def nonzero_singular_values_are_one(value: Any, W_Q: Query) -> Any:
    """W W^T W - W vanishes exactly if every nonzero singular value of W is 1; ||W||_F^2 then counts them.

    The count, 2 d_v, is what Eqs. (51)-(53) give; without it W = 0, which has no condition number, would pass.
    """
    cube = value @ value.T @ value - value
    excess = total(value * value) - 2 * W_Q.shape[1]
    return concatenate([cube, ones(1, value.shape[1]) * excess], axis=0)


THEOREM_C2.mutant("skew part with its factor 1/2", lambda W_Q, W_K: (W_Q @ W_K.T - W_K @ W_Q.T) * rational(1, 2))
THEOREM_C2.mutant("second product dropped", lambda W_Q, W_K: W_Q @ W_K.T)
THEOREM_C2.mutant("key instead of query in the first product", lambda W_Q, W_K: W_K @ W_K.T - W_K @ W_Q.T)

VIA_GENERATOR = Claim(HEADS, "osa.c2-via-wtilde", label="Appendix C.2, text",
    statement=r"""\text{From Equation 13, we note that the query, key weights only affect the Jacobian via the term: }
        \tilde{\mathbf{W}}=\mathbf{W}^Q(\mathbf{W}^K)^\top-\mathbf{W}^K(\mathbf{W}^Q)^\top. \text{ To see this in more
        detail, we refer to the proof of Theorem C.3 which shows that the Jacobian of } \mathbf{A}(\mathbf{X}) \text{ is
        a function of } \tilde{\mathbf{W}}""",
    assumptions=[Definition("A = exp(S) (Eq. (5)), from which Eq. (13) is", by=attention)],
    name="Jacobian as a function of the query-key matrix", relation=Equal(), all_sizes=True,
    sizes={"N": (1, 3), "d": (1, 3), "d_v": (1, 3)}, expects="gap", uses=("osa.thm-c.1",),
    proof=("osa.c2-via-wtilde-newton-schulz",), correction="osa.c2-via-wtilde-orthonormal", exact=True,
    consequence=r"""With Newton-Schulz, weights with the same $\tilde{W}$ can give different Jacobians, so that
        $\tilde{W}$ alone decides nothing; among orthonormal $[W^Q,W^K]$ it determines the Jacobian
        (osa.c2-via-wtilde-orthonormal).""",
    note=r"""True of $A = \exp(S)$. The proof of Theorem C.3 speaks of another $A$, made from Newton-Schulz iterates of
        $[XW^Q, XW^K]$, which is a function of $\tilde{W}$ only where $[W^Q, W^K]$ has orthonormal columns. The author
        would say that the theorem assumes just that; but its proof does not show it there, and the sentence, from which
        the initialisation is derived, is about weights not yet chosen. What to use instead:
        osa.c2-via-wtilde-orthonormal.""",
)  # fmt: skip


@VIA_GENERATOR.inputs
def any_layer(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    return layer(X, W_Q, W_K, W_V, W_O, alpha)


def _generated(X: Any, W: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    """The Jacobian of exp(alpha / sqrt(d_v) X W X^T) X W_V W_O, which knows the query and key weights through W alone."""
    scale = alpha / sqrt(W_V.shape[1])

    def head(X: Any) -> Any:
        return expm(X * scale @ W @ X.T) @ X @ W_V @ W_O

    return jacobian(head, "X", COLUMN)(X)


@VIA_GENERATOR.formula
def jacobian_through_generator(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    """J as a function of W~ = W_Q W_K^T - W_K W_Q^T, shape (N d, N d), column-major."""
    return _generated(X, query_key_generator(W_Q, W_K), W_V, W_O, alpha)


VIA_GENERATOR.oracle(
    lambda X, W_Q, W_K, W_V, W_O, alpha: jacobian(attention, "X", COLUMN)(X, W_Q, W_K, W_V, W_O, alpha)
)
VIA_GENERATOR.mutant("through W_Q W_K^T alone", "query_key_generator(W_Q, W_K) -> W_Q @ W_K.T")
VIA_GENERATOR.mutant("through the symmetric part", "query_key_generator(W_Q, W_K) -> W_Q @ W_K.T + W_K @ W_Q.T")
VIA_GENERATOR.mutant("sign reversed", "W_Q -> W_K; W_K -> W_Q")

SAME_GENERATOR = Assumption(
    "[W^Q, W^K] and [P^Q, P^K] have the same W~",
    zero=lambda W_Q, W_K, P_Q, P_K: query_key_generator(W_Q, W_K) - query_key_generator(P_Q, P_K),
)

VIA_GENERATOR_NEWTON_SCHULZ = Claim(LAYER, "osa.c2-via-wtilde-newton-schulz",
    label="Appendix C.2, text, for the A of the proof of Theorem C.3",
    statement=r"""
        \mathbf{A} = \mathbf{I}_N + \mathbf{B}(\exp[\mathbf{S}] - \mathbf{I}_{2d_v})\mathbf{B}^\top, \mathbf{B} \text{
        from Newton-Schulz: the Jacobian of } \mathbf{A}(\mathbf{X}) \text{ is a function of } \tilde{\mathbf{W}}""",
    assumptions=[SAME_GENERATOR],
    name="Newton-Schulz Jacobian and the query-key matrix", relation=Equal(),
    sizes={"N": (1, 3), "d": (2, 3), "d_v": (1, 2), "K": (0, 2)}, expects="refuted", severity="error",
    of_project=True,
    note=r"The iterates start from $[XW^Q, XW^K]$, whose singular values $\tilde{W}$ does not determine.",
)  # fmt: skip


@VIA_GENERATOR_NEWTON_SCHULZ.inputs
@realises({"have the same W~": "W~ is kept by what [P^Q, P^K] differs in"})
def sheared_weights(
    X: Tokens, W_Q: Query, W_K: Key, shear: Annotated[Any, Shape("d_v", "d_v")], alpha: Alpha, epsilon: Epsilon,
    K: Steps,
) -> Any:  # fmt: skip
    # W_Q (W_K + W_Q H)^T - (W_K + W_Q H) W_Q^T = W~ for symmetric H
    P_K = W_K + W_Q @ (shear + shear.T)
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "P_Q": W_Q, "P_K": P_K, "alpha": alpha, "epsilon": epsilon, "K": K}


@VIA_GENERATOR_NEWTON_SCHULZ.formula
def newton_schulz_jacobian_of_weights(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha, epsilon: Epsilon, K: Steps) -> Any:
    """dvec A/dvec X, shape (N^2, N d), column-major, for A from K Newton-Schulz steps."""
    return newton_schulz_jacobian(X, W_Q, W_K, alpha, epsilon, K)


VIA_GENERATOR_NEWTON_SCHULZ.oracle(
    lambda X, P_Q, P_K, alpha, epsilon, K: newton_schulz_jacobian(X, P_Q, P_K, alpha, epsilon, K)
)
VIA_GENERATOR_NEWTON_SCHULZ.mutant("halved", lambda value: value * rational(1, 2))
VIA_GENERATOR_NEWTON_SCHULZ.mutant("queries and keys exchanged", "W_Q -> W_K; W_K -> W_Q")


@VIA_GENERATOR_NEWTON_SCHULZ.counterexample("queries doubled, keys halved, no Newton-Schulz step")
def queries_doubled() -> dict[str, Any]:
    columns = {"W_Q": [[1], [0]], "W_K": [[0], [1]], "P_Q": [[2], [0]], "P_K": [[0], ["1/2"]]}
    return {"X": [[1, 0], [0, 1]], **columns, "alpha": 1, "epsilon": 1, "K": 0}


VIA_GENERATOR_NEWTON_SCHULZ.counterexample("the same after two steps", lambda: {**queries_doubled(), "K": 2})

VIA_GENERATOR_ORTHONORMAL = Claim(OSA, "osa.c2-via-wtilde-orthonormal",
    label="Appendix C.2, text, for Newton-Schulz and orthonormal [W^Q, W^K]",
    statement=r"""[\mathbf{W}^Q, \mathbf{W}^K] \text{ and } [\mathbf{P}^Q, \mathbf{P}^K] \text{ with orthonormal columns
        and the same } \tilde{\mathbf{W}} \text{ give the same } \mathbf{A}(\mathbf{X}) \text{ from Newton-Schulz, for
        every } K, \text{ hence the same Jacobian: } [\mathbf{P}^Q, \mathbf{P}^K] = [\mathbf{W}^Q,
        \mathbf{W}^K]\mathbf{R} \text{ with } \mathbf{R} \text{ orthogonal and symplectic}""",
    assumptions=[
        ORTHONORMAL_QUERIES_AND_KEYS,
        Assumption(
            "[P^Q, P^K] has orthonormal columns", zero=lambda P_Q, P_K: gram_defect(concatenate([P_Q, P_K], axis=1))
        ),
        SAME_GENERATOR,
    ],
    name="Newton-Schulz Jacobian for orthonormal queries and keys", relation=Equal(),
    sizes={"N": (1, 3), "d": (2, 4), "d_v": (1, 2), "K": (0, 2)},
    where=lambda sizes: two_heads(sizes) and sizes["N"] * sizes["d"] <= 8, corrects="osa.c2-via-wtilde",
    of_project=True,
)  # fmt: skip


@VIA_GENERATOR_ORTHONORMAL.inputs
@realises(
    {
        "[W^Q, W^K] in V": reached.FRAMES,
        "[P^Q, P^K] has orthonormal": "orthonormal columns times a matrix that is orthogonal",
        "have the same W~": "W~ is kept by what [P^Q, P^K] differs in",
    }
)
def rotated_weights(
    X: Tokens, frame: Frame, turn: Annotated[Any, Shape("d_v", "d_v")], mix: Annotated[Any, Shape("d_v", "d_v")],
    alpha: Alpha, epsilon: Epsilon, K: Steps,
) -> Any:  # fmt: skip
    d_v = turn.shape[0]
    W = orthonormal_columns(frame, 2 * d_v)
    # the Cayley transform of a skew matrix that commutes with [[0, I], [-I, 0]] does so too
    blocks = [concatenate([turn, mix], axis=1), concatenate([-mix, turn], axis=1)]
    P = W @ orthogonal_matrix(concatenate(blocks, axis=0))
    weights = {"W_Q": W[:, :d_v], "W_K": W[:, d_v:], "P_Q": P[:, :d_v], "P_K": P[:, d_v:]}
    return {"X": X, **weights, "alpha": alpha * rational(1, 3), "epsilon": epsilon, "K": K}


VIA_GENERATOR_ORTHONORMAL.formula(newton_schulz_jacobian_of_weights)


VIA_GENERATOR_ORTHONORMAL.oracle(
    lambda X, P_Q, P_K, alpha, epsilon, K: newton_schulz_jacobian(X, P_Q, P_K, alpha, epsilon, K)
)
VIA_GENERATOR_ORTHONORMAL.mutant("queries times 8 and keys over 8, which keeps W~",
    "W_Q -> W_Q * 8; W_K -> W_K * rational(1, 8)")  # fmt: skip
VIA_GENERATOR_ORTHONORMAL.mutant("queries and keys exchanged", "W_Q -> W_K; W_K -> W_Q")
VIA_GENERATOR_ORTHONORMAL.mutant("one more Newton-Schulz step", "K -> K + 1")
