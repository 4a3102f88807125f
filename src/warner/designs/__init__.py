"""Randomization designs: one mechanism per file, with one contract for all (`contract`).

A new mechanism is a new file, and a line in `MECHANISMS`, which everything else reads: files, the command line, plans,
simulations and the contract test. `register` adds custom mechanisms. `docs/reference/formats/draws.md` specifies how
each of them draws a report.

Its files::

    registry     the mechanisms there are: of this package, of others, and registered ones
    contract     Design: randomization of an answer, with files and explanations
    law          Law: the distribution of counts of reports, for estimators and intervals
    facts        properties of a design: Symmetry, SamplingModel, ProbabilityBounds, ChannelOperator
    symmetric          designs whose reports support sets of answers: counts, likelihood and readouts for all of them
    ordered            designs for numbers and other ordered answers: unbiased scores, the nearest answer
    bit_vectors  designs whose reports are bits, one for each answer
    response     RandomizedResponse
    channel      Channel: any table of probabilities; then, coarsened, restricted
    subset       SubsetSelection
    unary        UnaryEncoding
    bit_flips    BitFlips: noisy bits of some of the answers
    square_wave  SquareWave: numbers near the true one
    cutoff_response  CutoffResponse: comparison of a number with a random cut-off
    product      Product: several questions at once, each with a separate device
    matrices     matrices of probabilities in whole numbers; pseudo-inverse
    report_forms  representations of a report in a column: a label, bits, or a hash
    survey_designs  named designs, each a Channel: Warner's, crosswise, decks of cards ...
    labels       labels to positions in the domain, and back
    exact        numbers as written, odds from epsilon, logarithms rounded up
    draws        exact draws from random bytes: uniform numbers, bits with a given probability, sets of a given size
    bits         rows of packed bits: counts by position, sizes, products
    histograms   simulated histograms of many respondents in O(K)
    memoized           Memoized: designs for repeated questions, by their epsilons (L-GRR, LOLOHA ...) or RAPPOR's
    rounds             the permanent and the instantaneous round: of symmetric designs, RAPPOR and dBitFlip
    memo               Memo: the permanent responses that one respondent's device keeps
    open_domain        OpenDomain: reports about a text or a whole number without a list of answers
    closed_list        ClosedList: such reports as those of a design for a list that is known beforehand
    open_values        texts and whole numbers as rows of blocks, and back; normalization of texts
    support_counts     counts of reports that support each prefix: by Fourier transforms, and by comparing
    block_designs      p, q, counts and simulations of combinatorial designs, and the choice of a prime field
    hadamard           HadamardResponse
    finite_geometry    prime numbers, points of projective spaces, and transforms over finite vector spaces
    hashing            LocalHashing: by linear and by affine functions
    projective         ProjectiveGeometry
    questionnaires     SplitQuestionnaire and SelectAll: several questions under one epsilon
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warner.designs.contract import FORMAT, Design, Device, listed_design
from warner.designs.facts import ChannelOperator, ProbabilityBounds, SamplingModel, Symmetry
from warner.designs.registry import BuiltIn, Mechanism, Registry, import_object
from warner.designs.symmetric import Symmetric
from warner.documents import Document, loaded, parsed

if TYPE_CHECKING:
    import os

    from warner.designs.bit_flips import BitFlips
    from warner.designs.channel import Channel
    from warner.designs.cutoff_response import CutoffResponse
    from warner.designs.hadamard import HadamardResponse
    from warner.designs.hashing import LocalHashing
    from warner.designs.memo import Memo
    from warner.designs.memoized import REPEATED_DESIGNS, Memoized
    from warner.designs.open_domain import OpenDomain
    from warner.designs.ordered import grid
    from warner.designs.product import Product
    from warner.designs.projective import ProjectiveGeometry
    from warner.designs.questionnaires import SelectAll, SplitQuestionnaire
    from warner.designs.response import RandomizedResponse
    from warner.designs.square_wave import SquareWave
    from warner.designs.subset import SubsetSelection
    from warner.designs.unary import UnaryEncoding

# Classes by the names in files and on the command line, imported on first use
MECHANISMS = Registry(
    {
        "randomized response": "response.RandomizedResponse",
        "channel": "channel.Channel",
        "subset selection": "subset.SubsetSelection",
        "unary encoding": "unary.UnaryEncoding",
        "bit flips": "bit_flips.BitFlips",
        "local hashing": "hashing.LocalHashing",
        "Hadamard response": "hadamard.HadamardResponse",
        "projective geometry response": "projective.ProjectiveGeometry",
        "memoized": "memoized.Memoized",
        "product": "product.Product",
        "square wave": "square_wave.SquareWave",
        "cutoff response": "cutoff_response.CutoffResponse",
    }
)
# Open domains, which have no list of answers, and lists that are read in their reports
OPEN: BuiltIn[Device] = BuiltIn({"open domain": "open_domain.OpenDomain", "closed list": "closed_list.ClosedList"})
# Several questions, each with a design
SEVERAL: BuiltIn[Device] = BuiltIn(
    {"split questionnaire": "questionnaires.SplitQuestionnaire", "select all": "questionnaires.SelectAll"}
)
_PATHS = (
    *MECHANISMS.paths.values(),
    *OPEN.paths.values(),
    *SEVERAL.paths.values(),
    "memo.Memo",
    "memoized.REPEATED_DESIGNS",
    "ordered.grid",
)

__all__ = [
    "MECHANISMS",
    "OPEN",
    "REPEATED_DESIGNS",
    "SEVERAL",
    "BitFlips",
    "Channel",
    "ChannelOperator",
    "CutoffResponse",
    "Design",
    "HadamardResponse",
    "LocalHashing",
    "Memo",
    "Memoized",
    "OpenDomain",
    "ProbabilityBounds",
    "Product",
    "ProjectiveGeometry",
    "RandomizedResponse",
    "SamplingModel",
    "SelectAll",
    "SplitQuestionnaire",
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
    """Import a mechanism, or a name that belongs to one, on first use."""
    for path in _PATHS:
        if path.endswith(f".{name}"):
            return import_object(path)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def register(mechanism: Mechanism) -> Mechanism:
    """Register a custom mechanism for files, plans and the functions of this process.

    Parameters
    ----------
    mechanism : subclass of Design
        It implements ``warner.designs.contract``, with a new name in ``mechanism``. A class that is defined again, for
        example by a notebook cell that is run twice, replaces the earlier one.

    Returns
    -------
    subclass of Design
        The same class, so that this can be a decorator.

    Notes
    -----
    A package makes its mechanisms known by entry points of the group ``warner.mechanisms``, without a call: see
    ``warner.designs.registry``. ``CONTRIBUTING.md`` has a skeleton. Browsers do not know custom mechanisms.
    """
    return MECHANISMS.register(mechanism)


ELSEWHERE = (  # for an unknown mechanism
    "install the package that has it and names it in its entry points of the group warner.mechanisms, or register it "
    "in Python with warner.designs.register"
)


def design_from_dict(fields: Document) -> Design:
    """Read a design with a list of answers from the result of its ``to_dict``."""
    return listed_design(device_from_dict(fields))


def device_from_dict(fields: Document) -> Device:
    """Read a design, with or without a list of answers, from the result of its ``to_dict``."""
    mechanism = fields.get("mechanism") if isinstance(fields, dict) else None
    for others in (OPEN, SEVERAL):
        if isinstance(mechanism, str) and mechanism in others:
            return others[mechanism].from_dict(fields)
    if not isinstance(mechanism, str) or mechanism not in MECHANISMS:
        if isinstance(fields, dict) and fields.get("format") == FORMAT and "mechanism" in fields:
            known = ", ".join(map(repr, [*MECHANISMS, *OPEN, *SEVERAL]))
            raise ValueError(f"mechanism must be one of {known}, but this design says {mechanism!r}; {ELSEWHERE}")
        return MECHANISMS["randomized response"].from_dict(fields)  # which says what is wrong
    return MECHANISMS[mechanism].from_dict(fields)


def design_from_json(text: str) -> Design:
    """Read a design with a list of answers from the result of its ``to_json``."""
    return design_from_dict(parsed(text, FORMAT))


def load_design(path: str | os.PathLike[str]) -> Any:
    """Read a design of any mechanism from the file that its ``save`` wrote.

    Parameters
    ----------
    path : str or path
        A JSON file.

    Returns
    -------
    Design, OpenDomain, SplitQuestionnaire or SelectAll
        The design in the file.
    """
    return loaded(path, lambda text: device_from_dict(parsed(text, FORMAT)))
