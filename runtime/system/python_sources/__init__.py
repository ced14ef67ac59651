"""Python modules as their sources state them: classes, base classes, imports. Nothing is imported."""
