"""Why preparations of inputs reach all that meet a condition, in words that several share (`verify.vocabulary.realises`)."""

UNIT_ROWS = "the mirror image of a unit vector may be any unit vector"
SKEW = "every skew S is G - G^T, with G = S/2"
SYMMETRIC = "every symmetric S is M + M^T, with M = S/2"
SYMMETRIC_PRODUCT = (
    "a factor F and F S with a symmetric S: where F has full column rank, every pair with a symmetric product is of this"
    " form"
)
SPECTRAL = "V diag(lambda) V^T: by the spectral theorem every symmetric matrix"
SPECTRAL_PLANE = (
    "equal unit tokens e, and a e^T e + b f^T f with f across e: by the spectral theorem every symmetric matrix of the plane"
    " of which e is an eigenvector"
)
ROTATIONS = (
    "a Cayley transform: every rotation without the eigenvalue -1, and the others are limits of these; free inputs that meet"
    " the condition have the determinant -1 too"
)
FRAMES = (
    "columns of a Cayley transform: every orthonormal system but for limits of these, where there are fewer columns than"
    " rows; of as many, those of determinant 1, and free inputs that meet the condition have the determinant -1 too"
)
#: Of scores whose image lies in the span of B.
IMAGES = (
    "queries and keys lie in the span of B, or one column of the queries leaves it; only S is read of them, and every S whose"
    " image lies in that span is that of some queries and keys in it"
)
#: Of gradients by weights that are compared at orthonormal weights alone.
GRADIENTS = (
    "the columns of W = [W^Q, W^K] are orthonormal, or its rows where they are fewer; every W of full rank is A T with such a"
    " T and a regular A, and both gradients at X and W are A^-T times those at X A and T"
)
