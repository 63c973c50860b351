"""The schema: the only package that knows of field options."""
