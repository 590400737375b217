"""The REST facade ``/v1``: rooms, games and money over the bus, with the errors of the registry."""
