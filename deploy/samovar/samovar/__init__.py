"""The samovar command: embedded servers, supervision, demo, bench."""
