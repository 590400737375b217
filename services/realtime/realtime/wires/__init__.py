"""How clients speak: one module for each protocol, each an adapter of ``connection.py``."""
