"""Configuration of the site: MyST pages, and the reference from the docstrings."""

from __future__ import annotations

import inspect
import pydoc
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from latex2mathml.converter import convert as mathml

import warner
from warner.designs.contract import Design
from warner.documents import Saved
from warner.results import Result

if TYPE_CHECKING:
    from docutils.nodes import math, math_block
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment
    from sphinx.writers.html5 import HTML5Translator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the folder `experiments`, which is not installed

project = "warner"
author = "The warner developers"
project_copyright = "the warner developers"
version = release = warner.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
html_math_renderer = (
    "mathml"  # which browsers read by themselves: the pages need no network, neither to build nor to read
)
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"warner {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False

myst_enable_extensions = ["amsmath", "attrs_block", "dollarmath"]
myst_heading_anchors = 3

default_role = "py:obj"  # a name in single backticks is a name of this library, and becomes a link
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say types and shapes in words
# Plain text instead of fields: "array_like of shape (..., k)" is a description, not a name to link to.
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

nitpick_ignore = [("py:obj", "numpy.random.Generator")]  # documented elsewhere, and the build needs no network


def _properties_as_prose(_app: Sphinx, what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    """Undo that napoleon reads "The number of people: ..." as a type and its description."""
    if what == "property":
        lines[:] = (inspect.getdoc(obj) or "").splitlines()


def _signature_of_init(
    _app: Sphinx, what: str, _name: str, obj: Any, _options: Any, signature: str | None, _returns: Any
) -> tuple[str, None] | None:
    """Show the arguments of `__init__`, not those of the check of a design's arguments before it."""
    if what != "class" or signature != "(*_, **arguments)":
        return None
    parameters = list(inspect.signature(obj.__init__).parameters.values())[1:]
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return str(inspect.Signature(plain)), None


def _name_inherited(_app: Sphinx, what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    """Name the methods and properties that a class inherits from `Design`, `Result` or `Saved`."""
    if what == "class" and isinstance(obj, type):
        for base in obj.__mro__[1:]:
            if base in (Design, Result, Saved):
                own = {member for owner in obj.__mro__ for member in vars(owner) if owner not in base.__mro__}
                names = [member for member in dir(base) if not member.startswith("_") and member not in own]
                shown = ", ".join(f"``{member}``" for member in names if getattr(base, member).__doc__)
                lines += [f"From :py:obj:`{base.__name__} <{base.__module__}.{base.__name__}>`: {shown}.", ""]


def _arguments_are_no_links(_app: Sphinx, _what: str, name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    """Show arguments and fields, which stand in single backticks as well, without looking for a page about them."""
    known = {"by", "gap"}  # of a Tally and of a Certificate, in the text of others
    for thing in (obj, pydoc.locate(name.rpartition(".")[0])):
        known |= {*getattr(thing, "__dataclass_fields__", ()), *getattr(thing, "_fields", ())}
        if inspect.isfunction(thing) or inspect.ismethod(thing):
            known |= set(inspect.signature(thing).parameters)
    lines[:] = [
        re.sub(r"(?<![`:])`(\w+)`(?!`)", lambda found: f"`{found[0]}`" if found[1] in known else found[0], line)
        for line in lines
    ]


def _references_as_lists(_app: Sphinx, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Turn the numbered references of a docstring into a list: several docstrings on one page all have a [1]."""
    lines[:] = [re.sub(r"^\.\. \[(\d+)\] ", r"\1. ", re.sub(r"\[(\d+)\]_", r"[\1]", line)) for line in lines]


def _examples_end_with_their_fence(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Drop the empty line that an example's output needs before the fence, or doctest would take that for output."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def _short_name(app: Sphinx, env: BuildEnvironment, node: pending_xref, text: Any) -> Any:
    """Find `mle` as `warner.mle`, a method that a class inherits, and `Design.then` in whichever module it stands."""
    if node.get("refdomain") != "py":
        return None
    python: Any = env.get_domain("py")
    target = node["reftarget"]
    owner = pydoc.locate(f"{node.get('py:module')}.{node.get('py:class')}")
    names = [f"{base.__module__}.{base.__qualname__}.{target}" for base in getattr(owner, "__mro__", ())]
    names.append(f"warner.{target}")
    for short in filter(None, (target, target.rpartition(".")[0])):  # of a field, the class that has it
        kinds = {"method", "property"} if "." in short else {"class", "function"}
        names += [
            name for name, entry in python.objects.items() if name.endswith(f".{short}") and entry.objtype in kinds
        ]
    known = next((name for name in names if name in python.objects), None)
    if known is None and node["refdoc"] == "reference/api/index":  # a method in a summary, away from its class
        return text
    return known and python.resolve_xref(env, node["refdoc"], app.builder, "obj", known, node, text)


NAMED_FUNCTIONS = r"(?<!<msub>)(?<!<msup>)(?<!<munder>)<mi>(?:log|ln|exp|det)</mi>"
THIN_SPACE = '<mspace width="0.167em"></mspace>'


def _spaced(formula: str) -> str:
    """Add the space around a named function, as in "n log n", that the converter leaves out."""
    before = re.compile(rf"(</m(?:i|n|sub|sup|subsup|row|frac)>|&#x00029;</mo>)({NAMED_FUNCTIONS})")
    after = re.compile(rf"({NAMED_FUNCTIONS})(?=<m(?!o\b))")
    return after.sub(rf"\1{THIN_SPACE}", before.sub(rf"\1{THIN_SPACE}\2", formula))


def _formula(page: HTML5Translator, node: math) -> None:
    page.body.append(_spaced(mathml(node.astext())))
    raise nodes.SkipNode


def _displayed_formula(page: HTML5Translator, node: math_block) -> None:
    page.body.append(page.starttag(node, "div", CLASS="math"))
    page.body.append(_spaced(mathml(node.astext(), display="block")))
    page.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Connect what the settings above cannot say."""
    app.add_html_math_renderer("mathml", (_formula, None), (_displayed_formula, None))
    app.connect("autodoc-process-docstring", _properties_as_prose, priority=900)  # after napoleon, at 500
    app.connect("autodoc-process-docstring", _arguments_are_no_links, priority=900)
    app.connect("autodoc-process-docstring", _references_as_lists, priority=900)
    app.connect("autodoc-process-docstring", _name_inherited, priority=950)
    app.connect("autodoc-process-signature", _signature_of_init)
    app.connect("source-read", _examples_end_with_their_fence)
    app.connect("missing-reference", _short_name)
