"""Where results are kept: files that appear whole or not at all, in a folder or an object store."""
