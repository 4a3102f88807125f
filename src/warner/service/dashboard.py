"""The dashboard of a running survey, on a listener of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from warner.service.survey import Survey


def dashboard_app(
    survey: Survey, writer: Any, url: str, *, stopping: asyncio.Event, key_file: Path | None = None
) -> tuple[ASGIApp, str]:
    """Give the web application of the dashboard, and the link that opens it.

    Event streams end when `stopping` is set.
    """

    async def shown(request: Request) -> Response:
        return PlainTextResponse(f"{survey.title}\n")

    return Router([Route("/dashboard", shown)], redirect_slashes=False), f"{url}/dashboard"
