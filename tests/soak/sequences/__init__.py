"""Random sequences of requests, in lockstep on Apache's worker and on Headrace's: responses and settled states are
compared."""
