"""Why a Node does not take a payload."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason: the rule, the place in the request, and what is wrong there, without any secret."""

    rule: str
    path: str
    message: str
