"""Makes the alert rules and the dashboard of manifests/monitoring/: python -m tools.monitoring."""
