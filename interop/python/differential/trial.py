"""Runs one case through one way in and some ways out, and minimizes failing cases."""

from typing import NamedTuple

from .forms import DoesNotFit
from .own_server import Refused
from .random_tables import Case, NotWritten
from .refusals import is_documented, is_for_names, is_for_values
from .ways_in import WAYS_IN
from .ways_out import WAYS_OUT, Difference


class Frame(NamedTuple):
    """A case that the server accepted."""

    handle: str
    case: Case
    way_in: str


class Fault(NamedTuple):
    case: Case
    way_in: str
    #: None if the put failed.
    way_out: str | None
    #: Whether the server was restarted in between.
    is_cold: bool
    column: int | None
    what: str


class Trial:
    """Puts cases into a server and reads them; collects frames and faults."""

    def __init__(self, server, prefix):
        self.server, self.prefix = server, prefix
        self.frames, self.faults = [], []
        self.puts = self.refused = self.not_written = 0
        self.expected = {}

    def put(self, case, way_in):
        """Puts the columns of a case that can be sent in this way."""
        taken = [i for i, field in enumerate(case.schema) if WAYS_IN[way_in].takes(field, case.table.column(i))]
        if taken:
            self.put_columns(case.select(taken), way_in)

    def put_columns(self, case, way_in):
        """Puts a case, or each column separately if one is refused."""
        self.puts += 1
        handle = f"{self.prefix}{self.puts}"
        try:
            WAYS_IN[way_in].put(self.server, handle, case)
            self.frames.append(Frame(handle, case, way_in))
        except (Refused, NotWritten) as error:
            self.put_apart(case, way_in, error)

    def put_apart(self, case, way_in, error):
        half = len(case.schema) // 2
        if isinstance(error, Refused) and is_for_names(case, error):
            self.refused += 1
        elif half > 0:
            self.put_columns(case.select(range(half)), way_in)
            self.put_columns(case.select(range(half, len(case.schema))), way_in)
        elif isinstance(error, NotWritten):
            self.not_written += 1
        elif is_documented(case, way_in, error) or (is_for_values(error) and not fits(case, way_in)):
            self.refused += 1
        else:
            self.faults.append(Fault(case, way_in, None, False, 0, f"refused: {error}"))

    def read(self, frame, way_out, is_cold):
        """Reads a frame and compares."""
        for difference in self.differences(frame, way_out):
            self.faults.append(Fault(frame.case, frame.way_in, way_out, is_cold, *difference))

    def differences(self, frame, way_out):
        try:
            if frame.handle not in self.expected:
                self.expected[frame.handle] = WAYS_IN[frame.way_in].expected(frame.case)
            answer = WAYS_OUT[way_out].read(self.server, frame.handle)
            return list(WAYS_OUT[way_out].compare(answer, self.expected[frame.handle]))
        except DoesNotFit:
            return [Difference(None, "taken, although a value does not fit the type it is kept in")]
        except Exception as error:
            return [Difference(None, f"{type(error).__name__}: {error}")]


def fits(case, way_in):
    try:
        WAYS_IN[way_in].expected(case)
    except DoesNotFit:
        return False
    return True


def shrunk(server, fault):
    """Minimizes a fault to the fewest columns and rows that still show it."""
    for column in [fault.column] if fault.column is not None else range(len(fault.case.schema)):
        small = again(server, fault, fault.case.select([column]))
        if small is not None:
            return with_fewer_rows(server, small)
    return fault


def with_fewer_rows(server, fault):
    rows = fault.case.table.num_rows
    size = rows // 2
    while size > 0:
        start = 0
        while start < rows and rows > size:
            rest = without_rows(fault.case, start, size)
            small = again(server, fault, rest)
            if small is None:
                start += size
            else:
                fault, rows = small, rows - size
        size //= 2
    return fault


def without_rows(case, start, count):
    before = case.rows(0, start)
    after = case.rows(start + count, case.table.num_rows)
    return Case(case.name, case.schema, [batch for batch in [*before.batches, *after.batches] if batch.num_rows > 0])


def again(server, fault, case):
    """Returns the fault of a smaller case, or None."""
    trial = Trial(server, "smaller-")
    trial.put(case, fault.way_in)
    if fault.way_out is not None:
        for frame in trial.frames:
            trial.read(frame, fault.way_out, fault.is_cold)
    return next((one for one in trial.faults if one.way_out == fault.way_out), None)
