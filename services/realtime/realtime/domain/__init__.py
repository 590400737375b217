"""What can be decided without a socket, a bus or a clock."""
