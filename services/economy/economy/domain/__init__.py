"""Transfers and payouts: pure, without clock, randomness or I/O."""
