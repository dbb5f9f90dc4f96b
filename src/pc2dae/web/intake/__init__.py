"""How uploaded files become flights: checks, questions, mappings, campaigns."""
