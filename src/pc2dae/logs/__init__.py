"""Foreign files to and from streams."""
