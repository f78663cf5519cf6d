"""Transformers without skip connections.  Claims about the conditioning of self-attention and its logits."""

from verify.vocabulary import Paper

SKIPLESS = Paper(
    key="skipless",
    title="Cutting the Skip: Training Residual-Free Transformers",
    citation="anonymous submission",
    vec="column-major",
)
