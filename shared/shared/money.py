"""Money is an integer number of the smallest unit; there are no floats in this file or anywhere."""

from typing import NewType

Amount = NewType("Amount", int)

MIN_BET = Amount(1)
MAX_BET = Amount(10**15)  # pool x numerator must stay far inside NUMERIC and readable by people
