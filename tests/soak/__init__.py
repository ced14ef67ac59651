"""Long runs: kills at random under load, hostile requests, start storms, and random records and requests compared with
Apache's classes and worker."""
