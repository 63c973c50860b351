"""Turns a file with keys and spellings of old releases into the current shape, by edits of its text.

Nothing is ever written out from a tree, so that comments, order, quotes and line breaks stay as they are.
"""
