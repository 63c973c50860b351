"""What the config makes of a request: who calls, what they request, with which limits and headers, and who used it."""
