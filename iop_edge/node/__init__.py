"""The reference Node: it knows its id, its address and its tokens, and takes all else from its Edge."""
