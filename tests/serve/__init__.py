"""What others scrape."""
