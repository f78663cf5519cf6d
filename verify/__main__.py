"""`python -m verify`: the command line."""

from verify.cli import entry

if __name__ == "__main__":
    entry()
