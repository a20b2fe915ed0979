# Secrets of the host.
from . import host


def exists(name):
    return host.secret_exists(name).exists
