"""The units that a worker owns: claims before and after assignments, revocations and losses."""

from __future__ import annotations

from runtime.kafka.group.ownership import Ownership
from runtime.kafka.group.protocol import CONNECTOR, Assignment, AssignmentError, Work

ORDERS: Work = {"orders": (CONNECTOR, 0, 1)}


def given(assigned: Work | None = None, revoked: Work | None = None, version: int = 2) -> Assignment:
    return Assignment("leader", "http://leader/", 7, assigned or {}, revoked or {}, version=version)


def claims(ownership: Ownership) -> Work:
    allocation = ownership.allocation(2)
    assert allocation is not None
    return allocation.assigned


def test_nothing_is_claimed_before_the_first_assignment() -> None:
    assert Ownership().allocation(2) is None


def test_assignments_add_to_owned_units() -> None:
    ownership = Ownership()
    ownership.apply(given(ORDERS))
    ownership.apply(given({"orders": (2,)}))
    assert claims(ownership) == {"orders": (CONNECTOR, 0, 1, 2)}


def test_revoked_work_is_claimed_until_it_has_stopped() -> None:
    ownership = Ownership()
    ownership.apply(given(ORDERS))
    ownership.apply(given(revoked={"orders": (0, 1)}))
    assert ownership.running == {("orders", CONNECTOR)}
    assert claims(ownership) == ORDERS
    ownership.release([("orders", 0)])
    assert claims(ownership) == {"orders": (CONNECTOR, 1)}


def test_a_rebalance_while_work_stops_may_leave_it_with_the_worker() -> None:
    ownership = Ownership()
    ownership.apply(given(ORDERS))
    ownership.apply(given(revoked=ORDERS))
    ownership.apply(given())
    assert ownership.running == {("orders", CONNECTOR), ("orders", 0), ("orders", 1)}
    ownership.release([("orders", 0)])  # too late, since the work runs again
    assert ("orders", 0) in ownership.running


def test_an_assignment_with_an_error_changes_nothing() -> None:
    ownership = Ownership()
    ownership.apply(given(ORDERS))
    ownership.apply(Assignment("leader", "", 9, error=AssignmentError.CONFIG_MISMATCH))
    assert claims(ownership) == ORDERS


def test_a_lost_membership_claims_nothing() -> None:
    ownership = Ownership()
    ownership.apply(given(ORDERS))
    ownership.apply(given(revoked={"orders": (1,)}))
    ownership.lose()
    assert ownership.allocation(2) is None
    assert not ownership.running
    assert not ownership.stopping


def test_the_eager_protocol_names_everything_that_is_owned() -> None:
    ownership = Ownership()
    ownership.apply(given(ORDERS, version=0))
    ownership.apply(given({"orders": (1,), "idle": (CONNECTOR,)}, version=0))
    assert ownership.running == {("orders", 1), ("idle", CONNECTOR)}
    assert ownership.stopping == {("orders", CONNECTOR), ("orders", 0)}


def test_new_units_are_adopted_only_while_nothing_else_can_assign_them() -> None:
    ownership = Ownership()
    assert not ownership.adopt([("new", 0)], ownership.edition), "nothing has been assigned yet"
    ownership.apply(given(ORDERS))
    edition = ownership.edition
    assert ownership.adopt([("new", 0)], edition)
    assert ("new", 0) in ownership.running
    assert claims(ownership)["new"] == (0,)
    assert not ownership.adopt([("late", 0)], edition), "the claims of the next generation have been computed"
    ownership.apply(given())
    assert not ownership.adopt([("late", 0)], edition), "another worker may have joined in the new generation"
    assert ("new", 0) in ownership.running


def test_units_that_no_longer_exist_are_dropped() -> None:
    ownership = Ownership()
    ownership.apply(given(ORDERS))
    ownership.drop([("orders", 1)])
    assert claims(ownership) == {"orders": (CONNECTOR, 0)}
