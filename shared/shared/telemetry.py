"""Logs (JSON, structlog) and traces (OpenTelemetry, only when an endpoint is set).

Logs carry ids only: never a card, a token or an e-mail address.
"""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

import structlog
from opentelemetry import propagate, trace
from opentelemetry.trace import SpanKind

_tracing = False


class _Output:
    """A log file that forgives: a full disk or a closed terminal must not stop the work."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            return self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._file.flush()


def setup(service: str, instance: str, level: str, otel_endpoint: str | None) -> None:
    """Configure logs and traces of this process; call once, first."""
    numeric = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    output = cast(Any, _Output(sys.stderr))
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=structlog.PrintLoggerFactory(file=output),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service, instance=instance)
    logging.basicConfig(level=max(numeric, logging.WARNING), stream=output, format="%(message)s")
    if otel_endpoint:
        _setup_tracing(service, instance, otel_endpoint)


def _setup_tracing(service: str, instance: str, endpoint: str) -> None:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    global _tracing  # noqa: PLW0603  # set once, at start
    resource = Resource.create({"service.name": service, "service.instance.id": instance})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    trace.set_tracer_provider(provider)
    _tracing = True


def inject_trace() -> dict[str, str] | None:
    """Return W3C trace headers of the current span; None when tracing is off."""
    if not _tracing:
        return None
    headers: dict[str, str] = {}
    propagate.inject(headers)
    return headers or None


@contextmanager
def span(name: str, headers: Mapping[str, str] | None = None) -> Iterator[None]:
    """Trace a block as a server span, continuing the trace in ``headers``; free when off."""
    if not _tracing:
        yield
        return
    context = propagate.extract(headers) if headers else None
    tracer = trace.get_tracer("samovar")
    with tracer.start_as_current_span(name, context=context, kind=SpanKind.SERVER):
        yield
