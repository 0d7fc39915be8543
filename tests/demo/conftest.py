from scripted import probe_sums, project, scripted, write_pool

__all__ = ["probe_sums", "project", "scripted", "write_pool"]
