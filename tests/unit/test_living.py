"""Objects that threads enlist, discard and iterate over while they live."""

import threading

from septet.system.living import Living


class Thing:
    """Something that has equals, but is itself."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing)

    def __hash__(self) -> int:
        return 1


def test_objects_are_there_until_they_die() -> None:
    living: Living[Thing] = Living()
    first, second = Thing(), Thing()
    living.enlist(first)
    living.enlist(first)
    living.enlist(second)
    assert len(living) == 2 and {id(thing) for thing in living} == {id(first), id(second)}
    del second
    assert [*living] == [first] and len(living) == 1


def test_an_object_is_discarded_once() -> None:
    living: Living[Thing] = Living()
    thing = Thing()
    living.enlist(thing)
    assert living.discard(thing) and not living.discard(thing) and [*living] == []


def test_an_iteration_goes_on_while_objects_come_and_go() -> None:
    living: Living[Thing] = Living()
    kept = [Thing() for _ in range(100)]
    for thing in kept:
        living.enlist(thing)
    seen = 0
    for number, _ in enumerate(living):
        living.enlist(Thing())
        living.enlist(kept[0])
        living.discard(kept[-1 - number % 50])
        seen += 1
    assert 50 <= seen <= 100


def test_threads_enlist_while_others_iterate() -> None:
    living: Living[Thing] = Living()
    kept: list[Thing] = []
    faults: list[BaseException] = []
    done = threading.Event()

    def iterate() -> None:
        try:
            while not done.is_set():
                assert all(isinstance(thing, Thing) for thing in living)
        except BaseException as fault:  # noqa: BLE001 - the test looks at it
            faults.append(fault)

    readers = [threading.Thread(target=iterate) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(1_000):
        thing = Thing()
        living.enlist(thing)
        kept[number % 100 : number % 100 + 1] = [thing]
    done.set()
    for reader in readers:
        reader.join()
    assert faults == [] and len(living) == len(kept) == 100
