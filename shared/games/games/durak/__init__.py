"""Durak, throw-in and transfer, for two to four players."""
