"""Writes decimals.csv: calculations with their results, by the decimal numbers and fractions of Python.

A result is the double nearest to the exact result in its shortest decimal. Beyond 2^53 - 1, it has all digits of the
integer and up to 6 decimals.
"""

import csv
import random
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal, getcontext
from fractions import Fraction
from pathlib import Path

getcontext().prec = 2_000
draw = random.Random(20261129)


def without_zeros(text):
    return text.rstrip("0").rstrip(".") if "." in text else text


def shown(value):
    exact = Fraction(value)
    if abs(exact) > 2**53 - 1:
        decimal = Decimal(exact.numerator) / Decimal(exact.denominator)
        return without_zeros(format(rounded(decimal, 6), "f"))
    text = without_zeros(format(Decimal(repr(exact.numerator / exact.denominator)), "f"))
    return "0" if text == "-0" else text


def price():
    return f"{draw.randint(-99_999, 999_999)}.{draw.randint(0, 99):02d}"


def rate():
    return f"{draw.choice(['', '-'])}{draw.randint(0, 2)}.{draw.randint(0, 10**6 - 1):06d}"


def long_number():
    digits = "".join(draw.choice("0123456789") for _ in range(draw.randint(12, 30)))
    return f"{draw.randint(1, 9)}{digits}" + draw.choice(["", f".{draw.randint(0, 10**9)}"])


def any_number():
    return draw.choice([price, rate, long_number, lambda: str(draw.randint(-1_000, 1_000))])()


def half():
    places = draw.randint(0, 4)
    return f"{draw.randint(-9_999, 9_999)}.{''.join(draw.choice('0459') for _ in range(places))}5"


def rounded(value, places):
    return Decimal(value).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)


operations = {
    "plus": lambda a, b: Fraction(a) + Fraction(b),
    "minus": lambda a, b: Fraction(a) - Fraction(b),
    "times": lambda a, b: Fraction(a) * Fraction(b),
    "divided_by": lambda a, b: Fraction(a) / Fraction(b),
    "modulo": lambda a, b: Fraction(a) % Fraction(b),
}
rows = []
for name, calculate in operations.items():
    for _ in range(120):
        a, b = any_number(), any_number()
        if name in ("divided_by", "modulo") and Fraction(b) == 0:
            continue
        rows.append([name, a, b, shown(calculate(a, b))])
for _ in range(150):
    value, places = draw.choice([half, price, rate, long_number])(), draw.randint(-3, 5)
    rows.append(["round", value, str(places), shown(rounded(value, places))])
for name, mode in (("ceil", ROUND_CEILING), ("floor", ROUND_FLOOR)):
    for _ in range(30):
        value = any_number()
        rows.append([name, value, "", shown(Decimal(value).to_integral_value(rounding=mode))])
for _ in range(40):
    values = [price() for _ in range(draw.randint(1, 12))]
    rows.append(["sum", " ".join(values), "", shown(sum(map(Fraction, values)))])

with (Path(__file__).parent / "decimals.csv").open("w", newline="") as file:
    csv.writer(file, lineterminator="\n").writerows(rows)
