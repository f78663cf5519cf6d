"""Queries that may attend to no key: rows of zeros, of equal weights, and rows that nobody reads."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.definitions import masked_attention
from theorems.transformer.kernels import (
    all_keys_for_none, attention_or_mean, attention_or_zero, attention_where_defined, softmax_or_zero, with_some_key,
)  # fmt: skip
from theorems.transformer.settings import Keys, Mask, Queries, Signs, Values, mask_of
from verify.matrix import eye, indexed, ones, rational, sqrt, step
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Claim, Equal, Setting, Shape

#: Of what it is drawn whether a query has keys, and which keys a query without any might be given.
RowSigns = Annotated[Any, Shape("m", "1", role="gate")]
OtherSigns = Annotated[Any, Shape("m", "n", role="gate")]

BINARY = Assumption("M has the entries 0 and 1", zero=lambda M: M * M - M)


def operands(Q: Queries, K: Keys, V: Values, S: Signs, R: RowSigns) -> dict[str, Any]:
    return {"Q": Q, "K": K, "V": V, "M": mask_of(S) * step(R)}


EMPTY = Setting(
    TRANSFORMER, "Attention under any mask", assumptions=[BINARY], inputs=operands, exact=True,
    sizes={"m": (1, 3), "n": (1, 4), "d_K": (1, 4), "d_V": (1, 2)},
)  # fmt: skip

JACOBIAN_V = Claim(EMPTY, "transformer.empty-rows-jacobian-value", label="Derivative in the values, with empty rows",
    statement=r"""\frac{\partial F^0}{\partial V} = P^0\otimes I_{d_V},\quad P^0 = \text{the masked weights, and a row of zeros for
        a query without keys}""",
    name="derivative in the values where queries have no keys", relation=Equal(), all_sizes=True)  # fmt: skip


@JACOBIAN_V.formula
def value_jacobian(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """P^0 (x) I, shape (m d_V, n d_V)."""
    return indexed("ij,ab->(i a)(j b)", softmax_or_zero(Q @ K.T / sqrt(Q.shape[1]), M), eye(V.shape[1]))


JACOBIAN_V.oracle(lambda Q, K, V, M: jacobian(attention_or_zero, "V")(Q, K, V, M))
JACOBIAN_V.mutant("all keys for a query without any", "softmax_or_zero(Q @ K.T / sqrt(Q.shape[1]), M) -> "
                  "softmax_or_zero(Q @ K.T / sqrt(Q.shape[1]), all_keys_for_none(M))")  # fmt: skip
JACOBIAN_V.mutant("no scale", "sqrt(Q.shape[1]) -> 1")

JACOBIAN_Q = Claim(EMPTY, "transformer.empty-rows-jacobian-query", label="Derivative in the queries, with empty rows",
    statement=r"""\frac{\partial F^0_{ia}}{\partial Q_{ib}} = \frac{e_i}{\sqrt{d_K}}\sum_jP^0_{ij}(V_{ja}-F^0_{ia})K_{jb},\quad
        e_i = 1 \text{ where query } i \text{ has keys, else } 0,\ P^0\text{ the masked weights, and a row of zeros where
        }e_i = 0""",
    name="derivative in the queries where some have no keys", relation=Equal(), all_sizes=True,
    note="No derivative is lost elsewhere: the formula is that without empty rows.")  # fmt: skip


@JACOBIAN_Q.formula
def query_jacobian(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """Covariances of values and keys, zero for queries without keys, shape (m d_V, m d_K)."""
    P, identity = softmax_or_zero(Q @ K.T / sqrt(Q.shape[1]), M), eye(Q.shape[0])
    own = indexed("ij,ja,jb,ik->(i a)(k b)", P, V, K, identity)
    return (own - indexed("ia,ib,ik->(i a)(k b)", P @ V, P @ K, identity)) / sqrt(Q.shape[1])


JACOBIAN_Q.oracle(lambda Q, K, V, M: jacobian(attention_or_zero, "Q")(Q, K, V, M))
JACOBIAN_Q.mutant("values not centred", "P @ V -> 0 * (P @ V)")
JACOBIAN_Q.mutant("no scale", lambda value, Q: value * sqrt(Q.shape[1]))

UNIFORM = Claim(EMPTY, "transformer.empty-rows-mean", label="Zeros or the mean of the values",
    statement=r"F^{\text{mean}} = F^0 + (1 - e)\frac1n\mathbf 1^\top V,\quad e_i = 1\text{ where query }i\text{ has keys, else }0",
    name="two conventions for queries without keys", relation=Equal(), all_sizes=True)  # fmt: skip


@UNIFORM.formula
def zeros_and_means(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """Rows with zeros, to which the mean of the values is added where there are no keys, shape (m, d_V)."""
    n = K.shape[0]
    return attention_or_zero(Q, K, V, M) + (1 - with_some_key(M)) @ (ones(1, n) @ V) * rational(1, n)


UNIFORM.oracle(lambda Q, K, V, M: attention_or_mean(Q, K, V, M))
UNIFORM.mutant("the sum of the values", "rational(1, n) -> 1")
UNIFORM.mutant("the mean in every row", "1 - with_some_key(M) -> 1 + 0 * with_some_key(M)")

MEAN_Q = Claim(EMPTY, "transformer.empty-rows-mean-jacobian", label="Derivatives under both conventions",
    statement=r"\frac{\partial F^{\text{mean}}}{\partial Q} = \frac{\partial F^0}{\partial Q}",
    name="derivative in the queries under both conventions", relation=Equal(), all_sizes=True,
    uses=("transformer.empty-rows-jacobian-query",))  # fmt: skip


@MEAN_Q.formula
def query_jacobian_of_the_mean(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """Covariances of values and keys, zero for queries without keys, shape (m d_V, m d_K)."""
    return query_jacobian(Q, K, V, M)


MEAN_Q.oracle(lambda Q, K, V, M: jacobian(attention_or_mean, "Q")(Q, K, V, M))
MEAN_Q.mutant("all keys for a query without any", lambda Q, K, V, M: query_jacobian(Q, K, V, all_keys_for_none(M)))
MEAN_Q.mutant("no scale", lambda value, Q: value * sqrt(Q.shape[1]))


def with_other_rows(Q: Queries, K: Keys, V: Values, S: Signs, R: RowSigns, N: OtherSigns) -> dict[str, Any]:
    return {**operands(Q, K, V, S, R), "N": mask_of(N)}


UNREAD = Claim(EMPTY, "transformer.empty-rows-unread", label="What empty rows attend to is not seen",
    statement=r"""e\circ F^0(Q, K, V, M) = e\circ F(Q, K, V, M + (1-e)\circ N)\ \text{for any mask } N \text{ that leaves every
        query some key},\quad e_i = 1\text{ where query }i\text{ has keys, else }0""",
    name="rows of queries without keys do not count", relation=Equal(),
    note="So a kernel may do as it likes there: no other row, and no derivative of one, depends on it.")  # fmt: skip


UNREAD.inputs(with_other_rows)


@UNREAD.formula
def rows_with_keys(Q: Queries, K: Keys, V: Values, M: Mask, N: OtherSigns) -> Any:
    """Attention with other keys for the queries that have none, whose rows are set to zero, shape (m, d_V)."""
    seen = with_some_key(M)
    return masked_attention(Q, K, V, M + (1 - seen) * N) * seen


UNREAD.oracle(lambda Q, K, V, M: attention_where_defined(Q, K, V, M))
UNREAD.mutant("these rows read", lambda Q, K, V, M, N: masked_attention(Q, K, V, M + (1 - with_some_key(M)) * N))
UNREAD.mutant("the other keys in all rows", "M + (1 - seen) * N -> N")
