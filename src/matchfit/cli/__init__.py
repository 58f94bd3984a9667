"""The command line: one file a verb. A verb parses, calls one function of `matchfit.api`, and prints one result."""
