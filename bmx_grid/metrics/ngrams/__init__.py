"""Short cuts that score masked texts without writing them out."""
