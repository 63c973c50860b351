"""The Edge's side of its Nodes: sessions, pushes, convergence. Nothing else dials a Node."""
