"""The history of an Edge, in memory or in SQLite: attempts, and the configs of its revisions."""
