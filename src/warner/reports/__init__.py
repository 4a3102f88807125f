"""Answers to reports to counts."""
