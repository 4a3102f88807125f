"""Published experiments, reproduced."""
