"""A running Edge."""
