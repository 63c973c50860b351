"""Errors of candidates that come from no place in a file."""

from iop_edge.errors import ConfigError, Report, Violation


def rejection(rule: str, message: str, hint: str = "") -> ConfigError:
    """Return the error for a candidate that cannot be had, for one reason."""
    return ConfigError(Report(violations=(Violation(rule, "", None, message, hint),), total=1))
