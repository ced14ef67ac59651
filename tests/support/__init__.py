"""What the tests share: the real parts they run against."""
