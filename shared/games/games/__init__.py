"""The rules of the games: data and pure functions."""
