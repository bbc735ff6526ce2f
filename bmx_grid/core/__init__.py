"""What every room stands on: errors, identity, building parts from configurations, files, text and terminal."""
