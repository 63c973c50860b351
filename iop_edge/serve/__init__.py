"""The daemon around an Edge: files and watching, admin service, listeners, metrics, logs."""
