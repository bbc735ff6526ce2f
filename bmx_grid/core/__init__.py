"""The base of every room: errors, identity, building parts from configurations, files, text and terminal."""
