"""Releases as pictures and pages for people."""
