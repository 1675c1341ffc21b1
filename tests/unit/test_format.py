"""Printing: rounded once, from the value itself, as the published notes print."""

from __future__ import annotations

import pytest

from mkdocs_sweepprof.note import format as fmt
from mkdocs_sweepprof.note.escape import plain


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (36936.00002777779, "10.26h"),
        (26892.0, "7.47h"),
        (129996.0, "36.11h"),
        (3600.0, "1.00h"),
        (2869.199499964714, "0.80h"),
        (0.0, "0.00h"),
        (-1e-9, "0.00h"),
        (-32507.4, "−9.03h"),
    ],
)
def test_totals_are_hours_with_two_decimals(seconds: float, text: str) -> None:
    assert fmt.total(seconds) == text


@pytest.mark.parametrize(
    ("median", "unit"), [(None, "h"), (360.0, "h"), (359.99, "m"), (60.0, "m"), (59.99, "s"), (0.0, "s")]
)
def test_short_runs_print_in_minutes_or_seconds(median: float | None, unit: str) -> None:
    assert fmt.unit_for(median) == unit


def test_totals_in_other_units() -> None:
    assert fmt.total(90.0, "m") == "1.50m"
    assert fmt.total(3.0295, "s") == "3.03s"
    assert fmt.brief_total(632978.06) == "176h"
    assert fmt.brief_total(130.47) == "0.04h"
    assert fmt.brief_total(9.994 * 3600) == "9.99h"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-32507.400472, "−9.03h"), (4320.0, "+1.20h"), (0.0, "0.00h"), (1e-6, "0.00h"), (-1e-6, "0.00h")],
)
def test_a_difference_has_its_sign(seconds: float, text: str) -> None:
    assert fmt.delta(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (618.0000003, "618s"),
        (127.99999967, "128s"),
        (8.659999673, "8.66s"),
        (0.33669, "0.34s"),
        (10.0, "10s"),
        (9.994, "9.99s"),
        (9.996, "10s"),
        (0.0188, "0.02s"),
        (0.00149, "1.49ms"),
        (0.0, "0.00s"),
    ],
)
def test_time_per_call(seconds: float, text: str) -> None:
    assert fmt.per_call(seconds) == text


def test_intervals_are_minutes_with_one_decimal() -> None:
    assert fmt.interval(815.99949999) == "13.6 minutes"
    assert fmt.interval(1824.0) == "30.4 minutes"
    assert fmt.interval_range(408.673, 469.433) == "6.8 to 7.8 minutes"
    assert fmt.interval_range(408.0, 408.1) == "6.8 minutes"


def test_intervals_of_short_runs_are_seconds() -> None:
    assert fmt.interval(0.3875, "s") == "0.39s"
    assert fmt.interval_range(0.345, 41.0, "m") == "0.34s to 41s"


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.44063999902, "44.06%"), (0.00010000059, "0.01%"), (1.0, "100.00%"), (-0.000001, "0.00%"), (-0.0219, "−2.19%")],
)
def test_percent(fraction: float, text: str) -> None:
    assert fmt.percent(fraction) == text


def test_percent_with_other_places() -> None:
    assert fmt.percent(0.8801, 0) == "88%"
    assert fmt.percent(0.80810279, 1) == "80.8%"


def test_an_effect_never_prints_a_negative_zero() -> None:
    assert fmt.plain_number(-0.0004) == "0.00"
    assert fmt.plain_number(-0.02194) == "−0.02"
    assert fmt.plain_number(0.6399999991) == "0.64"


def test_ratio_and_counts() -> None:
    assert fmt.ratio(8.340334) == "8.3x"
    assert fmt.of(30, 36) == "30/36"
    assert fmt.setting("val_check_interval", "0.02") == "val_check_interval=0.02"
    assert fmt.times(1.0) == "1"
    assert fmt.times(2.5) == "2.50"


@pytest.mark.parametrize(
    ("values", "text"),
    [([51], "51"), ([51, 32, 51], "32 or 51"), ([1, 32, 51], "1, 32 or 51"), ([3, 4, 5, 900], "3 to 900"), ([], "0")],
)
def test_distinct_counts(values: list[int], text: str) -> None:
    assert fmt.counts(values) == text


def test_words_agree() -> None:
    assert fmt.word(0) == "no"
    assert fmt.word(7) == "seven"
    assert fmt.word(10) == "10"
    assert f"1 {fmt.plural(1, 'run')}, 2 {fmt.plural(2, 'run')}, 0 {fmt.plural(0, 'run')}" == "1 run, 2 runs, 0 runs"
    assert fmt.plural(1, "is", "are") == "is"


def test_lists_in_words() -> None:
    assert fmt.listing([]) == ""
    assert fmt.listing(["a"]) == "a"
    assert fmt.listing(["a", "b"]) == "a and b"
    assert plain(fmt.listing(["a", "<b>", "c"])) == "a, <b> and c"


def test_a_sentence_that_starts_with_markup_stays_as_it_is() -> None:
    assert fmt.capital(fmt.Safe("evaluation is")) == "Evaluation is"
    assert fmt.capital(fmt.Safe("<code>x</code> is")) == "<code>x</code> is"
