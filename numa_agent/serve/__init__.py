"""What others scrape: metrics, health and the node's page (nothing is served yet)."""
