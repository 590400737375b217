"""Contracts, bus, database, tokens and life cycle used by every service."""
