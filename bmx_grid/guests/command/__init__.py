"""A metric that runs in an environment of its own, as a program that reads texts and writes scores."""
