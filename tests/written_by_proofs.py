"""What a proof writes down, for a comparison of runs: as a program, the certificate of a bound that is derived anew.

It imports little, since a run with another hash seed starts from nothing.
"""

from __future__ import annotations

import json

import sympy

from verify.arithmetics.norms import derivation, input_matrix
from verify.arithmetics.norms.bound_certificates import certificate_of
from verify.arithmetics.norms.derivations import prove_bound
from verify.matrix import maximum, spectral_norm, vector

NAMES = ("A", "B", "C", "D", "E")


def certificate() -> str:
    """The certificate that ||A B|| is at most the square of the largest of five norms, whose order nothing decides."""
    n = sympy.Symbol("n", integer=True, positive=True)
    with derivation():
        proof = prove_bound(
            lambda given: maximum(vector(*map(spectral_norm, given.values()))) ** 2,
            lambda given: spectral_norm(given["A"] @ given["B"]),
            lambda: {name: input_matrix(name, n, n) for name in NAMES},
            {},
        )
        return json.dumps(certificate_of("toy", proof))


if __name__ == "__main__":
    print(certificate())
