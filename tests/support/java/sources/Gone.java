package edge;

/** Removed after compilation. */
public interface Gone { }
