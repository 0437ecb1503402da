"""One column of every type: the values sent, and the texts returned."""

from .case import Case
from .nested import NESTED
from .numbers import NUMBERS
from .texts import TEXTS
from .times import TIMES

CASES: list[Case] = [*NUMBERS, *TEXTS, *TIMES, *NESTED]
