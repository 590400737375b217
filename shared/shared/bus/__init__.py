"""Messages over NATS: a thin adapter over nats-py and nats.micro."""

from shared.bus.client import Bus, Incoming, Subscription

__all__ = ["Bus", "Incoming", "Subscription"]
