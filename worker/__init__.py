"""The process that answers: its start, the limits of its children, the sweeper, and what is said of a child that died."""
