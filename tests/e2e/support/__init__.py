"""What the end-to-end tests stand on: origins, a bench that runs warder, oracles."""
