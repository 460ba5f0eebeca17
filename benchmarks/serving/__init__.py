"""What a scrape costs the node."""
