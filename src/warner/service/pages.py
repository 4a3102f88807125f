"""The respondents' page: a shell in HTML that holds the survey as JSON; what is asked is built by its script."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

from warner.service.assets import address

if TYPE_CHECKING:
    from warner.service.survey import Survey


def page(survey: Survey) -> str:
    """Give the page of a survey."""
    held = json.dumps({"fingerprint": survey.fingerprint, "survey": survey.to_dict()}, ensure_ascii=False)
    return (
        f'<!doctype html>\n<html lang="{html.escape(survey.language)}">\n<meta charset="utf-8">\n'
        f"<title>{html.escape(survey.title)}</title>\n"
        f'<script type="application/json" id="survey">{held.replace("<", chr(92) + "u003c")}</script>\n'
        f'<script type="module" src="{address("page.js")}"></script>\n</html>\n'
    )


def hosted_page(survey: Survey, url: str) -> str:
    """Give the page for hosting elsewhere; its responses go to the server at this URL."""
    return page(survey).replace('src="/', f'src="{html.escape(url)}/')
