"""The history of an Edge: attempts, and the configs of its revisions."""
