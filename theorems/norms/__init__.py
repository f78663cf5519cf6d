"""Rules for norms.  What derivations of bounds rest on, as claims of this project: each is attacked like every other."""

from verify.vocabulary import Paper

NORMS = Paper(key="norms", title="Rules for norms", citation="this project", vec="row-major", of_project=True)
