"""Shapes and ranges of what claims are about: N tokens of dimension d, heads of d_v, m or r columns of a basis, K steps."""

from __future__ import annotations

from typing import Annotated, Any

from verify.vocabulary import Real, Shape, Size

# -- the layer ---------------------------------------------------------------------------------------------------------

Tokens = Annotated[Any, Shape("N", "d")]
Query = Annotated[Any, Shape("d", "d_v", role="query")]
Key = Annotated[Any, Shape("d", "d_v")]
Value = Annotated[Any, Shape("d", "d_v")]
Output = Annotated[Any, Shape("d_v", "d")]
#: Weights beside those of the layer: others of the same shape, or directions in which they move.
HeadWeights = Annotated[Any, Shape("d", "d_v")]
#: A single head with d_v = d, or all heads side by side.
SquareQuery = Annotated[Any, Shape("d", "d", role="query")]
SquareWeights = Annotated[Any, Shape("d", "d")]
SkewMatrix = Annotated[Any, Shape("N", "N")]
AttentionMatrix = Annotated[Any, Shape("N", "N")]

# -- bases and free matrices -------------------------------------------------------------------------------------------

Basis = Annotated[Any, Shape("N", "r")]
Coordinates = Annotated[Any, Shape("r", "d")]
#: [Q, K], or a basis of its span, with m = 2 d_v.
Factor = Annotated[Any, Shape("N", "m")]
Square = Annotated[Any, Shape("m", "m")]
#: Free matrices that become orthogonal ones of R^N and of R^d.
TokenFrame = Annotated[Any, Shape("N", "N")]
Frame = Annotated[Any, Shape("d", "d")]
Rectangle = Annotated[Any, Shape("m", "n")]
OtherRectangle = Annotated[Any, Shape("p", "q")]
Column = Annotated[Any, Shape("m", "1")]
#: As many as a matrix of shape (N, m) has singular values.
Values = Annotated[Any, Shape("k", "1")]
Entry = Annotated[Any, Shape("1", "1")]

# -- numbers -----------------------------------------------------------------------------------------------------------

Alpha = Annotated[Any, Real(-2.0, 2.0)]
NonzeroAlpha = Annotated[Any, Real(-2.0, 2.0, avoid_zero=True)]
PositiveAlpha = Annotated[Any, Real(2.0**-8, 2.0)]
NonnegativeAlpha = Annotated[Any, Real(0.0, 2.0)]
Epsilon = Annotated[Any, Real(2.0**-8, 1.0)]
UnitInterval = Annotated[Any, Real(0.0, 1.0)]
#: The logarithm of a factor that makes alpha small.
Decay = Annotated[Any, Real(0.0, 9.0)]
Share = Annotated[Any, Real(2.0**-8, 1.0)]
Steps = Annotated[int, Size("K")]
Length = Annotated[int, Size("N")]
Width = Annotated[int, Size("d")]
HeadSize = Annotated[int, Size("d_v")]
Rank = Annotated[int, Size("r")]
#: Whether queries leave the span of a basis, 0 or 1.
OutsideSpan = Annotated[int, Size("q")]
