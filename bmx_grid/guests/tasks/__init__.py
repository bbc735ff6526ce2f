"""One ranking of metrics over the tasks of a shared task, systems ranked by people, and outlier systems."""
