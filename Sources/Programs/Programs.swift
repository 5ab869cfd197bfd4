// Empty: `swift build --target Programs` builds what the target depends on, the four executables.
