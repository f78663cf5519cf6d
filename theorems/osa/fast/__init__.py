"""Functions for models, made for speed: each calls or is compared with what a claim certifies."""
