"""Settings common to all services, read from the environment (prefix ``SAMOVAR_``)."""

from pathlib import Path

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ServiceSettings(BaseSettings):
    """What every service needs; each service adds its own fields. Secrets have no defaults."""

    model_config = SettingsConfigDict(env_prefix="SAMOVAR_", frozen=True, extra="ignore")

    instance: str = "1"
    database_url: SecretStr | None = None  # the runtime role of the service's own schema
    nats_url: str
    nats_user: str
    nats_password: SecretStr
    redis_url: SecretStr | None = None
    health_host: str = "127.0.0.1"
    health_port: int = 0  # side port: /healthz, /readyz, /metrics; 0 = none
    http_host: str = "127.0.0.1"
    http_port: int = 0
    trusted_proxies: str = "127.0.0.1"  # whose X-Forwarded-For counts, comma-separated; "*": all
    log_level: str = "INFO"
    sweep_interval_s: float = 5.0
    database_pool_size: int = 5
    drain_timeout_s: float = 8.0
    otel_endpoint: str | None = None
    migrations_dir: Path | None = None  # holds a folder a service, where images keep them

    def secret(self, name: str) -> str:
        """Return a secret field's value.

        Raises:
            RuntimeError: naming the variable, if it is not set.
        """
        value = getattr(self, name)
        if value is None:
            raise RuntimeError(f"SAMOVAR_{name.upper()} is not set")
        return str(value.get_secret_value())
