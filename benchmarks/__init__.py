"""Side by side with peers in one run, and what else is promised in figures. See `python -m benchmarks --help`."""
