"""Web addresses of a survey: in links, and in the content policy of a page that is hosted elsewhere.

Nothing may stand in it that means something there: a space or a semicolon would be another rule of the policy.
"""

from __future__ import annotations

import re

ADDRESS = re.compile(
    r"(?P<origin>https?://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?)"
    r"(?P<path>(?:/[A-Za-z0-9._~-]+)*)/?"
)
LAST_PORT = 65535


def split_address(url: str) -> tuple[str, str]:
    """Give the origin of a survey's server, and the path before ours, if any.

    >>> split_address("https://survey.example.org:8443/surveys/")
    ('https://survey.example.org:8443', '/surveys')
    """
    found = ADDRESS.fullmatch(url)
    if not found or not 0 < int(found["port"] or 1) <= LAST_PORT:
        raise ValueError(
            f"url must be the address of the survey's server, such as https://survey.example.org, but got {url!r}"
        )
    return found["origin"], found["path"]
