"""What belongs to one paper or one shared task: it enters by its options in configs/, as a user's own parts do."""
