"""The small checker of certificates."""
