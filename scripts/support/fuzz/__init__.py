"""The parts of scripts/api-fuzz."""
