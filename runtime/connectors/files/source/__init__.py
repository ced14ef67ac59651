"""FilesSource reads the files of a folder or bucket."""
