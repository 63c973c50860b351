"""The command `iop-edge`: parses arguments, calls the library, renders, and turns outcomes into exit codes."""
