"""The embedded example: a small task, a pool drawn from it, and the tiny model that half knows it."""
