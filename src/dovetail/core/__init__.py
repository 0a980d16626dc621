"""Nouns and contracts that every other layer shares; imports only the standard library and numpy."""
