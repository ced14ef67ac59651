"""The recorded scenarios by area; each is a function of a `Recorder`. They send the same requests as when Apache's
responses were recorded, in the same order."""
