"""Attention layers in use: masks, batches, heads, positions, normalisation.  Claims of this project, printed nowhere."""

from verify.vocabulary import Paper

TRANSFORMER = Paper(
    key="transformer", title="Attention layers in use", citation="this project", vec="row-major", of_project=True
)
