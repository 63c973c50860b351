"""grpclib, with what it lacks around it.

The only package that touches private parts of grpclib and h2; a test for each place fails when an upgrade changes it.
"""
