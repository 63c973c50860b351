"""How results look: as text for people, as JSON and other forms for programs.

A renderer takes a result and returns text. It writes nothing, and none of what it takes holds a secret.
"""
