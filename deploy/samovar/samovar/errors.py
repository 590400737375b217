"""The one exception of the command line: its text is the whole message a person sees."""


class StackError(Exception):
    """Something outside our power failed; the text names the cause and, if known, the remedy."""
