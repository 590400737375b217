"""Accounts, sessions and tokens."""
