"""Words, tables, pictures and pages."""
