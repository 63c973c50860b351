"""How results look: as text for people, and as JSON and other formats for programs.

A renderer takes a result and returns text or plain JSON values. It writes nothing, and what it takes holds no secret.
"""
