"""How sure: what can be said of shares, and whether reports fit their design."""
