"""The messages between services, each declared once by the service that owns it."""
