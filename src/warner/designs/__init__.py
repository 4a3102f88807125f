"""What happens to an answer before it is reported: one mechanism a file, one contract for all (`contract`).

A new mechanism is a new file, and its name in `MECHANISMS`, which everything else reads: files, the command line,
plan's advice, simulations and the tests that every mechanism must pass. One's own is added by `register`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warner.designs.channel import Channel
from warner.designs.contract import Design
from warner.designs.facts import Bounds, ChannelOperator, Readout, Symmetry
from warner.designs.filed import FORMAT
from warner.designs.hadamard import HadamardResponse
from warner.designs.hashing import LocalHashing
from warner.designs.memoized import REPEATED, Memoized
from warner.designs.memos import Memo
from warner.designs.product import Product
from warner.designs.projective import ProjectiveGeometry
from warner.designs.registry import Mechanism, Registry
from warner.designs.response import RandomizedResponse
from warner.designs.subset import SubsetSelection
from warner.designs.symmetric import Symmetric
from warner.designs.unary import UnaryEncoding
from warner.documents import Document, loaded, parsed

if TYPE_CHECKING:
    import os

MECHANISMS = Registry(
    (
        RandomizedResponse,
        Channel,
        SubsetSelection,
        UnaryEncoding,
        LocalHashing,
        HadamardResponse,
        ProjectiveGeometry,
        Memoized,
        Product,
    )
)

__all__ = [
    "MECHANISMS",
    "REPEATED",
    "Bounds",
    "Channel",
    "ChannelOperator",
    "Design",
    "HadamardResponse",
    "LocalHashing",
    "Memo",
    "Memoized",
    "Product",
    "ProjectiveGeometry",
    "RandomizedResponse",
    "Readout",
    "SubsetSelection",
    "Symmetric",
    "Symmetry",
    "UnaryEncoding",
    "design_from_dict",
    "design_from_json",
    "load_design",
    "register",
]


def register(mechanism: Mechanism) -> Mechanism:
    """Make a mechanism of one's own known: to files, plans and the command line's functions, in this process.

    Parameters
    ----------
    mechanism : subclass of Design
        All that ``warner.designs.contract`` asks for, and a name of its own in ``mechanism``. A class that is defined
        again, as by a cell of a notebook that is run again, takes the place of the one before.

    Returns
    -------
    subclass of Design
        The same class, so that this can stand before it as a decorator.

    Notes
    -----
    A package makes its mechanisms known by entry points of the group ``warner.mechanisms``, without a call: see
    ``warner.designs.registry``. ``CONTRIBUTING.md`` has a skeleton. Browsers do not know mechanisms of one's own.
    """
    return MECHANISMS.register(mechanism)


def design_from_dict(fields: Document) -> Design:
    """Read a design of any mechanism: what its ``to_dict`` gave."""
    mechanism = fields.get("mechanism") if isinstance(fields, dict) else None
    if not isinstance(mechanism, str) or mechanism not in MECHANISMS:
        if isinstance(fields, dict) and fields.get("format") == FORMAT and "mechanism" in fields:
            known = ", ".join(map(repr, MECHANISMS))
            raise ValueError(f"mechanism must be one of {known}, but this design says {mechanism!r}")
        return RandomizedResponse.from_dict(fields)  # which says what is wrong
    return MECHANISMS[mechanism].from_dict(fields)


def design_from_json(text: str) -> Design:
    """Read a design of any mechanism: what its ``to_json`` wrote."""
    return design_from_dict(parsed(text, FORMAT))


def load_design(path: str | os.PathLike[str]) -> Design:
    """Read a design of any mechanism from the file that its ``save`` wrote.

    Parameters
    ----------
    path : str or path
        A JSON file; what is wrong with another one is said in the error.
    """
    return loaded(path, design_from_json)
