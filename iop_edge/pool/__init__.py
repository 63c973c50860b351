"""Dispatch: which provider takes a request, who waits for it, and why."""
