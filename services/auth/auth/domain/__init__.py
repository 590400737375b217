"""Rules of accounts and sessions: pure, without clock, randomness or I/O."""
