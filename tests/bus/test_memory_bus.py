from sentinel.bus.memory import MemoryBus


def test_ids_follow_the_given_time_and_never_run_backwards():
    bus = MemoryBus()
    assert bus.append({}, time=5.0) == "5000-0"
    assert bus.append({}, time=5.0) == "5000-1"
    assert bus.append({}, time=4.0) == "5000-2"
    assert bus.append({}) == "5000-3"
    assert bus.append({}, time=6.5) == "6500-0"
