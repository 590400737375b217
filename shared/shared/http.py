"""FastAPI, the same way for every service: problem details, request ids, health endpoints."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared import errors
from shared.ids import new_id

Check = Callable[[], Awaitable[None]]
PROBLEM_JSON = "application/problem+json"
MAX_BODY_BYTES = 64 * 1024

log = structlog.get_logger()

_BY_STATUS: dict[int, type[errors.AppError]] = {
    401: errors.Unauthorized,
    403: errors.Forbidden,
    429: errors.RateLimited,
}


def problem(error: errors.AppError, request_id: str, status: int | None = None) -> JSONResponse:
    """Render an error as RFC 9457 problem details with the stable ``code``."""
    status = status or error.http_status
    body = {
        "type": "about:blank",
        "title": str(error),
        "status": status,
        "code": error.code,
        "request_id": request_id,
        **({"details": error.details} if error.details else {}),
    }
    return JSONResponse(body, status, media_type=PROBLEM_JSON)


class BodyLimit:
    """ASGI middleware: a body that grows over the limit while it comes is refused (chunked)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = 0

        async def limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MAX_BODY_BYTES:
                raise errors.InvalidRequest("body too large")
            return message

        await self._app(scope, limited if scope["type"] == "http" else receive, send)


def create_app(
    title: str, *, docs_url: str | None = None, openapi_url: str | None = None
) -> FastAPI:
    """Make an app whose every error is a problem with a code and whose answers carry an id."""
    app = FastAPI(
        title=title, version="1", docs_url=docs_url, redoc_url=None, openapi_url=openapi_url
    )

    app.add_middleware(BodyLimit)

    @app.middleware("http")
    async def identify(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        request_id = _request_id(request)
        request.state.request_id = request_id
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            if int(request.headers.get("content-length") or 0) > MAX_BODY_BYTES:
                response: Response = problem(errors.InvalidRequest("body too large"), request_id)
            else:
                try:
                    response = await call_next(request)
                except Exception:
                    log.exception("request failed", path=request.url.path)
                    response = problem(errors.Internal(), request_id)
        response.headers["X-Request-Id"] = request_id
        return response

    @app.exception_handler(errors.AppError)
    async def on_app_error(request: Request, error: errors.AppError) -> JSONResponse:
        return problem(error, request.state.request_id)

    @app.exception_handler(RequestValidationError)
    async def on_invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        where = [".".join(str(part) for part in item["loc"]) for item in error.errors()]
        return problem(errors.InvalidRequest(fields=where), request.state.request_id)

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> JSONResponse:
        kind = _BY_STATUS.get(error.status_code, errors.InvalidRequest)
        return problem(kind(str(error.detail)), request.state.request_id, error.status_code)

    return app


def add_health(app: FastAPI, checks: dict[str, Check], is_accepting: Callable[[], bool]) -> None:
    """Add /healthz (alive), /readyz (dependencies answer, not draining) and /metrics."""

    @app.get("/healthz")
    async def healthz() -> PlainTextResponse:
        return PlainTextResponse("ok")

    @app.get("/readyz")
    async def readyz() -> JSONResponse:
        failed: dict[str, str] = {} if is_accepting() else {"draining": "true"}
        for name, check in checks.items():
            try:
                await check()
            except Exception as error:  # any failure of a dependency is "not ready"
                failed[name] = type(error).__name__
        return JSONResponse({"ready": not failed, "failed": failed}, 503 if failed else 200)

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


def _request_id(request: Request) -> str:
    """Take the caller's id only if it is a UUID: it goes into logs."""
    try:
        return str(UUID(request.headers.get("x-request-id", "")))
    except ValueError:
        return str(new_id())
