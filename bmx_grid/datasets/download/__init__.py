"""Fetching data sets from their publishers, checked file by file."""
