"""Somebody's client on the bench: how much epsilon it really spends, and whether it follows its design."""
