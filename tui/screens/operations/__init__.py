"""Operations sent to the cluster: tracking, the log, and bulk operations."""
