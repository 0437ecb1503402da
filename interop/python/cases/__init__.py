"""One column of every type there is: what is sent, and the texts that come back."""

from .case import Case
from .nested import NESTED
from .numbers import NUMBERS
from .texts import TEXTS
from .times import TIMES

CASES: list[Case] = [*NUMBERS, *TEXTS, *TIMES, *NESTED]
