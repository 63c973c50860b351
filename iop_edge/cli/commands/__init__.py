"""One module a command, imported only when its command is used.

Each has `add_arguments(parser)`, which declares its arguments, and `run(arguments, console)`, which returns its exit
code. The module's docstring is the command's description in `--help`.
"""
