"""Hosts the games: durable moves, deadlines, events."""
