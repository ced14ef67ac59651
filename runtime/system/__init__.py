"""Operating system facilities: processes and their peers, scheduling delay, memory, frames over pipes and sockets."""
