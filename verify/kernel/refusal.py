"""The one error of the checker."""

from __future__ import annotations


class Refused(Exception):
    """A certificate does not prove what it says; the text is one line that says where and why."""
