"""Secrets, whose values never reach a skill: the host adds them to requests where the manifest says so."""

def exists(name: str) -> bool:
    """Says whether a secret is stored. It needs the grant secret."""
