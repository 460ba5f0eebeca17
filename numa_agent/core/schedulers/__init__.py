"""One file per scheduler's language: what it reads from us, what it tells us."""
