"""From the bytes of config files to a checked, normalized tree. Pure: what it needs of the world is handed in."""
