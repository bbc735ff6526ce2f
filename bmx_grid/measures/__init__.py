"""Pure arrays in, numbers out: no texts, no files."""
