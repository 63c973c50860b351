"""Rules that look at more than one field: each module has the rules of one part of a config."""
