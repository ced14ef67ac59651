"""A worker under load whose processes are killed at random, for as long as one likes."""
