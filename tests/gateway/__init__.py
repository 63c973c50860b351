"""The example gateway, over real sockets."""
