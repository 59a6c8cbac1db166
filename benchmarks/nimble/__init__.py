"""The tables of the paper Nimble, for dvm and its peers."""
