"""Who watches a sweep from outside."""
