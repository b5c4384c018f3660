"""Side by side with peers in one run: speed, readability, the queue, start-up and memory. See `python -m benchmarks --help`."""
