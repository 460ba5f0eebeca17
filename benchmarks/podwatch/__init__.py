"""What following a node's pods costs, next to listing them."""
