"""What `scripts/storm` is made of: namespaces, servers that break, load, and the parts that keep the figures."""
