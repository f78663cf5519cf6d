"""`python -m verify.cli`."""

from verify.cli import entry

if __name__ == "__main__":
    entry()
