"""Talks to a running Edge."""
