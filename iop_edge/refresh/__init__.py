"""The differences between two configs, and what it takes to apply them."""
