"""Tables of every type through every way in and out, hot and cold: each value is the same, or it is refused."""

import os
import unittest

from differential.fixed_tables import fixed_cases
from differential.own_server import OwnServer
from differential.random_tables import random_case
from differential.trial import Trial, shrunk
from differential.ways_in import WAYS_IN
from differential.ways_out import WAYS_OUT

#: Random tables have seeds from SEED on. If COUNT is larger than its default, every frame is read in every way.
SEED = int(os.environ.get("SVC_DIFFERENTIAL_SEED", "1"))
FEW = 8
COUNT = int(os.environ.get("SVC_DIFFERENTIAL_COUNT", FEW))
#: The most failures to minimize and show, because that takes time.
SHOWN = 5


#: Longer frames are not read as text by default.
MAX_TEXT_ROWS = 2500


def ways_out_of(frame, turn):
    """The ways in which a frame is read: always Arrow, and one other way in rotation."""
    if COUNT > FEW:
        return list(WAYS_OUT)
    is_long = frame.case.table.num_rows > MAX_TEXT_ROWS
    first, *others = [name for name, way in WAYS_OUT.items() if not (way.is_text and is_long)]
    return [first, others[turn % len(others)]]


def text_of(fault):
    case, state = fault.case, "after a restart" if fault.is_cold else "at once"
    rows = "\n".join(str(column) for column in case.table.columns) if case.table.num_rows < 10 else ""
    return f"{case.name}: {fault.way_in} -> {fault.way_out or 'nothing'}, {state}: {fault.what}\n{case.schema}\n{rows}"


class Differential(unittest.TestCase):
    def start(self, *arguments):
        server = OwnServer(*arguments)
        self.addCleanup(server.close)
        return server

    def check(self, cases):
        trial = Trial(self.start(), "f")
        for case in cases:
            for way_in in WAYS_IN:
                trial.put(case, way_in)
        self.assertGreater(len(trial.frames), len(cases) * len(WAYS_IN) / 2)
        for is_cold in (False, True):
            if is_cold:
                trial.server.restart()
            for turn, frame in enumerate(trial.frames):
                # Shifted by 5, so that a cold frame is read in another way.
                for way_out in ways_out_of(frame, turn + 5 * is_cold):
                    trial.read(frame, way_out, is_cold)
        if trial.faults:
            self.fail(self.report(trial))

    def report(self, trial):
        # Without memory for frames, every read is cold.
        servers = {False: trial.server, True: self.start("--cache-size", "0.000001")}
        texts = [text_of(shrunk(servers[fault.is_cold], fault)) for fault in distinct(trial.faults)[:SHOWN]]
        kinds = {f"{fault.way_in} -> {fault.way_out}" for fault in trial.faults}
        return "\n\n".join([f"{len(trial.faults)} faults: {', '.join(sorted(kinds))}", *texts])

    def test_random_tables_come_out_as_they_went_in(self):
        self.check([random_case(seed) for seed in range(SEED, SEED + COUNT)])

    def test_the_tables_of_arrow_and_extreme_values_come_out_as_they_went_in(self):
        self.check(fixed_cases())


def distinct(faults):
    """Returns one fault for each column of a case."""
    return list(
        {(fault.case.name, fault.column and fault.case.schema.names[fault.column]): fault for fault in faults}.values()
    )
