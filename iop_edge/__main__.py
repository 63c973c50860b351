"""`python -m iop_edge` is the command `iop-edge`."""

from iop_edge.cli.main import entry

if __name__ == "__main__":
    entry()
