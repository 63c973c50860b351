"""The commands, grouped by what they need: a module is imported when one of its commands is called."""
