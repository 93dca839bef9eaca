"""Rectilinear."""
