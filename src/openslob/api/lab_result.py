"""A lab as an object: what each setting costs, as a table, sentences, a picture and a page."""

from __future__ import annotations

from openslob.api.reported import Reported
from openslob.api.table import Table
from openslob.kinds.lab.record import LabRecord
from openslob.kinds.lab.report import lab_answers, lab_document, lab_rows
from openslob.report.document import Document


class LabResult(Reported):
    """What settings cost, as `openslob.lab` and `openslob.read_lab` return it."""

    record: LabRecord

    @property
    def answers(self) -> tuple[str, ...]:
        """The result in sentences: what was measured, then what each value does."""
        return lab_answers(self.record)

    @property
    def table(self) -> Table:
        """A row for each value of a setting, load and figure: the ratio to the value here, with its interval."""
        return Table.of(lab_rows(self.record))

    def __repr__(self) -> str:
        """Return the id and what was compared."""
        return f"<Lab {self.record.id}: {', '.join(arm.label for arm in self.record.arms)}>"

    def _document(self) -> Document:
        return lab_document(self.record, self.folder)
