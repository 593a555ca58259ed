from sentinel.alerts.matcher import parse_matcher
from sentinel.alerts.people import Acknowledgement, new_silence
from sentinel.store.people import KEPT_SECONDS, PeopleStore
from sentinel.wire import SILENCES_KEY


def silence(starts=100.0, ends=200.0, **fields):
    values = {"by": "ana", "reason": "upgrade of the verifier"} | fields
    return new_silence((parse_matcher("run=grpo-7b"),), starts=starts, ends=ends, **values)


async def test_what_is_written_is_read_in_order_of_its_beginning(client):
    store = PeopleStore(client)
    later, sooner = silence(starts=150.0), silence()
    await store.silence(later)
    await store.silence(sooner)
    assert (await store.read()).silences == (sooner, later)


async def test_the_same_silence_twice_is_one(client):
    store = PeopleStore(client)
    await store.silence(silence())
    await store.silence(silence())
    assert len((await store.read()).silences) == 1


async def test_expiring_ends_a_silence_now_and_never_makes_an_ended_one_longer(client):
    store = PeopleStore(client)
    one = silence()
    await store.silence(one)
    assert (await store.expire(one.id, 150.0)).ends == 150.0
    assert (await store.expire(one.id, 170.0)).ends == 150.0
    assert await store.expire("nothing", 150.0) is None


async def test_the_first_acknowledgement_stays(client):
    store = PeopleStore(client)
    assert await store.acknowledge(Acknowledgement("i1", "ana", 100.0))
    assert not await store.acknowledge(Acknowledgement("i1", "ben", 101.0))
    assert (await store.read()).acks["i1"].by == "ana"
    assert await store.unacknowledge("i1")
    assert not await store.unacknowledge("i1")
    assert (await store.read()).acks == {}


async def test_an_unreadable_silence_hides_no_other(client):
    store = PeopleStore(client)
    one = silence()
    await client.hset(SILENCES_KEY, mapping={"x": b"{", b"\xff": b"{}"})
    await store.silence(one)
    assert (await store.read()).silences == (one,)
    assert await store.expire("x", 1.0) is None
    assert not await client.hexists(SILENCES_KEY, "x")


async def test_long_expired_silences_are_dropped(client):
    store = PeopleStore(client)
    old, young = silence(), silence(ends=300.0)
    await store.silence(old)
    await store.silence(young)
    await store.forget(250.0 + KEPT_SECONDS)
    assert (await store.read()).silences == (young,)
