"""What a Node is told: its part of a config, as a message and as bytes."""
