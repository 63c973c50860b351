"""Whether a request is long-context (POL-07)."""


def is_long_context(estimated_input_tokens: int, threshold_tokens: int) -> bool:
    """Tell whether a request's input is estimated at the threshold or more."""
    return estimated_input_tokens >= threshold_tokens
