"""Appendix D.3, the proof of Theorem 3: Lemma 20 and the Hessian of the network."""

from __future__ import annotations
