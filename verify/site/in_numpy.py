"""The engine's matrix functions in a few lines of numpy each: what snippets of counterexamples are made from.

Read as text by `byhand`, without docstrings.  Derivatives are central differences.
"""

# mypy: ignore-errors

import numpy as np

ROW = "row"
COLUMN = "column"
#: What numpy and Python have under another name.
exact_scalar = float
sqrt = np.sqrt
exp = np.exp
log = np.log
cos = np.cos
sin = np.sin
absolute = np.abs
maximum = np.max
total = np.sum
eye = np.eye
trace = np.trace
diag_part = np.diagonal
hadamard = np.multiply
not_later = np.tri
causal_mask = np.tri
transpose = np.transpose
symmetric_eigenvalues = np.linalg.eigvalsh
inverse = np.linalg.inv
determinant = np.linalg.det
added = sum
parts = np.split
frobenius_norm = np.linalg.norm


def rational(a, b=1):
    """a / b."""
    return a / b


def is_tensor(x):
    """Whether it is a torch tensor, which no array here is."""
    return False


def relu(x):
    """Entrywise max(x, 0)."""
    return np.maximum(x, 0.0)


def step(x):
    """Entrywise derivative of relu, 0 at 0."""
    return (np.asarray(x) > 0).astype(float)


def zeros(m, n):
    """The zero matrix."""
    return np.zeros((m, n))


def ones(m, n):
    """The matrix of ones."""
    return np.ones((m, n))


def basis_vector(n, i):
    """A unit vector as a column."""
    return np.eye(n)[:, i : i + 1]


def basis_matrix(m, n, i, j):
    """The matrix with a single one."""
    return np.eye(m)[:, i : i + 1] @ np.eye(n)[j : j + 1]


def vec_r(A):
    """Rows stacked."""
    return A.reshape(-1, 1)


def vec_c(A):
    """Columns stacked."""
    return A.T.reshape(-1, 1)


def unvec_r(v, m, n):
    """The matrix whose rows are stacked in v."""
    return v.reshape(m, n)


def commutation_matrix(n, m):
    """K vec_r(A) = vec_r(A^T)."""
    return np.eye(m * n)[np.arange(m * n).reshape(m, n).T.reshape(-1)]


def row_sums(A):
    """Sums over each row, a column."""
    return A.sum(1).reshape(-1, 1)


def row_norms(A):
    """Norms of the rows, a column."""
    return np.sqrt((A * A).sum(1)).reshape(-1, 1)


def normalize_rows(A):
    """Rows divided by their norms."""
    return A / np.sqrt((A * A).sum(1)).reshape(-1, 1)


def centred(A):
    """Each row less its mean."""
    return A - A.mean(1, keepdims=True)


def layer_norm(A):
    """Rows of mean 0, scaled to the squared norm of their width."""
    C = A - A.mean(1, keepdims=True)
    return C / np.sqrt((C * C).mean(1, keepdims=True))


def rows_within(M, first, end):
    """The rows first, ..., end - 1, as far as there are."""
    return M[max(first, 0) : max(end, 0)]


