"""What happens to an answer before it is reported: one mechanism a file, one contract for all (`contract`).

A new mechanism is a new file, and a line in `MECHANISMS`, which everything else reads: files, the command line,
plan's advice, simulations and the tests that every mechanism must pass. One's own is added by `register`.

Its files::

    registry     the mechanisms there are: of this package, of others, and registered ones
    device       Device: privacy, file and words of what an answer goes through
    contract     Design: what the rest of the program may ask of a device for a list of answers
    facts        what a design tells: Symmetry, Readout, Bounds, ChannelOperator
    symmetric    designs whose reports support sets of answers: counts, likelihood and readouts for all of them
    odds         what designs made from odds or epsilon share: constructor, file, summary, the best for an epsilon
    ordered      what designs for numbers and other ordered answers share: unbiased scores, the nearest answer
    bit_vectors  what designs share whose reports are bits, one for each answer
    response     RandomizedResponse
    channel      Channel: any table of probabilities; then, coarsened, restricted
    subset       SubsetSelection
    unary        UnaryEncoding
    bit_flips    BitFlips: noisy bits of some of the answers
    square_wave  SquareWave: numbers near the true one
    cutoff_response  CutoffResponse: whether a number is at least a random cut-off
    product      Product: several questions at once, each with a device of its own
    matrices     matrices of probabilities in whole numbers; pseudo-inverse
    report_forms  how a report is written in a column: a label, bits, or a hash
    survey_designs  Warner's, crosswise, forced response ...: designs that have names, each a Channel
    card_decks   cards: decks of cards for quantities
    grids        answers that are numbers: grids, and the nearest answer
    labels       labels to positions in the domain, and back
    exact        numbers as written, odds from epsilon, logarithms rounded up
    draws        exact draws from random bytes: uniform numbers, bits with a given probability, sets of a given size
    bits         rows of packed bits: counts by position, sizes, products
    histograms   histograms of many people in O(K)
    repeated/    the same question again and again, with memoization: RAPPOR, L-GRR, LOLOHA; what a device keeps
    open/        answers that no list holds, such as texts: OpenDomain
    structured/  reports that are whole numbers, each a set of answers: hashing, Hadamard, projective geometry
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warner.designs.contract import Design, listed_design
from warner.designs.device import FORMAT, Device
from warner.designs.facts import Bounds, ChannelOperator, Readout, Symmetry
from warner.designs.registry import BuiltIn, Mechanism, Registry, at
from warner.designs.symmetric import Symmetric
from warner.documents import Document, loaded, parsed

if TYPE_CHECKING:
    import os

    from warner.designs.bit_flips import BitFlips
    from warner.designs.channel import Channel
    from warner.designs.cutoff_response import CutoffResponse
    from warner.designs.grids import grid
    from warner.designs.open.open_domain import OpenDomain
    from warner.designs.product import Product
    from warner.designs.repeated.memo import Memo
    from warner.designs.repeated.memoized import REPEATED_DESIGNS, Memoized
    from warner.designs.response import RandomizedResponse
    from warner.designs.square_wave import SquareWave
    from warner.designs.structured.hadamard import HadamardResponse
    from warner.designs.structured.hashing import LocalHashing
    from warner.designs.structured.projective import ProjectiveGeometry
    from warner.designs.subset import SubsetSelection
    from warner.designs.unary import UnaryEncoding

# By the name in files and on the command line: where the class stands, which is imported when it is asked for
MECHANISMS = Registry(
    {
        "randomized response": "response.RandomizedResponse",
        "channel": "channel.Channel",
        "subset selection": "subset.SubsetSelection",
        "unary encoding": "unary.UnaryEncoding",
        "bit flips": "bit_flips.BitFlips",
        "local hashing": "structured.hashing.LocalHashing",
        "Hadamard response": "structured.hadamard.HadamardResponse",
        "projective geometry response": "structured.projective.ProjectiveGeometry",
        "memoized": "repeated.memoized.Memoized",
        "product": "product.Product",
        "square wave": "square_wave.SquareWave",
        "cutoff response": "cutoff_response.CutoffResponse",
    }
)
# Open domains, which have no list of answers, and lists that are read in their reports
OPEN: BuiltIn[Device] = BuiltIn(
    {"open domain": "open.open_domain.OpenDomain", "closed list": "open.closed_list.ClosedList"}
)
_PLACES = (
    *MECHANISMS.built_in.places.values(),
    *OPEN.places.values(),
    "repeated.memo.Memo",
    "repeated.memoized.REPEATED_DESIGNS",
    "grids.grid",
)

__all__ = [
    "MECHANISMS",
    "OPEN",
    "REPEATED_DESIGNS",
    "BitFlips",
    "Bounds",
    "Channel",
    "ChannelOperator",
    "CutoffResponse",
    "Design",
    "HadamardResponse",
    "LocalHashing",
    "Memo",
    "Memoized",
    "OpenDomain",
    "Product",
    "ProjectiveGeometry",
    "RandomizedResponse",
    "Readout",
    "SquareWave",
    "SubsetSelection",
    "Symmetric",
    "Symmetry",
    "UnaryEncoding",
    "design_from_dict",
    "design_from_json",
    "grid",
    "listed_design",
    "load_design",
    "register",
]


def __getattr__(name: str) -> Any:
    """Import a mechanism, or what belongs to one, when it is asked for."""
    for place in _PLACES:
        if place.endswith(f".{name}"):
            return at(place)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
    """Read a design of any mechanism that has a list of answers: what its ``to_dict`` gave."""
    return listed_design(device_from_dict(fields))


def device_from_dict(fields: Document) -> Device:
    """Read a design, with a list of answers or without: what its ``to_dict`` gave."""
    mechanism = fields.get("mechanism") if isinstance(fields, dict) else None
    if isinstance(mechanism, str) and mechanism in OPEN:
        return OPEN[mechanism].from_dict(fields)
    if not isinstance(mechanism, str) or mechanism not in MECHANISMS:
        if isinstance(fields, dict) and fields.get("format") == FORMAT and "mechanism" in fields:
            known = ", ".join(map(repr, [*MECHANISMS, *OPEN]))
            raise ValueError(f"mechanism must be one of {known}, but this design says {mechanism!r}")
        return MECHANISMS["randomized response"].from_dict(fields)  # which says what is wrong
    return MECHANISMS[mechanism].from_dict(fields)


def design_from_json(text: str) -> Design:
    """Read a design of any mechanism that has a list of answers: what its ``to_json`` wrote."""
    return design_from_dict(parsed(text, FORMAT))


def load_design(path: str | os.PathLike[str]) -> Any:
    """Read a design of any mechanism from the file that its ``save`` wrote.

    Parameters
    ----------
    path : str or path
        A JSON file; what is wrong with another one is said in the error.

    Returns
    -------
    Design or OpenDomain
        As the file says.
    """
    return loaded(path, lambda text: device_from_dict(parsed(text, FORMAT)))
