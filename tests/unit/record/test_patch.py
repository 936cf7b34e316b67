"""What a guest replaces it puts back; what somebody else replaced since stays theirs."""

from __future__ import annotations

from sonde.record.inside import patch


class Base:
    def step(self) -> str:
        return "base"


class Child(Base):
    def call(self) -> str:
        return "child"


def test_replaced_attributes_come_back_and_inherited_ones_are_removed() -> None:
    before = vars(Child)["call"]
    assert patch.wrap(Child, "call", lambda original: lambda self: "wrapped " + original(self))
    assert patch.wrap(Child, "step", lambda original: lambda self: "wrapped " + original(self))
    assert not patch.wrap(Child, "missing", lambda original: original)
    assert (Child().call(), Child().step()) == ("wrapped child", "wrapped base")
    assert patch.put_back() == []
    assert vars(Child)["call"] is before
    assert "step" not in vars(Child)


def test_twice_wrapped_is_unwrapped_in_turn() -> None:
    for _ in range(2):
        patch.wrap(Child, "call", lambda original: lambda self: "w" + original(self))
    assert Child().call() == "wwchild"
    assert patch.put_back() == []
    assert Child().call() == "child"


def test_what_another_replaced_since_is_left_to_it() -> None:
    original = vars(Child)["call"]
    patch.wrap(Child, "call", lambda inner: lambda self: "ours " + inner(self))
    Child.call = lambda self: "theirs"  # type: ignore[method-assign]
    assert patch.put_back() == ["call"]
    assert Child().call() == "theirs"
    Child.call = original  # type: ignore[method-assign]
