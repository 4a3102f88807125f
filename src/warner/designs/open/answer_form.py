"""How answers of an open domain are read in a column: any text, or whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from warner.designs.labels import from_text
from warner.designs.open.values import WholeNumbers
from warner.designs.report_forms import Read

if TYPE_CHECKING:
    from warner.designs.open.values import Values


@dataclass(frozen=True)
class AnswerForm:
    """Answers that no list holds; in memory, an answer is a row of blocks."""

    values: Values
    labels: ClassVar[None] = None  # there is no list of them
    kinds: ClassVar[None] = None

    @property
    def holds(self) -> str:
        """What a column of answers holds."""
        return "integers" if isinstance(self.values, WholeNumbers) else "strings"

    def read(self, values: Any, *, text: bool = False, codes: bool = False) -> Read:
        """Write answers in blocks; with `text` whole numbers are in digits."""
        given = values.to_pylist() if hasattr(values, "to_pylist") else values
        if text and isinstance(self.values, WholeNumbers):
            given = from_text(list(given), range(2))
        coded = self.values.encoded(given)
        return Read(coded.blocks, coded.status)
