"""The table of drivers: a row is found by its name, and an unknown one gets a suggestion."""

import pytest

from host_tools.base.errors import Misuse
from host_tools.drivers import driver_table


def test_each_row_is_found_by_its_name():
    assert [driver_table.find(one.name) for one in driver_table.DRIVERS] == [*driver_table.DRIVERS]
    assert len({one.name for one in driver_table.DRIVERS}) == len(driver_table.DRIVERS)


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(Misuse, match=r"no row has this name\n  next: did you mean llvmpipe"):
        driver_table.find("llvmpip")
