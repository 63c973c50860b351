"""What the config makes of a request: policy, principals, headers, refusals."""
