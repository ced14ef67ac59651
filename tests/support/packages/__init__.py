"""Programs and packages that tests install: from Debian, as wheels, as other PySparks."""
