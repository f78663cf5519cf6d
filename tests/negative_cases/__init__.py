"""Statements at which the rules of provers must not fire, by rule."""