def softmax(T):
    """Row softmax."""
    weights = np.exp(T - T.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def expm(A):
    """The matrix exponential, by scaling, a power series and squaring."""
    B, term = A / 1024, np.eye(len(A))
    result = term
    for k in range(1, 20):
        term = term @ B / k
        result = result + term
    for _ in range(10):
        result = result @ result
    return result


def kron(*factors):
    """The Kronecker product."""
    result = factors[0]
    for factor in factors[1:]:
        result = np.kron(result, factor)
    return result


def kron_matmul(factors, M):
    """(A_1 (x) ... (x) A_r) M."""
    return kron(*factors) @ M


def concatenate(blocks, axis):
    """Blocks joined, members of lists among them."""
    flat = [part for block in blocks for part in (block if isinstance(block, (list, tuple)) else [block])]
    return np.concatenate(flat, axis=axis)


def stack_rows(rows):
    """One-dimensional rows as a matrix."""
    return np.array([np.ravel(row) for row in rows])


def khatri_rao(A_blocks, B_blocks):
    """Block by block Kronecker products."""
    return np.concatenate([np.kron(A, B) for A, B in zip(A_blocks, B_blocks)])  # noqa: B905


def block_diag(blocks):
    """The block-diagonal matrix."""
    result = np.zeros((sum(B.shape[0] for B in blocks), sum(B.shape[1] for B in blocks)))
    i = j = 0
    for B in blocks:
        result[i : i + B.shape[0], j : j + B.shape[1]] = B
        i, j = i + B.shape[0], j + B.shape[1]
    return result


def diag(v):
    """The diagonal matrix of a vector."""
    return np.diag(np.ravel(v))


def column(*scalars):
    """Scalars on top of each other."""
    return np.array([float(np.ravel(x)[0]) for x in scalars]).reshape(-1, 1)


def iterated(count, step, start):
    """step(step(... start)), so many times."""
    for _ in range(count):
        start = step(start)
    return start


def stepped(count, step, *starts):
    """What step(k, ...) makes of matrices that move together, for k = 0, ..., count - 1."""
    states = starts
    for k in range(count):
        found = step(k, *states)
        states = found if isinstance(found, (list, tuple)) else (found,)
    return states[0] if len(states) == 1 else tuple(states)


def visited(count, step, *starts):
    """What `stepped` comes to after 1, ..., count steps; a list for each start."""
    states, families = starts, tuple([] for _ in starts)
    for k in range(count):
        found = step(k, *states)
        states = found if isinstance(found, (list, tuple)) else (found,)
        for family, state in zip(families, states):  # noqa: B905
            family.append(state)
    return families[0] if len(starts) == 1 else families


def each(n, entry):
    """entry(0), ..., entry(n - 1)."""
    return [entry(i) for i in range(n)]


def summed(n, term):
    """term(0) + ... + term(n - 1)."""
    return sum(term(i) for i in range(n))


def indexed(pattern, *operands):
    """A sum of products over indices: "il,ij->(i j)(l)" groups those of the result into rows and columns."""
    inputs, output = pattern.replace(" ", "").split("->")
    groups = output.replace("(", " ").replace(")", " ").split()
    sizes = {i: n for names, A in zip(inputs.split(","), operands) for i, n in zip(names, A.shape)}  # noqa: B905
    names = "".join(groups)
    distinct = "".join(dict.fromkeys(names))
    values, places = np.einsum(inputs + "->" + distinct, *operands), np.indices([sizes[i] for i in distinct])
    result = np.zeros([sizes[i] for i in names])
    result[tuple(places[distinct.index(i)] for i in names)] = values
    return result.reshape([int(np.prod([sizes[i] for i in group])) for group in groups])


def parts_of_width(M, width, axis):
    """The parts of this width along an axis."""
    return np.split(M, M.shape[axis] // width, axis)


def mapped(function, *families):
    """A function of the matrices of some lists."""
    return [function(*matrices) for matrices in zip(*families)]  # noqa: B905


def Normal(rows, columns, variance=1):
    """A matrix of independent normal entries of mean 0."""
    return rows, columns, variance


def expectation(f, **normals):
    """E f by the moments of the monomials in f: E g^m = (m - 1)!! variance^(m / 2)."""

    class Polynomial:
        def __init__(self, terms):
            self.terms = terms

        def __add__(self, other):
            found = dict(self.terms)
            for key, x in getattr(other, "terms", {(): other}).items():
                found[key] = found.get(key, 0.0) + x
            return Polynomial(found)

        def __mul__(self, other):
            found = {}
            for a, x in self.terms.items():
                for b, y in getattr(other, "terms", {(): other}).items():
                    key = tuple(sorted(a + b))
                    found[key] = found.get(key, 0.0) + x * y
            return Polynomial(found)

        def __sub__(self, other):
            return self + other * -1.0

        def mean(self):
            total = 0.0
            for key, x in self.terms.items():
                for g in set(key):
                    m = key.count(g)
                    x *= 0 if m % 2 else np.prod(np.arange(1, m, 2)) * normals[g[0]][2] ** (m // 2)
                total += x
            return total

        __radd__, __rmul__ = __add__, __mul__

    matrices = {}
    for name, (rows, columns, _) in normals.items():
        matrices[name] = np.empty((rows, columns), dtype=object)
        for i, j in np.ndindex(rows, columns):
            matrices[name][i, j] = Polynomial({((name, i, j),): 1.0})

    def mean(**given):
        value = f(**matrices, **given)
        return np.array([[entry.mean() for entry in row] for row in value])

    return mean


def singular_values(A):
    """Singular values, descending."""
    return np.linalg.svd(A, compute_uv=False)


def spectral_norm(A):
    """The largest singular value."""
    return np.linalg.svd(A, compute_uv=False)[0]


def smallest_singular_value(A):
    """The smallest singular value."""
    return np.linalg.svd(A, compute_uv=False)[-1]


def smallest_gain(A):
    """The smallest |A x| over unit vectors x."""
    s = np.linalg.svd(A, compute_uv=False)
    return s[-1] if A.shape[0] >= A.shape[1] else 0.0


def condition_number(A):
    """Largest over smallest singular value."""
    s = np.linalg.svd(A, compute_uv=False)
    return s[0] / s[-1]


def effective_condition_number(A, rank):
    """Largest over smallest nonzero singular value."""
    s = np.linalg.svd(A, compute_uv=False)
    return s[0] / s[rank - 1]


def _slopes(f, x):
    """Central differences of f at x, one column per entry of x."""
    columns = []
    for i in range(x.size):
        h = np.zeros(x.size)
        h[i] = 1e-5
        h = h.reshape(x.shape)
        columns.append(np.ravel(np.asarray(f(x + h)) - np.asarray(f(x - h))) / 2e-5)
    return np.array(columns).T


def jacobian(f, wrt, layout="row", by=""):
    """d vec f / d vec wrt, by central differences."""
    import inspect

    def differentiated(*args, **kwargs):
        given = {**dict(zip(inspect.signature(f).parameters, args)), **kwargs}  # noqa: B905
        x = np.asarray(given[wrt], dtype=float)
        J = _slopes(lambda y: f(**{**given, wrt: y}), x)
        if layout == "column":
            out = np.asarray(f(**given)).shape
            J = J[np.arange(J.shape[0]).reshape(out).T.ravel()][:, np.arange(x.size).reshape(x.shape).T.ravel()]
        return J

    return differentiated


def hessian(f, wrt, layout="row", by=""):
    """d^2 f / d vec W_i d vec W_j of a scalar f, by central differences of central differences."""
    import inspect

    def differentiated(*args, **kwargs):
        given = {**dict(zip(inspect.signature(f).parameters, args)), **kwargs}  # noqa: B905
        a, b = (np.asarray(given[name], dtype=float) for name in wrt)
        H = np.zeros((a.size, b.size))
        for i in range(a.size):
            for j in range(b.size):
                for s in (1, -1):
                    for t in (1, -1):
                        moved = dict(given)
                        moved[wrt[0]] = moved[wrt[0]] + s * 1e-3 * np.eye(a.size)[i].reshape(a.shape)
                        moved[wrt[1]] = moved[wrt[1]] + t * 1e-3 * np.eye(b.size)[j].reshape(b.shape)
                        H[i, j] += s * t * float(np.ravel(f(**moved))[0]) / 4e-6
        return H

    return differentiated
