"""Long runs: kills at random under load, hostile requests, start storms, and random records compared with Apache's
classes."""
