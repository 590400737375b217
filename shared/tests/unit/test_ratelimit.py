from shared.ratelimit import Bucket, Limit


def test_a_bucket_allows_the_burst_and_then_the_rate():
    bucket = Bucket(Limit("commands", count=10, period_s=1, burst=20))

    at_once = [bucket.allows(100.0) for _ in range(25)]
    later = [bucket.allows(100.5) for _ in range(10)]

    assert at_once.count(True) == 20
    assert later.count(True) == 5


def test_a_refused_action_is_not_counted():
    bucket = Bucket(Limit("x", count=1, period_s=1, burst=1))

    assert bucket.allows(0.0)
    assert not any(bucket.allows(0.5) for _ in range(100))
    assert bucket.allows(1.0)
