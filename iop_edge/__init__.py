"""The config plane of an LLM-inference Edge."""
