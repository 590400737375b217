"""``python -m samovar``."""

from samovar.cli import main

main()
