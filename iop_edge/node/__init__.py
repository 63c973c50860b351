"""The reference Node: it starts with its id, address and tokens only, and takes all else from its Edge."""
