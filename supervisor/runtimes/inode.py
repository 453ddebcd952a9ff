"""What a file is, whatever its names are."""

Inode = tuple[int, int]
"""Device and inode number."""
