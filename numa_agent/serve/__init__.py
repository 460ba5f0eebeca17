"""What others scrape and probe: metrics, health and the node's last report."""
