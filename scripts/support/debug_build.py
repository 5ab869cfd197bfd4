"""Arguments of `swift build` and `swift test` for builds that are run once."""

# Without debug information, and with one compiler for each module: two would both parse it.
QUICKLY = ["-debug-info-format", "none", "-Xswiftc", "-driver-batch-count", "-Xswiftc", "1"]
