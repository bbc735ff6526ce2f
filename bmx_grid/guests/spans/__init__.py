"""Error spans as the shared tasks of WMT evaluate them."""
