"""The REST app, and its OpenAPI document at ``/openapi.json``."""

from typing import Any

from fastapi import FastAPI

from realtime.rest import games, rooms, wallet
from realtime.rest.access import ERRORS, Facade
from shared.http import PROBLEM_JSON, create_app

_JSON = "application/json"
_INVALID = "422"  # ours is ERR_INVALID_REQUEST with 400, like every other wrong shape


def create_facade(facade: Facade) -> FastAPI:
    """Make the app; its routes find what they need in ``app.state.facade``."""
    app = create_app("Samovar realtime", openapi_url="/openapi.json")
    app.state.facade = facade
    for module in (rooms, games, wallet):
        app.include_router(module.router)
    document = app.openapi

    def openapi() -> dict[str, Any]:
        described = document()
        for path in described["paths"].values():
            for operation in path.values():
                operation["responses"].pop(_INVALID, None)
                for status in ERRORS:
                    content = operation["responses"][status]["content"]
                    if _JSON in content:  # FastAPI's word for every model
                        content[PROBLEM_JSON] = content.pop(_JSON)
        return described

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to change it
    return app
