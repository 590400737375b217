"""Rooms, seats and the saga that starts a game."""
