"""The API server's side: the only importer of `kubernetes`."""
