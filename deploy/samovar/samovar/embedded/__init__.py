"""Real servers from the installed wheels: no Docker, no packages of the operating system."""
