"""`warner tally` counts reports once and for all, and adds up what was counted."""

from __future__ import annotations

from contextlib import ExitStack

from warner.cli.delivering import deliver_document, refuse_overwriting
from warner.cli.messages import tell, warn, working
from warner.cli.options import ColumnOptions, Output, Reading, Reports, SampleDesign
from warner.cli.sources import NOT_FIXED, DesignGiven, Source


def tally(
    files: Reports,
    *,
    given: DesignGiven,
    columns: ColumnOptions,
    sample: SampleDesign,
    reading: Reading,
    output: Output = None,
) -> None:
    """Count reports and save the tally, or add up tallies that were saved.

    A tally holds the counts and the design, and no report: `warner estimate`, `check` and `regress` take it
    instead of reports. Tallies of one design add up exactly, as if all reports had been counted at once; those of
    several designs make a pool, which assumes that all reports come from one population; `warner check` tests that. A
    tally of an open domain holds the reports themselves, without their order, for `warner discover`.
    """
    refuse_overwriting({"the reports": files, "the design": given.files}, {"--output": output})
    source = Source(files, columns, reading, sample)
    with working("counting reports"):
        opened = source.open_tally(given)
    if opened is not None:
        if left_out := opened.left_out():
            warn(left_out)
        deliver_document(opened, output)
        return
    with ExitStack() as stack:
        with working("counting reports"):
            counted = stack.enter_context(source.tallied(given))
        if source.optional_stopping:
            tell(f"warner: note: {NOT_FIXED}: estimate this tally with --anytime", err=True)
        for left_out in filter(None, (part.left_out() for part in counted.parts)):
            warn(left_out)
        deliver_document(counted, output)
