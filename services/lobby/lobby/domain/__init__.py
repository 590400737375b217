"""Pure rules of rooms: no I/O, no clock, no randomness."""
