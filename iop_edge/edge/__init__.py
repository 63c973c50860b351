"""The Edge as a library: what runs, how candidates become it, and its status."""
