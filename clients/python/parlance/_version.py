VERSION = "0.2.0"
"""The version of this client, which is the version of the service that it is released with."""
