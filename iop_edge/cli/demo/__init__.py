"""The demonstration: real processes on this machine, each step shown, and checked to be what is said of it."""
