"""What the engine decides, without I/O."""
