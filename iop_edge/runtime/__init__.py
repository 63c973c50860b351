"""What the config means for requests: which provider takes one, and what is known of each."""
