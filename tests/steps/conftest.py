from scripted import project, scripted, sums, write_pool

__all__ = ["project", "scripted", "sums", "write_pool"]
