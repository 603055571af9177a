"""Arrays that grow keep what they were given, and do not write to it."""

import numpy as np

from dpcheck.explore.values.growing import Growing


def test_a_first_array_is_kept_as_it_is_and_never_written_to():
    given = np.arange(100)
    grown = Growing()
    grown.extend(given)
    assert np.shares_memory(grown.values, given)
    grown.extend(np.array([7]))
    assert given.tolist() == list(range(100))
    assert grown.values.tolist() == [*range(100), 7]


def test_a_view_or_narrow_integers_are_copied():
    for given in (np.broadcast_to(np.array([3]), (50,)), np.ones(50, np.int32)):
        grown = Growing()
        grown.extend(given)
        assert not np.shares_memory(grown.values, given)
        assert grown.values.dtype == np.int64
        assert grown.values.tolist() == given.tolist()
