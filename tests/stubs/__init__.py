"""Loopback servers that speak the providers' protocols for the tests, over real sockets."""
