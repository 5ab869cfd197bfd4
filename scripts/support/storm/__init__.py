"""The modules of `scripts/storm`: namespaces, servers that break, load, and the parts that produce the figures."""
