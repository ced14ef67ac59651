"""Tokens for sasl.mechanism=OAUTHBEARER (KIP-768, KIP-1139): one translation and one cache for all Kafka clients."""
