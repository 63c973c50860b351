"""What the config makes of a request: who calls, what is asked for, with which limits and headers, and who used it."""
