"""Dispatch: providers, their leases and queues, and why a provider is chosen."""
