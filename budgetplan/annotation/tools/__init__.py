"""Annotation tools: one module each, which writes the tool's task files and reads its native export back."""
